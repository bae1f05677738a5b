"""Learning: compare answers, count pairs of URLs, and activate rules that enough pairs support."""
