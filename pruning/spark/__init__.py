"""Spark's side: Catalyst plans in, rewritten plans out."""
