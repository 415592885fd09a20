"""What testers return: the verdict, the bound on epsilon, and the evidence for both."""
