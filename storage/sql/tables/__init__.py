"""Tables: the parts that they are made of, and the tables that only reports use."""
