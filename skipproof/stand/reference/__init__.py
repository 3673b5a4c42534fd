"""The reference: a small correct engine, and where engines mean something else."""
