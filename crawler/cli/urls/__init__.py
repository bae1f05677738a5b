"""The commands about URLs themselves: canonical forms, explanations, URLs in texts."""
