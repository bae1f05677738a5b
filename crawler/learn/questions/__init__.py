"""Questions: which URLs of a site are asked first, or again, since their answers would decide."""
