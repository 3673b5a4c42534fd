"""The reference: a small correct engine, and the declared differences of other engines."""
