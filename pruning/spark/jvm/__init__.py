"""Objects of the Java virtual machine behind a session, read and created from Python."""
