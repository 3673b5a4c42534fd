"""The adapters that workers run. Modules here import the standard library, one engine, and each other."""
