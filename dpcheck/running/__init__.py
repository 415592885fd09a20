"""Who does the work: executors in threads, processes and clusters; what they leave, kept; processes, supervised."""
