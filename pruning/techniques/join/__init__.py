"""Join pruning: what a build side ships of its keys."""
