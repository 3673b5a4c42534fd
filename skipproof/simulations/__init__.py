"""`skipproof simulate`: runs of a scenario, and a page with pictures of them."""
