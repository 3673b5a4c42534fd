"""Mutants of the small engine that mutation operators derive from its source; no person chose them."""
