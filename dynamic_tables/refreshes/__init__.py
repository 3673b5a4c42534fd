"""Refreshes of single tables, and the account in which they run."""
