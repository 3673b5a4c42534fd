"""The conclusions that a perfect pruner could draw from a block's metadata."""
