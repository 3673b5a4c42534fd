"""Ground truth to judge the pruning by; nothing here knows a pruning rule."""
