"""Queries as relational algebra, and the plans that maintain their results incrementally."""
