"""`skipproof history`: recorded histories, whether they are isolated, and what shows that they are not."""
