"""Canonry's library decides which URLs are the same: text in; canonical form, key and reasons out.

It does no I/O: no network, no clock, and no files but the settings that ship with it. Everything is
imported when one of its names is first used: a command that needs one room does not wait for all.
"""

import sys
from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which would have to be imported
if TYPE_CHECKING:
    from canonry.canon.names import *  # noqa: F403 - all of them
else:

    def __getattr__(name: str) -> object:
        """Import the library, and return a name of it."""
        library = import_module("canonry.canon.names")
        if hasattr(library, "__all__"):  # else it is being imported, and asks for a module
            found = {each: getattr(library, each) for each in library.__all__}
            globals().update(found, __all__=library.__all__)
        if name not in globals():
            raise AttributeError(f"module 'canonry.canon' has no attribute {name!r}")
        return globals()[name]


if __name__ == "canon":  # a checkout, imported by the short name: the same modules, not copies
    import_module("canonry.canon.names")
    ours = [name for name in sys.modules if name.startswith("canonry.canon")]
    sys.modules.update({name.removeprefix("canonry."): sys.modules[name] for name in ours})
