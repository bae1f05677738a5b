"""The checks of a rewrite's fields: each returns what a family allows, or None if all is well."""

import re

from canonry.canon.learned.actions import SLUGS
from canonry.canon.learned.rewrite import Rewrite, is_host_name
from canonry.canon.syntax import grammar

_INDEX_NAMES = ("index", "default", "home", "main", "welcome")
INDEX_FILE = re.compile(rf"(?:{'|'.join(_INDEX_NAMES)})(?:\.[A-Za-z0-9]{{1,8}})?")
INDEX_INITIALS = frozenset(name[0] for name in _INDEX_NAMES)  # first letters of such files


def is_directory(text: str) -> bool:
    """Return True if a text is a path of whole segments, with a slash at both ends."""
    if text == "/":  # as in most rules; loading the grammar takes 4 ms
        return True
    ends = text.startswith("/") and text.endswith("/") and "//" not in text
    return ends and grammar.matches("path-absolute", text)


def takes_none(rewrite: Rewrite) -> str | None:
    """Allow neither ``old`` nor ``new``."""
    return "this family takes neither 'old' nor 'new'" if rewrite.old or rewrite.new else None


def takes_host(rewrite: Rewrite) -> str | None:
    """Allow another host name as ``new``."""
    if rewrite.old or not is_host_name(rewrite.new) or rewrite.new == rewrite.host:
        return "'new' has to be another host's name, in lower case, and 'old' empty"
    if rewrite.subdomains:
        return "a rule that changes the host name cannot cover subdomains"
    return None


def takes_www(rewrite: Rewrite) -> str | None:
    """Allow the same host name with or without ``www.`` as ``new``."""
    if {rewrite.new, rewrite.host} not in (
        {rewrite.host, f"www.{rewrite.host}"},
        {rewrite.new, f"www.{rewrite.new}"},
    ):
        return "'new' has to be the host's name with 'www.' before it, or without"
    return takes_host(rewrite)


def takes_prefixes(rewrite: Rewrite) -> str | None:
    """Allow two directories as ``old`` and ``new``."""
    for name, value in (("old", rewrite.old), ("new", rewrite.new)):
        if not is_directory(value):
            return f"{name!r} has to be a path that begins and ends with a slash"
    if rewrite.new.lower().startswith(rewrite.old.lower()):
        return "'new' begins with 'old', so the path would grow forever"
    return None


def takes_index_file(rewrite: Rewrite) -> str | None:
    """Allow the name of a default document as ``old``."""
    if rewrite.new or not INDEX_FILE.fullmatch(rewrite.old):
        return "'old' has to be a name such as index.html or home.php, and 'new' empty"
    return None


def takes_slash(rewrite: Rewrite) -> str | None:
    """Allow one of three ways to treat a final slash as ``new``."""
    if rewrite.old or rewrite.new not in {"slash", "bare", "file"}:
        return (
            "'new' has to be 'slash' (it is added), 'bare' (it is dropped) or 'file' (it is "
            "dropped after a file's extension), and 'old' empty"
        )
    return None


def takes_slug(rewrite: Rewrite) -> str | None:
    """Allow a place of words beside an id as ``old``."""
    if rewrite.new or rewrite.old not in SLUGS:
        return f"'old' has to be one of {', '.join(SLUGS)}, and 'new' empty"
    return None


def takes_path_parameter(rewrite: Rewrite) -> str | None:
    """Allow the name of a parameter in a path as ``old``."""
    if rewrite.new or not rewrite.old or any(mark in rewrite.old for mark in "/;=?#"):
        return "'old' has to be the name of a parameter in a path, and 'new' empty"
    return None
