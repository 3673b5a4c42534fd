"""Join pruning: summaries of a build side's keys, by which the probe side skips blocks."""
