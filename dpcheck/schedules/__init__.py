"""The numbers of each theorem and each repair, apart from the loops that run on them."""
