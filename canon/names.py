"""The public names of the library, which `canonry` and `canonry.canon` have, too."""

from canonry.canon import columns, redaction
from canonry.canon.api import canonicalize, equivalent, key, same, surt
from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.inspect.cautions import Caution, cautions
from canonry.canon.inspect.extract import Found, extract
from canonry.canon.inspect.forms import Form
from canonry.canon.inspect.interpret import interpret
from canonry.canon.learned.learned_rule import Evidence, LearnedRule, RulesError
from canonry.canon.learned.ruleset import RuleSet
from canonry.canon.pipeline.canonical import Canonical, Refused, Trace
from canonry.canon.pipeline.canonicalizer import Canonicalizer
from canonry.canon.pipeline.native import is_compiled
from canonry.canon.policies.policy import Policy, PolicyError
from canonry.canon.redaction import redact
from canonry.canon.references.base import establish_base
from canonry.canon.references.resolve import from_suffix, resolve, same_document
from canonry.canon.rules.rule import Change, Rung
from canonry.canon.syntax.grammar import matches
from canonry.canon.syntax.uri import URI, parse

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
    "is_compiled",
    "key",
    "matches",
    "parse",
    "redact",
    "redaction",
    "resolve",
    "same",
    "same_document",
    "surt",
]
