"""Campaigns of the stand that are wrong on purpose."""
