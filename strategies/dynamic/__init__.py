"""Queries, contents and changes of dynamic tables."""
