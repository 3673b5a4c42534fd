"""Refreshes of one table, and the account in which they run."""
