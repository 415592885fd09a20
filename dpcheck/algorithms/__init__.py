"""What an algorithm is: its declaration, its schedule, its problem, its run and the tape that a run writes."""
