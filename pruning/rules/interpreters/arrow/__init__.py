"""Runs programs on Arrow arrays, a lane per block."""
