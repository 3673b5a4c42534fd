"""Pruning of whole queries that is wrong on purpose."""
