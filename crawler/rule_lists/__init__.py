"""Convert shared rule lists, from a user's own copy, to rules of our families."""

from canonry.crawler.rule_lists.conversion import Conversion, Converted, Lost, summary
from canonry.crawler.rule_lists.recognition import convert

__all__ = ["Conversion", "Converted", "Lost", "convert", "summary"]
