"""Evidence: what is known of a host, and what it says for and against rules."""
