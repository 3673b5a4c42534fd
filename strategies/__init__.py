"""Hypothesis strategies: values, tables, block metadata that is true of them, and predicates."""
