"""The backend that computes queries and their changes in Python, over bags of rows."""
