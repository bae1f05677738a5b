"""What a store has learned: rules, and the classes of URLs that they make one."""
