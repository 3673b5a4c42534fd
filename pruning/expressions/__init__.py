"""Typed expressions with Spark's meaning: types, trees, and their text as Spark SQL."""
