"""Join pruning on Spark: what is known of one side of a join, and what it excludes on the other side."""
