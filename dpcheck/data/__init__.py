"""The bundled data set, the table of the others, and readers of their file formats."""
