"""The pruning rules: written once against an algebra, emitting programs that several interpreters run."""
