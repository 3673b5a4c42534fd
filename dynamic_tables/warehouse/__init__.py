"""Warehouses of dynamic tables: a directory with a catalog in SQLite and the tables in files."""
