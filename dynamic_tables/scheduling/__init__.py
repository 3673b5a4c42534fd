"""The scheduler: decides which table is refreshed to which data timestamp, and when."""
