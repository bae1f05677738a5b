"""The checks of a rewrite's fields: each returns what a family allows, or None if all is well."""

import re

from canonry.canon.learned.rewrite import Rewrite, is_host_name
from canonry.canon.syntax import grammar, query

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


def takes_parameter(rewrite: Rewrite) -> str | None:
    """Allow the name of a parameter as ``old``, and the others as ``beside``."""
    if rewrite.new or not rewrite.old or any(mark in rewrite.old for mark in "&=#"):
        return "'old' has to be a parameter's name, and 'new' empty"
    names = [query.name(one) for one in rewrite.beside]
    if names != sorted(set(names) - {rewrite.old}):
        return "'beside' has to be the names of the other parameters, sorted; or fields, as a=1"
    return None


def takes_parameters(rewrite: Rewrite) -> str | None:
    """Allow the names of two or more parameters as ``old``, and those of others as ``beside``."""
    names = rewrite.old.split("&")
    if rewrite.new or len(names) < 2 or not _are_names(tuple(names)):  # noqa: PLR2004 - a group
        return (
            "'old' has to be the names of two parameters or more, with '&' between, and 'new' empty"
        )
    if names != sorted(set(names)):
        return "the names in 'old' have to be sorted, each once"
    if list(rewrite.beside) != sorted(set(rewrite.beside) - set(names)):
        return "'beside' has to be the names of the other parameters, sorted"
    return None


def takes_default(rewrite: Rewrite) -> str | None:
    """Allow fields, as ``page=1`` or ``do=&sort=a``, as ``old``; ``beside`` has other names."""
    fields = rewrite.old.split("&")
    names = [field.partition("=")[0] for field in fields]
    if rewrite.new or "#" in rewrite.old or not all("=" in field[1:] for field in fields):
        return "'old' has to be a parameter with '=' and its value, as page=1, and 'new' empty"
    if names != sorted(set(names)):
        return "the parameters in 'old' have to be sorted by name, each once"
    if list(rewrite.beside) != sorted(set(rewrite.beside) - set(names)):
        return "'beside' has to be the names of the other parameters, sorted"
    return None


def takes_parameter_of_page(rewrite: Rewrite) -> str | None:
    """Allow the name of a parameter as ``old``, and a path, with the other fields, as ``new``."""
    if not _are_names((rewrite.old,)):
        return "'old' has to be a parameter's name"
    path, mark, others = rewrite.new.partition("?")
    if not grammar.matches("path-absolute", path) or (
        mark and not grammar.matches("query", others)
    ):
        return "'new' has to be a path, or a path and a query: all that is left of each URL"
    names = others.split("&") if others else []
    if bool(mark) is not bool(others) or any(one.partition("=")[0] == rewrite.old for one in names):
        return "the query in 'new' has to have other parameters than that in 'old'"
    return None


def takes_parameter_anywhere(rewrite: Rewrite) -> str | None:
    """Allow the name of a parameter as ``old``, and ``any-case`` as ``new``."""
    if rewrite.new not in {"", "any-case"} or not _are_names((rewrite.old,)):
        return "'old' has to be a parameter's name, and 'new' empty or 'any-case'"
    if rewrite.new and rewrite.old != rewrite.old.lower():
        return "with 'any-case', 'old' has to be in lower case"
    return None


def takes_selection(rewrite: Rewrite) -> str | None:
    """Allow the names of the parameters that select content as ``beside``."""
    if rewrite.old or rewrite.new:
        return "this family takes neither 'old' nor 'new'"
    if list(rewrite.beside) != sorted(set(rewrite.beside)) or not _are_names(rewrite.beside):
        return "'beside' has to be the names of the parameters that select content, sorted"
    return None


def _are_names(names: tuple[str, ...]) -> bool:
    """Return True if all texts may be names of parameters in a query."""
    return all(name and not any(mark in name for mark in "&=#") for name in names)


def takes_path_parameter(rewrite: Rewrite) -> str | None:
    """Allow the name of a parameter in a path as ``old``."""
    if rewrite.new or not rewrite.old or any(mark in rewrite.old for mark in "/;=?#"):
        return "'old' has to be the name of a parameter in a path, and 'new' empty"
    return None
