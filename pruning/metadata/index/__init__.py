"""What is kept of the values of blocks beyond bounds, and how it is made and asked."""
