"""Files of keys: sorted, checked, extended and merged without holding them in memory."""
