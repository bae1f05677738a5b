"""Structs made from rows: a field declares how the value that the store has becomes its own."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from canonry.canon import redact
from canonry.storage.timestamps import Moment, iso, utc

_Struct = TypeVar("_Struct")


class StoredAs(NamedTuple):
    """What a field declares, as metadata of its annotation."""

    by: Callable[[Any], Any] | None = None  # from the stored value, unless that is None
    name: str = ""  # of that value in the row, if it is another


URLText = Annotated[str, StoredAs(redact)]  # without the password
EnumName = Annotated[str, StoredAs(lambda member: member.name.lower())]
MaybeURL = Annotated[str | None, StoredAs(redact)]
_BY_TYPE = {Moment: iso, Moment | None: iso, datetime: utc, datetime | None: utc}


@cache
def stored_as(kind: Any) -> Mapping[str, StoredAs]:  # noqa: ANN401 - a class
    """Return the fields of a struct, and how a row has each."""
    found = {}
    for field, hint in get_type_hints(kind, include_extras=True).items():
        plain, *more = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        by, name = next((one for one in more if isinstance(one, StoredAs)), StoredAs())
        found[field] = StoredAs(by or _BY_TYPE.get(hint) or _BY_TYPE.get(plain), name or field)
    return found


def struct_of(kind: type[_Struct], *rows: object, **more: object) -> _Struct:
    """Return a struct with the fields of rows, each as it declares.

    Args:
        kind: of the struct.
        rows: have the stored values as attributes; the first that has one counts.
        more: fields that they do not have.
    """
    found: dict[str, object] = {}
    for field, (by, name) in stored_as(cast("Any", kind)).items():
        if field in more:
            found[field] = more.pop(field)
        else:
            value = next(getattr(row, name) for row in rows if hasattr(row, name))
            found[field] = value if value is None or by is None else by(value)
    return kind(**found, **more)
