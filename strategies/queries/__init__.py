"""Whole queries over generated tables, in SQL and as chains of DataFrame operations."""
