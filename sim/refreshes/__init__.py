"""Dynamic tables under a simulated clock: their scheduler, refreshes, users and faults."""
