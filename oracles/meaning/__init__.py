"""The meaning of Spark's expressions in plain Python, row by row."""
