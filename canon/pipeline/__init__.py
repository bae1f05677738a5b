"""The pipeline: from text to identity and key under one policy, with fast paths and traces."""

from importlib import import_module

TYPE_CHECKING = False  # as in `canonry.canon`
if TYPE_CHECKING:
    from canonry.canon.pipeline.canonical import common_ends
    from canonry.canon.pipeline.merging import RULES, kernels_rules, merging_rules, rules_named
    from canonry.canon.pipeline.native import is_compiled, kernel_in_words, rule_bit
    from canonry.canon.pipeline.rewriting import Rewritten, followed, forms_of, rewrite_many

__all__ = [
    "RULES",
    "Rewritten",
    "common_ends",
    "followed",
    "forms_of",
    "is_compiled",
    "kernel_in_words",
    "kernels_rules",
    "merging_rules",
    "rewrite_many",
    "rule_bit",
    "rules_named",
]

_PLACES = {
    "RULES": "merging",
    "common_ends": "canonical",
    "is_compiled": "native",
    "kernel_in_words": "native",
    "kernels_rules": "merging",
    "merging_rules": "merging",
    "rule_bit": "native",
    "rules_named": "merging",
}  # the others are in "rewriting"

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a name of the pipeline: learned rules take a while, and --version needs none."""
        if name not in __all__:
            raise AttributeError(f"module 'canonry.canon.pipeline' has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_PLACES.get(name, 'rewriting')}"), name)
        globals()[name] = found
        return found
