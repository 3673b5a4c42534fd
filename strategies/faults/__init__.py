"""Plans of faults for simulated systems."""
