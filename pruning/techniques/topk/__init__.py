"""Top-k pruning: boundaries, and the order in which blocks are read."""
