"""Running a mechanism: its division into chunks of runs, its outputs, and the recording and replaying of its draws."""
