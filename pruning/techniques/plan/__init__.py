"""The sites of a plan at which a technique may act, and its observations of blocks."""
