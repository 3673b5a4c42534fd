"""The simulated warehouse that scans tables, with the pruning techniques themselves."""
