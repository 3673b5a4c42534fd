"""Mutants of rules: mistakes that public engines made, or nearly, in one rule each."""
