"""The composition root: the command line, the demo, and what starts Java and Spark for them."""
