"""The tutorial of docs/how-to/scrapy.md, command by command, on the demo site."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.sites import demo_site

PAGE = Path(__file__).parents[4] / "docs/how-to/scrapy.md"
_PROGRAM = re.compile(r"\A(scrapy|canonry)\b")
_BLOCK = re.compile(r"^```(bash|python file=(\S+))\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_tutorial_runs(tmp_path: Path) -> None:
    folder, suppressed, ran = tmp_path, [], []
    with demo_site(products=16, guides=8) as served:
        environment = {
            **os.environ,
            "http_proxy": f"http://127.0.0.1:{served.port}",
        }
        for _kind, file, text in _BLOCK.findall(PAGE.read_text(encoding="utf-8")):
            if file:
                (folder / file).write_text(text)
                continue
            for line in text.splitlines():
                if line.startswith("cd "):
                    folder /= line.removeprefix("cd ")
                    continue
                done = subprocess.run(  # noqa: S602 - as its reader would run it
                    _PROGRAM.sub(rf"{sys.executable} -m \1", line),
                    shell=True,
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=100,
                    check=False,
                )
                assert done.returncode == 0, (line, done.stderr)
                ran.append((line, done.stdout))
                suppressed += re.findall(
                    r"INFO: ([0-9,]+) fetches suppressed, by rule: (.+)", done.stderr
                )
    outputs = dict(ran)
    assert len(ran) == 11
    assert int(suppressed[0][0].replace(",", "")) > 30
    assert "tracking" in suppressed[0][1]
    assert len((folder / "pages.jsonl").read_text().splitlines()) > 30
    assert "fetched" in outputs["canonry why 'http://shop.example/?utm_source=mail'"]
