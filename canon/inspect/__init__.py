"""Looking at URLs: what one means in its scheme, what it may hide, where text contains one."""
