"""Which predictions of active rules are fetched all the same, to verify the rules."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TypeVar

from canonry.crawler.learn.life.thresholds import Threshold, Verification

_REMEMBERED = 65_536
_FIRST_DIRECTORY = re.compile(r"https?://[^/?#]*+(/[^/?#]++/)")
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Sampler:
    """Chooses predictions to verify, within a share of the requests of each host.

    So a host whose pages have a hundred names each is not asked more often than one with two.
    """

    def __init__(self, limits: Verification) -> None:
        """Start without any memory.

        Args:
            limits: how much is verified in all.
        """
        self._limits = limits
        self._requests: OrderedDict[str, int] = OrderedDict()  # to hosts
        self._spent: OrderedDict[str, int] = OrderedDict()  # of these, on verification
        self._predicted: OrderedDict[str, int] = OrderedDict()  # by rules
        self._first: OrderedDict[tuple[str, str], int] = OrderedDict()  # by rules, in new places
        self._chosen: OrderedDict[tuple[str, str], bool] = OrderedDict()

    def fetched(self, site: str) -> None:
        """Count a request to a site."""
        _set(self._requests, site, self._requests.get(site, 0) + 1)

    def is_chosen(
        self,
        rule_id: str,
        url: str,
        site: str,
        since_verified: float | None,
        threshold: Threshold,
        new_places: Callable[[], Iterable[tuple[str, int]]] = tuple,
    ) -> bool:
        """Return True if a prediction is to be fetched, although the rule could spare it.

        Chosen are a share of all predictions, by a hash of the URL, and more of a rule's first;
        the first predictions in each new place, which are parts of a host and values of parameters;
        and the next prediction of a rule that was not verified for long. What was chosen once stays
        chosen.

        Args:
            rule_id: the id of the rule.
            url: the identity of the URL, without the rule.
            site: of what the rule makes of it.
            since_verified: seconds since the rule was last verified; None if that is not known.
            threshold: of the rule's family.
            new_places: returns the places of the URL in which the rule has no evidence, each with
                how many predictions are fetched there.
        """
        if (rule_id, url) in self._chosen:
            return True
        before, limits = self._predicted.get(rule_id, 0), self._limits
        _set(self._predicted, rule_id, before + 1)
        spent = self._spent.get(site, 0) + 1
        allowed = limits.advance + limits.share * self._requests.get(site, 0)
        if spent > allowed + threshold.first:
            return False
        overdue = since_verified is not None and since_verified > threshold.verify_again
        is_in_share = spent <= allowed and self._is_in_share(url, before, threshold)
        if not (is_in_share or overdue or self._is_first(rule_id, new_places())):
            return False
        _set(self._spent, site, spent)
        _set(self._chosen, (rule_id, url), True)  # noqa: FBT003 - a value, not a flag
        return True

    def _is_in_share(self, url: str, before: int, threshold: Threshold) -> bool:
        """Return True if a prediction, with some before it, is in the share that is verified."""
        share = threshold.verified
        if before < self._limits.early_for:
            share = max(share, self._limits.early)
        digest = hashlib.blake2b(url.encode(), digest_size=4).digest()
        return int.from_bytes(digest) / 2**32 < share

    def _is_first(self, rule_id: str, places: Iterable[tuple[str, int]]) -> bool:
        """Return True for one of a rule's first predictions in a place."""
        for place, most in places:
            before = self._first.get((rule_id, place), 0)
            if before < most:
                _set(self._first, (rule_id, place), before + 1)
                return True
        return False


def _set(memory: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Remember a value; forget the one that was not set for longest."""
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)


def first_directory(path: str) -> str:
    """Return the first segment of a path as a directory; "" for a path at the root."""
    end = path.find("/", 1)
    return path[: end + 1] if end > 1 else ""


def first_directory_in(url: str) -> str:
    """Return what `first_directory` returns for the path of a canonical URL."""
    found = _FIRST_DIRECTORY.match(url)
    return found[1] if found else ""
