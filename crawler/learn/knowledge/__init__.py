"""Knowledge: what the answers of one site have shown, and which of its pages may be the same."""
