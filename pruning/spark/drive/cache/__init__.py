"""The predicate cache on Spark: it is asked when a query is pruned, and told what queries have read."""
