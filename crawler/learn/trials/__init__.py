"""Trials: held URLs that are asked all the same, to test the rules that hold them."""
