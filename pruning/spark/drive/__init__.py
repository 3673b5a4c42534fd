"""The drive of a pruned DataFrame: applies the techniques, rewrites the plan, and reports."""
