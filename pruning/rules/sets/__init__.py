"""Sets of values of one type, and the truth values of a predicate on them."""
