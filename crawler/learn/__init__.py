"""Learning: answers are compared, pairs are counted, and rules act where enough of them agree."""
