"""What a page says, in a few bytes, and whether two pages of a host say the same."""
