"""Tables and questions for any engine."""
