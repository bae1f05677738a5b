"""What a crawl asks for next: queues, turns, leased hosts, and the rows behind them."""
