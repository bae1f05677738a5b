"""How a store grew: samples of its counts, dense for what is recent and sparse for what is old."""
