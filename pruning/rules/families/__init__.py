"""The rules, a module for each family of functions and conditions."""
