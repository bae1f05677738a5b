"""Entities of XML documents: the short ones are replaced, before any parser could expand a bomb."""

import re
from html.entities import html5

from canonry.canon.syntax import compile_pattern

UNKNOWN = "\ufdd0"  # stands for the "&" of an entity that is not known; no text holds it
_PREDEFINED = frozenset({"amp", "apos", "gt", "lt", "quot"})
# XML 1.0, productions 22 and 28: what may come before the root element.
_PROLOG = compile_pattern(
    r"(?:\s|<\?(?:[^?]|\?(?!>))*+\?>|<!--(?:[^-]|-(?!->))*+-->)*+"
    r"""(<!DOCTYPE(?:[^\["'>]|"[^"]*+"|'[^']*+')*+"""
    r"""(?:\[((?:[^\]"'<]|"[^"]*+"|'[^']*+'|<!--(?:[^-]|-(?!->))*+(?:-->|\Z)|<)*+)\]\s*+)?>)"""
)
# A declaration whose value has no markup and refers to no other entity.
_DECLARED = compile_pattern(
    r"""<!ENTITY\s++([A-Za-z_][\w.\-]*+)\s++(?:"((?:[^"&%<]|&\#\w++;)*+)"|'((?:[^'&%<]|&\#\w++;)*+)')"""
)
_REFERENCE = compile_pattern(
    r"<!\[CDATA\[(?:[^\]]|\](?!\]>))*+(?:\]\]>|\Z)|<!--(?:[^-]|-(?!->))*+|&([A-Za-z_][\w.\-]*+);"
)
_MAX_VALUE = 1000
_GROWTH = 1_000_000  # characters, beyond the length of the text


def without_entities(text: str) -> str:
    """Return an XML document without its DTD, and with its entities replaced.

    Entities that the document declares and HTML's own are replaced. Of others, `UNKNOWN` takes the
    place of the "&". External entities and those that refer to others are not known.

    Raises:
        OSError: if the entities stand for far more text than the document has.
    """
    declared: dict[str, str] = {}
    if (found := _PROLOG.match(text)) is not None:
        for name, double, single in _DECLARED.findall(found[2] or ""):
            value = double or single
            if len(value) <= _MAX_VALUE:
                declared.setdefault(name, value)
        text = text[: found.start(1)] + text[found.end(1) :]
    if "&" not in text:
        return text
    left = len(text) + _GROWTH

    def replaced(reference: re.Match[str]) -> str:
        nonlocal left
        name = reference[1]
        if name is None or name in _PREDEFINED:
            return reference[0]
        value = declared.get(name)
        if value is None:
            known = html5.get(f"{name};")
            if known is None:
                return f"{UNKNOWN}{name};"
            value = "".join(f"&#{ord(character)};" for character in known)
        left -= len(value)
        if left < 0:
            raise OSError("the document's entities stand for too much text")
        return value

    return _REFERENCE.sub(replaced, text)
