"""What a crawl requests next: queues, turns, leased hosts and the session with the store."""
