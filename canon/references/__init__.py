"""Reference resolution: base URIs, and the dialects that resolve a reference against one."""
