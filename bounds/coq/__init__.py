"""Steps of evidence as theorems of Coq, and what Coq's kernel has accepted."""
