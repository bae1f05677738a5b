"""Convert a list of rules, whose format is recognized by its content."""

from typing import Any

import msgspec

from canonry.canon import RulesError
from canonry.crawler.rule_lists import clearurls, pywb, url_discarder
from canonry.crawler.rule_lists.conversion import Conversion
from canonry.extras import require

_ALLOWED = (
    "ClearURLs' data.min.json, a JSON file of duplicate-url-discarder-rules, or pywb's rules.yaml"
)


def convert(text: bytes, source: str) -> Conversion:
    """Convert the rules of a list.

    Args:
        text: the content of a file.
        source: its name in errors.

    Raises:
        RulesError: naming the source, if its format is not known.
        MissingExtraError: if YAML cannot be read here.
    """
    try:
        parsed = msgspec.json.decode(text)
    except RecursionError:
        raise RulesError(f"{source}: nested too deeply; give {_ALLOWED}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        parsed = _from_yaml(text, source)
    if isinstance(parsed, dict) and isinstance(parsed.get("providers"), dict):
        return Conversion("clearurls", tuple(clearurls.convert_all(parsed["providers"])))
    if isinstance(parsed, list) and parsed and _are_rules(parsed, "urlPattern"):
        return Conversion("duplicate-url-discarder", tuple(url_discarder.convert_all(parsed)))
    if isinstance(parsed, dict) and _are_rules(parsed.get("rules"), "url_prefix"):
        return Conversion("pywb", tuple(pywb.convert_all(parsed)))
    raise RulesError(f"{source}: no list of rules that Canonry converts; give {_ALLOWED}")


def _are_rules(given: object, key: str) -> bool:
    """Return True for a list of objects of which at least one has a given key."""
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        return False
    return any(key in one for one in given)


def _from_yaml(text: bytes, source: str) -> Any:  # noqa: ANN401 - whatever the file holds
    """Read YAML, without objects of Python."""
    require("yaml", f"{source}: it is not JSON, and YAML")
    import yaml  # noqa: PLC0415 - optional

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise RulesError(f"{source}: neither JSON nor YAML: {reason}; give {_ALLOWED}") from None
