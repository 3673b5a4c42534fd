"""Verdicts, bounds and densities for each block, from a predicate and block metadata."""
