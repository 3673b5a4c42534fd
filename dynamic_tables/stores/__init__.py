"""Stores that keep the versions of tables: contents and frontier of each are committed at once."""
