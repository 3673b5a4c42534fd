"""The expressions that are proved: for each rule, each way in which it decides."""
