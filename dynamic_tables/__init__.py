"""Dynamic tables with delayed view semantics: versions, frontiers, refreshes, a scheduler ([D] 3 and 5).

[D] is "Streaming Democratized: Continuous Data Pipelines with Delayed View Semantics and Dynamic Tables",
SIGMOD-Companion 2025.
"""
