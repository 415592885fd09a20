"""What each algorithm leaks: a game that its certificate nearly describes, and audits of it."""
