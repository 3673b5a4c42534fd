"""What is known of expressions in a block, and the walk that finds it."""
