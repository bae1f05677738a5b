from collections.abc import Callable
from typing import Any

VERSION: int

def scan_page(
    body: bytes, xml: bool, blocks: bool, embeds: bool, /, *page: Callable[..., Any]
) -> bytes | None: ...
def scan_text(body: bytes, /) -> bytes: ...
