"""From a predicate and block metadata to a verdict, or bounds, for each block."""
