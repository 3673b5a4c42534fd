"""A small correct engine that prunes, and wrong versions of it that the hunt must catch."""
