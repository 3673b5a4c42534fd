"""Mutants of joins: what is wrong on purpose in one way each."""
