"""Reports of simulations: one page with pictures of a scenario's runs."""
