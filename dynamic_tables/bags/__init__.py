"""The backend that computes over bags of rows in Python."""
