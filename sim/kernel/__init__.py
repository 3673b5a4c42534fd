"""The parts that every simulation shares: time, randomness, traces, faults and the schema of scenarios."""
