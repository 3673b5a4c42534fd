"""Backfill: statistics that files lack, or whose footers are not believed, computed from the data."""
