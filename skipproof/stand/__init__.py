"""The stand asks an engine each question twice, over data that it can prune and over data that it cannot."""
