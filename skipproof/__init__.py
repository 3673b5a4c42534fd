"""The composition root: the command line, the demo, and the start of Java and Spark for them."""
