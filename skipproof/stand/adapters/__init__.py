"""What each engine's worker runs. Modules here import the standard library, one engine, and each other."""
