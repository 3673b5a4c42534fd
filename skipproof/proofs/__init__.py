"""Proofs of the rules for all blocks and rows, by Z3, and the mutants that these proofs refute."""
