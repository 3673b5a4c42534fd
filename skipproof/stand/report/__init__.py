"""The report of hunts as one HTML page."""
