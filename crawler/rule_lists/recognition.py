"""Convert a list of rules, whose format is recognized by its content."""

import msgspec

from canonry.canon import RulesError
from canonry.crawler.rule_lists import clearurls, url_discarder
from canonry.crawler.rule_lists.conversion import Conversion

_ALLOWED = "ClearURLs' data.min.json, or a JSON file of duplicate-url-discarder-rules"


def convert(text: bytes, source: str) -> Conversion:
    """Convert the rules of a list.

    Args:
        text: the content of a file.
        source: its name in errors.

    Raises:
        RulesError: naming the source, if its format is not known.
    """
    try:
        parsed = msgspec.json.decode(text)
    except RecursionError:
        raise RulesError(f"{source}: nested too deeply; give {_ALLOWED}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RulesError(f"{source}: not JSON: {error}; give {_ALLOWED}") from None
    if isinstance(parsed, dict) and isinstance(parsed.get("providers"), dict):
        return Conversion("clearurls", tuple(clearurls.convert_all(parsed["providers"])))
    if isinstance(parsed, list) and _are_rules(parsed):
        return Conversion("duplicate-url-discarder", tuple(url_discarder.convert_all(parsed)))
    raise RulesError(f"{source}: no list of rules that Canonry converts; give {_ALLOWED}")


def _are_rules(given: list[object]) -> bool:
    """Return True for objects of which at least one has a pattern."""
    return all(isinstance(one, dict) for one in given) and any(
        isinstance(one, dict) and "urlPattern" in one for one in given
    )
