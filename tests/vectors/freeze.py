"""Freeze new versions of presets: append lines to policies.txt and keys.txt, and change none.

python tests/vectors/freeze.py
"""

import hashlib
import sys
from pathlib import Path

import canonry
from canonry.canon.policies import Policy, preset, released

_HERE = Path(__file__).parent
# URLs for every version; besides, each gets the example of each of its rules.
_URLS = (
    "http://example.com/",
    "HTTP://Example.COM:80/%7Ebob/../a?b=1#c",
    "https://[2001:DB8::1]:8443/x?y",
    "http://example.com/a//b/index.html?utm_source=x",
    "http://b\xfccher.example/",
    "http://example.com/?b=2&a=1",
    "http://www.www2.example.com/",
)


def rows_hash(policy: Policy) -> str:
    """Return a hash of which rows of the table of rules a policy runs, in their order."""
    rows = "\n".join(f"{step.name} 0" for step in policy.steps())
    return hashlib.blake2b(rows.encode(), digest_size=8).hexdigest()


def urls_of(policy: Policy) -> list[str]:
    """Return the URLs whose keys are frozen for a version."""
    return list(dict.fromkeys([*_URLS, *(step.before for step in policy.steps())]))


def _freeze() -> None:
    """Append the lines of all versions that have none."""
    policies, keys = _HERE / "policies.txt", _HERE / "keys.txt"
    known = {tuple(line.split("\t")[:2]) for line in keys.read_text("utf-8").splitlines()}
    for name, versions in released().items():
        for version in versions:
            if (name, str(version)) in known:
                continue
            policy = preset(f"{name}@{version}")
            columns = (name, str(version), policy.fingerprint, rows_hash(policy))
            _append(policies, ["\t".join(columns)])
            _append(keys, [_line(policy, url) for url in urls_of(policy)])
            sys.stdout.write(f"froze {name}@{version}\n")


def _line(policy: Policy, url: str) -> str:
    """Return the line of a URL's key."""
    written = url.encode("unicode_escape").decode()
    key = canonry.key(url, policy=policy).hex()
    return "\t".join((policy.name, str(policy.version), written, key))


def _append(path: Path, lines: list[str]) -> None:
    """Append lines to a file."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    _freeze()
