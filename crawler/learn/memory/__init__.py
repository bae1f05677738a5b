"""Memory: the sites that the learner remembers; bounded, and read again from an archive."""
