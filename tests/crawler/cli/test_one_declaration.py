"""A setting is declared once: one more field in the table is seen wherever settings are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import canonry.crawler.settings.sections

ROOT = Path(__file__).parents[3]
FIELD = """
    sway: Annotated[int, Setting("How far.", "Not further.", group=PACE, metavar="N")] = 3
"""
# Runs in a process of its own: the table with one more field is there before all that reads it.
PROGRAM = f'''
import importlib.machinery, importlib.util, json, sys
NAME, FILE = "canonry.crawler.settings.sections", sys.argv[1]
class Changed(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        text, head = self.get_data(FILE).decode(), '    """What to crawl, and how fast."""\\n'
        assert head in text
        return compile(text.replace(head, head + {FIELD!r}), FILE, "exec")
class Finder:
    def find_spec(self, name, *_):
        if name == NAME:
            return importlib.util.spec_from_file_location(name, FILE, loader=Changed(name, FILE))
sys.meta_path.insert(0, Finder())
sys.path.insert(0, sys.argv[2])
from click.testing import CliRunner
from generators.settings_page import settings_file, settings_page
from canonry.crawler.cli.commands import main
from canonry.crawler.cli.crawl.crawl_command import crawl
from canonry.crawler.settings import load
def run(*words, **more):
    return CliRunner().invoke(main, words, **more).output
completed = {{"_CANONRY_COMPLETE": "bash_complete", "COMP_CWORD": "2"}}
print(json.dumps({{
    "help": run("crawl", "--help"),
    "file": settings_file(),
    "page": settings_page(),
    "settings": run("settings", "--config", "crawl.sway=5"),
    "wrong": run("crawl", "http://a.example/", "--sway", "1", "--config", "crawl.sway=x"),
    "variable": load(None, {{}}).crawl.sway,
    "options": [p.name for p in crawl.params if "sway" in str(p.name)],
    "names": [item.value for p in crawl.params if p.name == "config"
              for item in p.type.shell_complete(None, p, "crawl.sw")],
}}))
'''


def test_one_more_field_is_an_option_a_key_a_variable_and_a_line_of_each_page() -> None:
    file = str(canonry.crawler.settings.sections.__file__)
    environment = os.environ | {"CANONRY_CRAWL_SWAY": "4"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, file, str(ROOT / "docs")],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    pace = found["help"].partition("How fast:")[2].partition("\n\n")[0]
    assert "--sway N" in pace
    assert "How far.  [default: 3]" in pace
    assert "# How far. Not further.\nsway = 3\n" in found["file"]
    assert "- `sway` = `3` (`--sway`): How far. Not further.\n" in found["page"].replace(
        "a whole number, ", ""
    )
    assert "sway" in found["settings"]
    assert "--config" in found["settings"]
    assert 'sway in [crawl]: "x" was given; allowed is a whole number' in found["wrong"]
    assert (found["variable"], found["options"]) == (4, ["sway"])
    assert found["names"] == ["crawl.sway="]
