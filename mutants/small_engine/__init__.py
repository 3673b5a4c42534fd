"""Mutants of the stand's small engine."""
