"""Answers of whole queries, computed from rows in memory, and the comparison of answers."""
