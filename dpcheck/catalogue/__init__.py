"""The published algorithms by template: a folder a paper, in it a file an algorithm and the rates measured of it."""
