"""Runs programs on Z3 terms, for proofs."""
