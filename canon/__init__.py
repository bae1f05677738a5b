"""Canonry's library: which URLs are the same. Text in; canonical form, key and reasons out.

It does no I/O: no network, no clock, no files but the policies that ship with it.
"""

from canon import columns
from canon.api import canonicalize, equivalent, key, surt
from canon.base import establish_base
from canon.canonicalizer import Canonical, Canonicalizer, Refused
from canon.cautions import Caution, cautions
from canon.errors import InvalidURL, Reason
from canon.extract import Found, extract
from canon.forms import Form
from canon.grammar import matches
from canon.ladder import Rung
from canon.policy import Policy, PolicyError
from canon.reading import interpret
from canon.resolve import from_suffix, resolve, same_document
from canon.rules import Evidence, LearnedRule, RulesError, RuleSet
from canon.trace import Change, Trace
from canon.uri import URI, parse, redact

__all__ = [
    "URI",
    "Canonical",
    "Canonicalizer",
    "Caution",
    "Change",
    "Evidence",
    "Form",
    "Found",
    "InvalidURL",
    "LearnedRule",
    "Policy",
    "PolicyError",
    "Reason",
    "Refused",
    "RuleSet",
    "RulesError",
    "Rung",
    "Trace",
    "canonicalize",
    "cautions",
    "columns",
    "equivalent",
    "establish_base",
    "extract",
    "from_suffix",
    "interpret",
    "key",
    "matches",
    "parse",
    "redact",
    "resolve",
    "same_document",
    "surt",
]
