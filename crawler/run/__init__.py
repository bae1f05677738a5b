"""Running a crawl: scheduling, visits, workers, and the wiring of it all."""
