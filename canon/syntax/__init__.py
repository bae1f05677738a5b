"""The syntax of URIs: components, characters, hosts, queries and what is known of each scheme."""

from canonry.canon.syntax import percent, query
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.patterns import compile_pattern
from canonry.canon.syntax.percent import to_text

__all__ = ["Parts", "compile_pattern", "percent", "query", "to_text"]
