"""Refuse a release that is not ready: ``python .github/ready.py v1.2.3``.

With ``--images``, say only which images of others are named without a digest.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_IMAGES = re.compile(r"^(?:ARG PYTHON=| *image: )(\S+)$", re.MULTILINE)
_WITH_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")


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


def without_digest() -> list[str]:
    """Return the images of others that are named without a digest, as sentences."""
    return [
        f"deploy/{name}: {image} has no digest: docs/reference/releasing.md says how to find it"
        for name in ("Dockerfile", "compose.yml")
        for image in _IMAGES.findall((ROOT / "deploy" / name).read_text(encoding="utf-8"))
        if not _WITH_DIGEST.search(image)
    ]


if __name__ == "__main__":
    images = without_digest()
    lacking = images if sys.argv[1] == "--images" else missing_for(sys.argv[1]) + images
    print("\n".join(lacking) or "ready")
    sys.exit(len(lacking))
