"""Prunes a DataFrame: drives the techniques, rewrites the plan, and reports."""
