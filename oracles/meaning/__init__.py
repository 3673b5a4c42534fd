"""Spark's meaning of expressions in plain Python, row by row."""
