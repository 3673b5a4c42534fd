"""Counts of how often the hunt reaches each class of published pruning bugs."""
