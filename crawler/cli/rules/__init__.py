"""The commands about policies and learned rules."""
