"""Filter, join, limit and top-k pruning as pure state machines: no Spark, no file, no clock."""
