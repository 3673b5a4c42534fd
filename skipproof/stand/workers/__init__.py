"""Processes that ask one engine, and which engines there are."""
