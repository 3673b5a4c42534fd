"""What every simulation has: time, randomness, traces, faults, and what a scenario file says."""
