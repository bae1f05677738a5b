"""How the site of the documentation is built: ``make docs-site``.

The source is the whole tree, since pages link to files outside of docs. The first page holds plain
links, which forges show; the site's table of contents is made from these.
"""

import re
from typing import TYPE_CHECKING

import canonry

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Canonry"
author = "the Canonry authors"
version = release = canonry.__version__
html_title = f"Canonry {version}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "benchmarks/*.md", "deploy/*.md"]
include_patterns += ["examples/*.md", "tests/trials/*.md", "tests/conformance.md"]
exclude_patterns = [".*", "build", "dist", "benchmarks/runs", "canon*", "crawler", "storage"]

nitpicky = True
# Types that the signatures name, and no page is about.
nitpick_ignore_regex = [
    (
        "py:class",
        r"canonry\.canon\.(rules\.(table\.Step|rule\.Parameters)|policies\.policy_files\.FilePath|learned\..*)",
    ),
    ("py:class", r"(collections|typing|pa|numpy)\..*"),
    ("py:exc", "MissingExtraError"),
]

myst_heading_anchors = 4  # links to headings are checked
suppress_warnings = ["misc.highlighting_failure"]  # shortened examples of output

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True

html_theme = "furo"
html_extra_path = ["site"]
html_show_sphinx = False
html_copy_source = False

_LINK = re.compile(r"^- \[[^]]*\]\(([^):#]+)\.md\)", re.MULTILINE)


def add_contents(_app: "Sphinx", name: str, source: list[str]) -> None:
    """Append a table of contents: for each section of the first page, from the links in it."""
    if name == "docs/decisions/README":
        source[0] += "\n```{toctree}\n:glob:\n\n0*\n```\n"
    if name == root_doc:
        for section in re.split(r"^## ", source[0], flags=re.MULTILINE):
            title = section.partition("\n")[0].lstrip("# ")
            pages = "\n".join(_LINK.findall(section))
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{pages}\n```\n"


def setup(app: "Sphinx") -> None:
    """Take part in the build."""
    app.connect("source-read", add_contents)
