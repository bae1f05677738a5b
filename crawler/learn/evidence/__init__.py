"""Evidence: what facts say for and against rules, and which questions would decide."""
