"""Tables: the parts that they are made of, and those that only reports are made from."""
