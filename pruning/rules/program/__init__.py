"""Programs: the shared graphs of operations that rules emit, and what each operation means."""
