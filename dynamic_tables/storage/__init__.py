"""The storage of tables: their versions, under a hybrid logical clock."""
