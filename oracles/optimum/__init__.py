"""What a perfect pruner could conclude from a block's metadata."""
