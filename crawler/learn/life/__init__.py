"""The life of a rule: how much evidence it takes, its states, and how it is verified."""
