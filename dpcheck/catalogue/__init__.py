"""What is published, read by template: a folder a paper, in it a file an algorithm and the rates that are measured of
it.
"""
