"""Tables as their versions, under a hybrid logical clock."""
