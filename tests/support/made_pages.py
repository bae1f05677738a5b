"""Made pages: with a token, a clock and a rotating teaser in each answer; and with ages."""

import random

WORDS = [f"{a}{b}{c}" for a in "bdklmnrst" for b in "aeiou" for c in ("n", "r", "st", "l")]
_FRAME = "home shop news about contact help search basket account language country imprint"


def page(number: int, rng: random.Random, *, more: str = "", code: int | None = None) -> bytes:
    """Return a page with own text, in a frame, with a token, a clock and a rotating teaser."""
    own = random.Random(number)
    text = " ".join(own.choices(WORDS, k=150))
    teaser = " ".join(random.Random(rng.randrange(4)).choices(WORDS, k=12))
    return (
        f"<html><title>{own.choice(WORDS)} {own.choice(WORDS)} {number}</title>"
        f"<nav>{_FRAME}</nav>"
        f"<p>rendered at {rng.randrange(24)}:{rng.randrange(60)} for {rng.randrange(10**9):x}9</p>"
        f"<p>{teaser}</p><h1>{own.choice(WORDS)} {number}</h1><p>{text} {more}</p>"
        f"<p>code {number if code is None else code} price {own.randrange(1000)}</p>"
    ).encode()


def aged(number: int, minute: int) -> bytes:
    """Return a page that shows how many minutes old it is, in two places."""
    words = " ".join(random.Random(number).choices(WORDS, k=60))
    ages = f"created {25 + minute} minutes ago, changed {22 + minute} minutes ago"
    return f"<title>Folder {number}</title><p>{words}</p><p>{ages}</p>".encode()
