"""Evidence: what facts say for rules, and against them."""
