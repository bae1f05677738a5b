"""What the commands about learned rules and policies print as JSON."""

from typing import Any

import msgspec

from canonry.canon.learned import RuleState, describe
from canonry.crawler.inquiry.rule_facts import PairFacts
from canonry.crawler.learn.standing import oriented
from canonry.storage.learned.rule_rows import TrackedRule
from canonry.storage.timestamps import Moment, iso


class EvidenceJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule rests on, in pages, each with all of its names."""

    agree: int
    disagree: int
    first_seen: Moment | None
    last_seen: Moment | None
    samples: list[tuple[str, str]]  # a URL, and another name of its page
    against: list[tuple[str, str]]  # a URL, and one that is another page


class RuleJSON(msgspec.Struct, kw_only=True):
    """A learned rule."""

    id: str
    says: str  # for people
    host: str  # with its port, if its URLs have one
    family: str
    below: str  # the part of the host that it covers
    old: str  # what the family replaces or removes
    new: str  # what the family puts there
    beside: list[str]  # names of the other parameters in the query
    subdomains: bool
    but: list[str]  # hosts below the host that it does not cover
    state: RuleState
    evidence: EvidenceJSON
    tests: int  # URLs that were fetched although it could hold them
    suppressed: int  # URLs that are held now because of it, and so not fetched
    entered_at: Moment | None  # when it entered its state

    @staticmethod
    def fields_of(rule: TrackedRule) -> dict[str, Any]:
        """Return what is printed of a rule."""
        says = rule.rewrite
        return {
            "id": rule.id,
            "says": describe(says),
            "host": says.host,
            "family": says.family,
            "below": says.below,
            "old": says.old,
            "new": says.new,
            "beside": list(says.beside),
            "subdomains": says.subdomains,
            "but": list(says.but),
            "state": rule.state,
            "evidence": EvidenceJSON(
                agree=rule.agree,
                disagree=rule.disagree,
                first_seen=iso(rule.first_seen),
                last_seen=iso(rule.last_seen),
                samples=[oriented(says, pair) for pair in rule.samples],
                against=[oriented(says, pair) for pair in rule.against],
            ),
            "tests": rule.tests,
            "suppressed": rule.suppressed,
            "entered_at": iso(rule.entered_at),
        }


class PagesJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of a rule's evidence, each with all of its names, and how many a rule needs."""

    same: int
    own_word: int  # of these, by redirects and canonical links
    names: int  # further ones of these; they count a little
    mined: int  # of these, from a log or an import: no crawl has seen that
    different: int
    refuted: int  # of these, by all the answers that are asked for
    unknown: int
    needed: int  # that are the same, before it acts ...
    needed_by_own_word: int  # ... or by redirects and canonical links alone
    may_be_unknown: int


class ShownRuleJSON(RuleJSON, kw_only=True):
    """A learned rule, where it stands, and all of its evidence."""

    standing: str  # what is missing until it acts, or what would end it; for people
    held_back: str | None  # the same, if it is a candidate or suspended
    pages: PagesJSON
    pairs: list[PairFacts]


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

    rules: list[RuleJSON]
