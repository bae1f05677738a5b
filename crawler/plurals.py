"""Counts with their nouns, for people."""


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: "1 page", "2,000 pages"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def agreement(agree: int, disagree: int, joint: str = ",") -> str:
    """Return how many pages agree with a rule: "20 pages agree, 1 disagrees".

    Args:
        agree: number of pages that agree.
        disagree: number of pages that disagree.
        joint: text between the two counts.
    """
    for_it = f"{counted(agree, 'page')} agree{'s' * (agree == 1)}"
    return f"{for_it}{joint} {disagree:,} disagree{'s' * (disagree == 1)}"


def lasting(seconds: float) -> str:
    """Return about how long a time is: "36 minutes", "5 hours", "12 days"."""
    for unit, length in (("day", 86_400), ("hour", 3_600)):
        if seconds >= 2 * length:
            return counted(round(seconds / length), unit)
    return counted(round(seconds / 60), "minute")
