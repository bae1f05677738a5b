"""Reference resolution: base URIs, and the dialects that resolve a reference against one."""

from canonry.canon.references.whatwg import serialize

__all__ = ["serialize"]
