"""Memory: what the learner remembers of hosts, and where it counts evidence; bounded."""
