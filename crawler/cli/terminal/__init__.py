"""What people see in a terminal: messages, tables, a live display, the end of a crawl."""
