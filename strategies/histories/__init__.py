"""Histories of transactions, drawn or recorded by a small store."""
