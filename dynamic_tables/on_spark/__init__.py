"""The backend that computes queries and their changes by Spark."""
