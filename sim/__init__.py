"""A simulated warehouse that runs the pruning techniques themselves, under faults, and checks every trace."""
