"""The pipeline: from text to identity and key under one policy, with fast paths and traces."""

from canonry.canon.pipeline.canonical import common_ends
from canonry.canon.pipeline.merging import RULES, kernels_rules, merging_rules
from canonry.canon.pipeline.native import is_compiled, kernel_in_words
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
]
