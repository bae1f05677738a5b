from collections.abc import Callable

VERSION: int

def read_tags(
    body: bytes,
    embeds: bool,
    xml: bool,
    add_link: Callable[[str], None],
    add_title: Callable[[str], None],
    add: Callable[[str, dict[str, str]], None],
    in_attribute: Callable[[str], str],
    /,
) -> None: ...
