"""The scheduler: which table is refreshed to which timestamp, and when."""
