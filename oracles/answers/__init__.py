"""Answers of whole queries, from rows in memory, and how two answers compare."""
