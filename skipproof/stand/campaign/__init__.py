"""Campaigns: hunts of several engines in slices, which a killed run resumes, and what they add up to."""
