"""Refuse a release that is not ready: ``python .github/ready.py v1.2.3``."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def missing_for(tag: str) -> list[str]:
    """Return what a tag still lacks, as sentences."""
    said = []
    text = (ROOT / "canonry/__init__.py").read_text(encoding="utf-8")
    version = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if [tag.removeprefix("v")] != version:
        said.append(f"the tag is {tag}, and canonry/__init__.py says {version}")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## \[?{re.escape(tag.removeprefix('v'))}\]? - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, changes, re.MULTILINE):
        said.append(f"CHANGELOG.md has no section with a date for {tag}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said += [
        f"[project.urls] {name} is a placeholder: {url}"
        for name, url in project["urls"].items()
        if re.search(r"//[^/]*\.example(/|$)", url)
    ]
    if "OWNER/NAME" in (ROOT / "SECURITY.md").read_text(encoding="utf-8"):
        said.append("SECURITY.md says OWNER/NAME, where the repository's name belongs")
    return said


if __name__ == "__main__":
    lacking = missing_for(sys.argv[1])
    print("\n".join(lacking) or "ready")
    sys.exit(len(lacking))
