"""What the commands about learned rules and policies print as JSON."""

from typing import Annotated

import msgspec

from canonry.canon.learned import RuleState
from canonry.crawler.inquiry.rule_facts import RuleAnswer
from canonry.storage.shown import Shown


class RevokedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that is revoked now."""

    id: str
    says: str  # for people
    released: int  # URLs that went back to the queue


class ReinstatedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that is back."""

    id: str
    says: str  # for people
    state: RuleState
    held: int  # queued URLs, as duplicates
    doubt: str | None  # what speaks against it


class ImportedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Rules that were imported."""

    rules: int
    active: int  # of these
    held: int  # queued URLs, as duplicates
    were_withdrawn: int  # rules that were revoked here, and are not any more
    were_active: int  # rules that were active here, and are not any more
    released: int  # held URLs, which went back to the queue


class MinedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned from an archive or a log."""

    redirects: int  # permanent ones
    pages: int  # captures with status 200
    other_lines: int  # captures with another status, or redirects without a target
    refused: dict[str, int]  # captures with invalid URLs, by reason
    active: int  # rules with enough evidence; with --store none, as a crawl has to confirm them
    candidates: int


class OutcomeJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a rule of a list."""

    name: str  # in the list
    outcome: str  # whole, part or none
    reasons: list[str]  # why not whole


class ConvertedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What became of lists of rules."""

    formats: list[str]
    rules: int  # in the lists
    converted: int
    in_part: int
    not_converted: int
    made: int  # rules of Canonry
    reasons: dict[str, int]  # rules that were not converted whole, by reason
    outcomes: list[OutcomeJSON]


class RulesJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Learned rules."""

    rules: Annotated[list[RuleAnswer], Shown("Rules")]
