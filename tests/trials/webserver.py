"""Runs Debian's nginx on loopback, with a virtual host for each site of the trial."""

import os
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import trustme

PACKAGES = (
    "nginx", "nginx-common", "libnginx-mod-http-lua", "libnginx-mod-http-ndk", "lua-resty-core",
    "lua-resty-lrucache", "libluajit2-5.1-2", "libpcre3",
)  # fmt: skip
_FLAGS = ("ref", "campaign", "sid", "segment", "noise", "parts", "whole")  # careless.lua has them
_LUA = Path(__file__).with_name("careless.lua")


class Site(NamedTuple):
    """A virtual host: a manual, and the habits with which it is served."""

    bare: str
    """The name without ``www.``; it is served under both names."""
    root: Path
    entries: tuple[str, ...]
    names: tuple[str, ...] = ()
    """Origins: an eighth of the links name each, the rest are relative."""
    habits: frozenset[str] = frozenset()
    """Of those in `_FLAGS`; ``http-redirects``, ``www-redirects``."""


class Served(NamedTuple):
    """A running server."""

    http: int
    https: int
    authority: Path
    """The certificate of the authority that signed the server's."""
    folder: Path

    def log(self, site: Site) -> Path:
        """Return the access log of a site."""
        return self.folder / f"{site.bare}.log"


@contextmanager
def served(sites: Iterable[Site], unpacked: Path, cuts: str, folder: Path) -> Iterator[Served]:
    """Serve sites until the block ends.

    Args:
        sites: the virtual hosts.
        unpacked: where Debian's packages are unpacked.
        cuts: the parts of pages, rows of a table in Lua.
        folder: an empty folder for settings, certificates and logs.
    """
    sites = list(sites)
    ports = free_ports()
    names = [name for site in sites for name in (site.bare, f"www.{site.bare}")]
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    server = authority.issue_cert(*names)
    server.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    (folder / "parts.lua").write_text(f"return {{\n{cuts}\n}}\n", encoding="utf-8")
    settings = _settings(sites, unpacked, folder, ports)
    (folder / "nginx.conf").write_text(settings, encoding="utf-8")
    words = [unpacked / "usr/sbin/nginx", "-p", folder, "-c", folder / "nginx.conf"]
    words += ["-e", folder / "error.log"]
    with running(words, unpacked, ports[0], folder):
        yield Served(*ports, folder / "ca.pem", folder)


@contextmanager
def running(words: Iterable[str | Path], unpacked: Path, port: int, folder: Path) -> Iterator[None]:
    """Run a server of Debian's, unpacked and not installed, until the block ends.

    Args:
        words: the command.
        unpacked: where Debian's packages are unpacked.
        port: on which it is going to listen.
        folder: of its ``error.log``.
    """
    libraries = {str(file.parent) for file in unpacked.glob("**/lib/*/lib*.so.*")}
    process = subprocess.Popen(
        list(words),
        env={**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)},
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(process, port, folder / "error.log")
        yield
    finally:
        process.terminate()
        process.wait()


def free_ports() -> tuple[int, int]:
    """Return two ports on which nothing listens."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until the server answers, or fail with what it said."""
    for _ in range(100):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start: {log.read_text(encoding='utf-8')}")


def temporary(folder: Path) -> str:
    """Return nginx's settings for the folders that it wants even where it needs none."""
    return "".join(
        f"{kind}_temp_path {folder}/{kind}-bodies;\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )


def _settings(sites: Iterable[Site], unpacked: Path, folder: Path, ports: tuple[int, int]) -> str:
    """Return nginx's settings."""
    modules = unpacked / "usr/lib/nginx/modules"
    log = " ".join(
        f'"{name}":"${variable}",' if name != "status" else f'"{name}":${variable},'
        for name, variable in {
            "scheme": "scheme", "host": "host", "uri": "request_uri", "status": "status",
            "file": "request_filename", "part": "arg_part",
        }.items()
    )  # fmt: skip
    return f"""
load_module {modules}/ndk_http_module.so;
load_module {modules}/ngx_http_lua_module.so;
daemon off;
master_process off;
pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
{temporary(folder)}
include {unpacked}/etc/nginx/mime.types;
default_type application/octet-stream;
server_names_hash_bucket_size 128;
port_in_redirect off;
log_not_found off;
keepalive_requests 100000;
log_format trial escape=json '{{{log}"agent":"$http_user_agent"}}';
ssl_certificate {folder}/server.pem;
ssl_certificate_key {folder}/server.pem;
lua_package_path "{_LUA.parent}/?.lua;{unpacked}/usr/share/lua/5.1/?.lua;;";
init_by_lua_block {{
    math.randomseed(1)
    careless = require "careless"
    careless.load("{folder}/parts.lua")
}}
{"".join(_server(site, folder, ports) for site in sites)}
}}
"""


def _server(site: Site, folder: Path, ports: tuple[int, int]) -> str:
    """Return the virtual hosts of one site: that of its pages, and those that redirect to it."""
    http, https = (f"listen 127.0.0.1:{ports[0]};", f"listen 127.0.0.1:{ports[1]} ssl;")
    log = f"access_log {folder}/{site.bare}.log trial;"
    bare, www = site.bare, f"www.{site.bare}"
    pages, redirects = [(http, bare), (https, bare), (http, www), (https, www)], ""
    if "http-redirects" in site.habits:
        name = "$host" if "www-redirects" not in site.habits else bare
        redirects += (
            f"server {{ {http} server_name {bare} {www}; {log} "
            f"return 301 https://{name}$request_uri; }}\n"
        )
        pages = [(listen, name) for listen, name in pages if listen != http]
    if "www-redirects" in site.habits:
        listens = " ".join(listen for listen, name in pages if name == www)
        redirects += (
            f"server {{ {listens} server_name {www}; {log} "
            f"return 301 $scheme://{bare}$request_uri; }}\n"
        )
        pages = [(listen, name) for listen, name in pages if name != www]
    listens = " ".join(dict.fromkeys(listen for listen, _name in pages))
    names = " ".join(dict.fromkeys(name for _listen, name in pages))
    flags = " ".join(f"set ${flag} {int(flag in site.habits)};" for flag in _FLAGS)
    start = "".join(
        f'<li><a href="{origin}{entry}">{entry}</a></li>'
        for entry in site.entries
        for origin in ("", *(f"{name}/" for name in site.names))
    )
    return f"""{redirects}server {{
    {listens} server_name {names}; {log}
    root {site.root};
    set $bare {bare}; set $mix "{" ".join(site.names)}"; {flags}
    rewrite "^/\\(S\\([0-9a-f]+\\)\\)(/.*)$" $1 last;
    header_filter_by_lua_block {{ careless.head() }}
    body_filter_by_lua_block {{ careless.body() }}
    location = /start.html {{
        default_type text/html;
        return 200 '<html><head><title>Manuals</title></head><body><ul>{start}</ul></body></html>';
    }}
}}
"""
