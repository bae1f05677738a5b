"""Learning which URLs of a host are equal, from what its servers say: evidence in, rules out."""
