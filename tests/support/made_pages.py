"""Words of which tests make pages."""

WORDS = [f"{a}{b}{c}" for a in "bdklmnrst" for b in "aeiou" for c in ("n", "r", "st", "l")]
