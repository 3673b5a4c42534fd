"""The index: data about the values of blocks beyond bounds, how it is built and how it is queried."""
