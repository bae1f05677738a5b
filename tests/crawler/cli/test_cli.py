"""The command: streams, exit codes, messages for wrong usage, and start-up."""

import csv
import gzip
import io
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import get_type_hints

import click
import pytest
from click.testing import CliRunner
from pyarrow import parquet
from support.sites import exported, run_command

from canonry.canon.pipeline import is_compiled
from canonry.crawler.cli.commands import COMMANDS, help_of, main
from canonry.storage.reading import report
from canonry.storage.timestamps import text_of


def test_canon_prints_a_line_for_each_line(tmp_path: Path) -> None:
    done = run_command(
        "canon", folder=tmp_path, data=b"HTTP://A.example\nbad\nhttp://a.example/%7e\n"
    )
    assert done.returncode == 0
    assert done.stdout == b"http://a.example/\n\nhttp://a.example/~\n"
    assert b"the reference is relative" in done.stderr


def test_canon_of_arguments(tmp_path: Path) -> None:
    done = run_command("canon", "../x", "y", "--base", "http://a.example/b/c", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"http://a.example/x\nhttp://a.example/b/y\n")
    done = run_command("canon", "http://[", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"\n")


def test_canon_in_other_formats(tmp_path: Path) -> None:
    done = run_command(
        "canon", "-", "--format", "json", folder=tmp_path, data=b"http://a.example/?\nx\n"
    )
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["url"] == "http://a.example/?"
    assert first["identity"] == "http://a.example/"
    assert len(bytes.fromhex(first["key"])) == 16
    assert second == {"text": "x", "reason": "relative"}
    done = run_command("canon", "http://www.a.example:81/x?y", "--format", "surt", folder=tmp_path)
    assert done.stdout == b"example,a,www:81)/x?y\n"


def test_undecodable_arguments_are_bytes(tmp_path: Path) -> None:
    done = run_command("canon", "http://a.example/\udce9", folder=tmp_path)
    assert done.stdout == b"http://a.example/%E9\n"


def test_explain_names_rules_and_sections(tmp_path: Path) -> None:
    done = run_command("explain", "HTTP://a.example/%7e?utm_source=x", folder=tmp_path)
    assert done.returncode == 0
    for word in (b"percent-unreserved", b"RFC 3986 section 6.2.2.2", b"tracking", b"(a heuristic)"):
        assert word in done.stdout
    done = run_command("explain", "HTTP://a.example/", "--json", folder=tmp_path)
    found = json.loads(done.stdout)
    assert [step["name"] for step in found["steps"]] == ["scheme-case"]
    assert found["steps"][0]["cites"] == "RFC 3986 section 6.2.2.1"


def test_explain_points_at_the_error_in_a_text_that_is_not_a_url(tmp_path: Path) -> None:
    done = run_command("explain", "http://a.example:99999/", folder=tmp_path)
    assert done.returncode == 1
    assert done.stdout == b""
    lines = done.stderr.decode().splitlines()
    assert lines[0].endswith("a port is a decimal number from 0 to 65535")
    assert lines[1].index("99999") == lines[2].index("^")


def test_extract_from_text(tmp_path: Path) -> None:
    text = b"See <URL:http://a.example/b\n  c>, www.d.example/e."
    done = run_command("extract", "-", folder=tmp_path, data=text)
    assert (done.returncode, done.stdout) == (0, b"http://a.example/bc\n")
    done = run_command("extract", "-", "--suffixes", folder=tmp_path, data=text)
    assert done.stdout == b"http://a.example/bc\nhttp://www.d.example/e\n"
    wide = "See <http://a.example/é>".encode("utf-16")
    done = run_command("extract", "-", folder=tmp_path, data=wide)
    assert done.stdout.decode() == "http://a.example/é\n"


def test_extract_from_html(tmp_path: Path) -> None:
    page = (
        b"<!-- x --><!DOCTYPE html><p>http://not.a.link/<a href='b'>x</a><a href=http://c.example>"
    )
    (tmp_path / "page").write_bytes(page)
    done = run_command("extract", "page", "--base", "http://a.example/x/", folder=tmp_path)
    assert done.stdout == b"http://a.example/x/b\nhttp://c.example/\n"
    done = run_command("extract", "page", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"http://c.example/\n")
    assert b"1 relative link left out" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["extract", "none.txt"], 2, "none.txt"),
        (["nonsense"], 2, "No such command"),
        (["crawl"], 2, "Missing argument"),
        (["crawl", "--seeds", "none.txt"], 2, "--seeds none.txt: there is no such file"),
        (["crawl", "--seeds", "-"], 2, "there is no seed"),
        (["crawl", "example.com"], 2, "Did you mean https://example.com ?"),
        (["crawl", "mailto:a@b"], 2, "not http or https"),
        (["crawl", "http://a.example/", "--scope", "moon"], 2, "'host', 'domain', 'prefix', 'any'"),
        (
            ["crawl", "http://a.example/", "--concurrency", "0"],
            2,
            "[crawl]: 0 was given; allowed",
        ),
        (
            ["crawl", "http://a.example/", "--delay", "-1"],
            2,
            "--delay: delay in [crawl]: -1.0",
        ),
        (
            ["crawl", "http://a.example/", "--policy", "nope"],
            2,
            "allowed: archive, rfc2396bis-01, rfc3986, search, web",
        ),
        (
            ["crawl", "http://a.example/", "--config", "none.toml"],
            2,
            "none.toml: cannot be read: No such file",
        ),
        (["crawl", "http://a.example/", "--connect-to", "x"], 2, "HOST:PORT:ADDRESS:PORT"),
        (["crawl", "http://a.example/", "--ca-file", "none.pem"], 2, "[fetch]"),
        (["crawl", "http://a.example/", "--store", "nonsense"], 2, "sqlite:///canonry.db"),
        (["crawl", "http://a.example/", "--store", "sqlite:////no/such/x.db"], 1, "unable to open"),
        (["crawl", "http://a.example/", "--store", "mysql://h/d"], 2, "sqlite:///canonry.db"),
        (["canon", "http://a.example/", "--policy", "none.toml"], 2, "none.toml: cannot be read"),
        (["canon", "--format", "xml"], 2, "'text', 'json', 'surt'"),
        (["canon", "x", "--base", "y"], 1, "the base is not an absolute URL"),
        (["explain"], 2, "Missing argument"),
        (["dedup"], 2, "Missing argument"),
        (["dedup", "none.txt"], 2, "there is no such file"),
        (["status"], 1, "there is no store canonry.db"),
        (["export", "pages"], 1, "there is no store canonry.db"),
        (["export", "dreams"], 2, "'merges', 'pages', 'refused', 'rules', 'urls'"),
        (["export", "pages", "--format", "xml"], 2, "'jsonl', 'csv', 'parquet'"),
        (["demo", "--policy", "nope"], 2, "allowed: archive, rfc2396bis-01, rfc3986, search, web"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_usage_gets_a_message(tmp_path: Path, words: list[str], code: int, said: str) -> None:
    done = run_command(*words, folder=tmp_path, data=b"")
    told = done.stderr.decode()
    assert done.returncode == code, told
    assert said in told
    assert "Traceback" not in told
    assert done.stdout.strip() == b""
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".db"] == []


def test_the_policy_of_archives_is_warned_of_once(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("http://a.example/a%2Fb\nhttp://www.a.example/a/b\n")
    (tmp_path / "own.toml").write_text(
        'name = "own"\nversion = 1\npractice = ["decode-escapes", "fragment"]\n'
    )
    crawl = (
        "crawl",
        "http://127.0.0.1:9/",
        "--config",
        "crawl.workers=2",
        "--store",
        "x.db",
        "--policy",
    )
    dedup = ("dedup", "in.txt", "--workers", "2", "--policy")
    for words in (crawl, dedup):
        done = run_command(*words, "archive", folder=tmp_path)
        assert done.stderr.count(b"warning: policy archive@") == 1
        assert b"--policy web or --policy search" in done.stderr
        assert b"warning" not in done.stdout
    assert done.stdout == b"http://a.example/a%2Fb\n"  # as it was told: too much is merged
    done = run_command(*dedup, "own.toml", folder=tmp_path)
    assert done.stderr.count(b"warning: policy own@1") == 1
    done = run_command(*dedup, "web", folder=tmp_path)
    assert b"warning" not in done.stderr
    done = run_command("canon", "http://a.example/", "--policy", "archive", folder=tmp_path)
    assert b"warning" not in done.stderr  # this is what it is for


def test_seeds_come_from_a_list_or_standard_input_too(tmp_path: Path) -> None:
    """Nothing listens at these addresses: what counts is which URLs are asked."""
    more = ["--connect-to", "::127.0.0.1:1", "--config", "c.toml"]
    (tmp_path / "c.toml").write_text("[fetch]\nretries = 0\n")
    (tmp_path / "seeds").write_text("# mine\nhttp://a.example/\nnonsense\n")
    words = ["crawl", "http://c.example/", "--seeds", "-", "--seeds", "seeds", *more]
    done = run_command(*words, folder=tmp_path, data=b"\nhttp://b.example/\n")
    assert b"canonry: seeds, line 3: seed: the reference is relative" in done.stderr
    listed = [row["url"] for row in exported(tmp_path, "urls")]
    assert sorted(listed) == [f"http://{name}.example/" for name in "abc"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = 'x'\n", "mine.toml: key 'version': it is missing; allowed are name, version"),
        (
            "name = 'x'\nversion = 1\npractise = []\n",
            "no key is called practise (did you mean practice?)",
        ),
        (
            "name = 'x'\nversion = 1\npractice = ['lower']\n",
            "no rule 'lower'; the rules allowed are",
        ),
        ("name = 'x/y'\nversion = 1\n", "1: key 'name'"),
        ("name = 'x'\nversion = 0\n", "2: key 'version'"),
        (
            "name = 'x'\nversion = 1\ndialect = 'php'\n",
            "mine.toml:3: key 'dialect': \"php\" was given; allowed is ",
        ),
        ("name = \n", "not TOML"),
    ],
)
def test_an_invalid_policy_gets_a_message_with_the_key(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "mine.toml").write_text(text)
    words = ["canon", "http://a.example/", "--policy", str(tmp_path / "mine.toml")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert "mine.toml" in done.output


def test_a_policy_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        "name = 'mine'\nversion = 3\npractice = ['tracking', 'fragment']\n"
        "[replace]\ntracking = ['ref']\n"
    )
    done = run_command(
        "canon", "http://a.example/?ref=1&b#c", "--policy", "mine.toml", folder=tmp_path
    )
    assert done.stdout == b"http://a.example/?b\n"


def test_exports_in_all_formats(tmp_path: Path) -> None:
    data = b"http://a.example/\nhttp://u:secret@a.example/\xc3\xa9\nmailto:x@y\n"
    assert (
        run_command(
            "dedup", "-", "--store", "sqlite:///canonry.db", folder=tmp_path, data=data
        ).returncode
        == 0
    )
    lines = run_command("export", "urls", folder=tmp_path).stdout.splitlines()
    assert [json.loads(line)["url"] for line in lines] == [
        "http://a.example/",
        "http://u:***@a.example/%C3%A9",
        "mailto:x@y",
    ]
    done = run_command("export", "urls", "--format", "csv", "-o", "out.csv", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert [row["state"] for row in rows] == ["queued", "queued", "held"]
    assert run_command("export", "pages", "--format", "csv", folder=tmp_path).stdout.startswith(
        b"url,"
    )
    done = run_command(
        "export", "urls", "--format", "parquet", "-o", "out.parquet", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    table = parquet.read_table(tmp_path / "out.parquet")
    rows_of_it = [{**row, "found_at": text_of(row["found_at"])} for row in table.to_pylist()]
    assert rows_of_it == [json.loads(line) for line in lines]
    assert str(table.schema.field("depth").type) == "int64"
    assert str(table.schema.field("found_at").type) == "timestamp[ms, tz=UTC]"
    for what, row in report.ROWS.items():
        done = run_command("export", what, "--format", "parquet", folder=tmp_path)
        assert parquet.read_table(io.BytesIO(done.stdout)).column_names == list(get_type_hints(row))
    status = json.loads(run_command("status", "--json", folder=tmp_path).stdout)
    assert status["urls"]["queued"] == 2
    assert status["policy"] == "web/1"


def test_an_export_obeys_the_ending_of_its_output(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 's.db'}"
    (tmp_path / "urls").write_bytes(b"http://a.example/1\nmailto:x@y\n")
    done = CliRunner().invoke(main, ["dedup", str(tmp_path / "urls"), "--store", store])
    assert done.exit_code == 0, done.output

    def written(name: str, *words: str) -> bytes:
        out = str(tmp_path / name)
        done = CliRunner().invoke(main, ["export", "urls", "--store", store, "-o", out, *words])
        assert done.exit_code == 0, done.output
        return (tmp_path / name).read_bytes()

    assert written("x.csv").startswith(b"url,state,")
    assert gzip.decompress(written("x.csv.gz")).startswith(b"url,state,")
    assert written("x.parquet").startswith(b"PAR1")
    for name in ("x.jsonl", "x.out", "x"):
        assert written(name).startswith(b'{"url":"http://a.example/1"')
    assert written("y.csv", "--format", "jsonl").startswith(b"{"), "a named format goes before"
    assert written("y.tsv", "--format", "csv").startswith(b"url,")
    out = str(tmp_path / "z.tsv")
    done = CliRunner().invoke(main, ["export", "urls", "--store", store, "-o", out])
    assert (done.exit_code, "exports are .jsonl, .csv or .parquet" in done.output) == (2, True)
    [found, _] = written("x.jsonl").splitlines()
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", json.loads(found)["found_at"])


def test_messages_show_no_password_of_a_store() -> None:
    store = "postgresql://u:secret@127.0.0.1:9/d"
    for words in (
        ["status"],
        ["upgrade", "--policy", "web"],
        ["canon", "http://a/"],
        ["crawl", "http://a.example/"],
    ):
        found = CliRunner().invoke(main, [*words, "--store", store])
        assert found.exit_code == 1, found.output
        assert "secret" not in found.output


_SECRET = "s3cret"  # noqa: S105 - what has to disappear


@pytest.mark.parametrize(
    "store",
    [
        f"postgresql://h.invalid/x?password={_SECRET}",
        f"postgresql://u:{_SECRET}@h.invalid/x",
        f"postgresql://u:{_SECRET}/{_SECRET}@h.invalid/x",
        f"postgresql://u:{_SECRET}@h.invalid:9x/x",
        f"postgresql://u:{_SECRET}@h.invalid/x?sslpassword={_SECRET}&no=1",
        f"mysql://u:{_SECRET}@h.invalid/x?password={_SECRET}",
    ],
)
@pytest.mark.parametrize(
    "words", [("status",), ("upgrade", "--policy", "web"), ("crawl", "http://a.example/")]
)
def test_no_error_shows_the_password_of_a_store(store: str, words: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(main, [*words, "--store", store])
    assert isinstance(shown.exception, SystemExit)
    assert shown.exit_code in {1, 2}
    assert "store" in shown.output
    assert _SECRET not in shown.output


@pytest.mark.parametrize(
    "seed",
    [
        f"http://u:{_SECRET}@ho st/",
        f"http://u:{_SECRET}/@host/",
        f"u:{_SECRET}@host.example",
        f"ftp://u:{_SECRET}@host.example/",
        f"u:x {_SECRET}@host.example",
        f"http://u:{_SECRET}@host.example:99999/",
    ],
)
def test_no_error_shows_the_password_of_a_seed(tmp_path: Path, seed: str) -> None:
    store = f"sqlite:///{tmp_path / 's.db'}"
    shown = CliRunner().invoke(main, ["crawl", seed, "--store", store])
    assert shown.exit_code == 2
    assert "seed" in shown.output
    assert _SECRET not in shown.output


def test_a_status_shows_no_password_of_a_seed(tmp_path: Path) -> None:
    """Neither of this version, nor of a store whose job an earlier one wrote."""
    store = f"sqlite:///{tmp_path / 's.db'}"
    seed = f"http://u:{_SECRET}@127.0.0.1:1/"
    words = ["crawl", seed, "--store", store, "--json", "--allow-private", "--config"]
    (tmp_path / "c.toml").write_text("[fetch]\nretries = 0\nretry_wait = 0.0\n")
    crawled = CliRunner().invoke(main, [*words, str(tmp_path / "c.toml")])
    assert '"http://u:***@127.0.0.1:1/"' in crawled.output
    with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
        job = json.dumps({"seeds": [seed, "http://b.example"], "settings": {"a": "x@y"}})
        assert _SECRET not in database.execute("SELECT settings FROM jobs").fetchone()[0]
        database.execute("UPDATE jobs SET settings = ?", (job,))
    found = CliRunner().invoke(main, ["status", "--store", store, "--json"])
    assert _SECRET not in crawled.output + found.output
    settings = json.loads(found.output)["job"]["settings"]
    shown = "http://u:***@127.0.0.1:1/"
    assert settings == {"seeds": [shown, "http://b.example"], "settings": {"a": "x@y"}}


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"".join(b"http://a.example/%d\n" % n for n in range(8_000)))
    for words in ("dedup in.txt", "dedup in.txt --store sqlite:///x.db", "canon - < in.txt"):
        done = subprocess.run(
            ["/bin/sh", "-c", f"{sys.executable} -m canonry {words} | head -n 1"],
            cwd=tmp_path,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.stdout == b"http://a.example/0\n"
        assert done.stderr == b""


def commands() -> Iterator[click.Command]:
    """Yield all commands, and those below a group."""
    waiting: list[click.Command] = [main]
    while waiting:
        command = waiting.pop()
        yield command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                waiting.append(below)


def test_every_command_and_option_has_a_help_text() -> None:
    known = list(commands())
    assert len(known) > 10
    for command in known:
        assert command.help
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.name not in {"help", "version"}:
                choice = hasattr(parameter.type, "choices")
                assert choice or parameter.help, f"{command.name} {parameter.name}"


def test_the_list_of_commands_quotes_their_own_help() -> None:
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        assert command.name == name
        assert command.get_short_help_str(limit=200).rstrip(".") == help_of(name)


@pytest.mark.parametrize("words", ["--version", "--help", "nonsense"])
def test_the_command_itself_imports_little(words: str) -> None:
    """Start-up stays fast because the packages below are not imported."""
    code = (
        "import sys; from canonry.crawler.cli.commands import main\n"
        f"try: main([{words!r}])\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    heavy = {"aiohttp", "asyncio", "numpy", "pyarrow", "pybloom_live", "rich"}
    heavy |= {"selectolax", "sqlalchemy", "sqlite3", "canonry.storage"}
    assert "canonry.canon" in done.stderr.split()
    assert heavy.isdisjoint(done.stderr.split())


def test_a_crawl_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    """What it imports is a third of its memory, and half a second of each start."""
    code = (
        "import sys; from canonry.crawler.cli.commands import main\n"
        "try: main(['crawl', 'http://127.0.0.1:1/', '--delay', '0'])\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)\n"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    loaded = {name.partition(".")[0] for name in done.stderr.splitlines()[-1].split()}
    assert {"aiohttp", "sqlalchemy"} < loaded
    assert loaded.isdisjoint({"jinja2", "numpy", "pyarrow", "warcio"})


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["dedup", "urls.txt"], {"numpy"}),
        (["canon", "http://a.example/"], set()),
        (["explain", "http://a.example/"], set()),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_what_uses_no_store_imports_no_database(
    tmp_path: Path, words: list[str], more: set[str]
) -> None:
    """Most of these jobs are small, and their start is all that they take."""
    (tmp_path / "urls.txt").write_text("http://a.example/\nhttp://A.example/\n")
    code = (
        "import sys; from canonry.crawler.cli.commands import main\n"
        f"try: main({words!r})\n"
        "except SystemExit as end: print(end.code, *sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=60, check=True
    )
    code, *loaded = done.stderr.decode().splitlines()[-1].split()
    assert code == "0"
    assert more | {"canonry.canon"} <= set(loaded)
    assert {"aiohttp", "asyncio", "pyarrow", "sqlalchemy", "sqlite3"}.isdisjoint(loaded)


def test_the_version_tells_whether_the_kernel_is_compiled(tmp_path: Path) -> None:
    said = run_command("--version", folder=tmp_path).stdout.decode()
    here = "compiled" if is_compiled() else "not compiled"
    assert re.fullmatch(rf"canonry, version [0-9.]+, {here}.*\n", said)
    code = (
        "import sys; sys.modules['canonry.canon.pipeline._kernel'] = None\n"
        "from canonry.crawler.cli.commands import main; main(['--version'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert b"not compiled, so slower" in done.stdout
    code = (
        "import sys; from canonry.crawler.cli.commands import main\n"
        "try: main(['--version'])\nfinally: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    loaded = set(done.stdout.decode().split())
    assert {"canonry.canon.learned", "canonry.canon.arrow_columns"}.isdisjoint(loaded)
    store = tmp_path / "s.db"
    run_command("dedup", "-", "--store", str(store), folder=tmp_path, data=b"http://a.example/\n")
    said = run_command("status", "--store", str(store), folder=tmp_path).stderr.decode()
    assert re.fullmatch(rf"canonry [0-9.]+, {here}.*\n", said)


def test_policies_are_listed_shown_and_checked(tmp_path: Path) -> None:
    listed = run_command("policy", "list", folder=tmp_path).stdout.splitlines()
    assert b"archive@1" in listed
    every = json.loads(run_command("policy", "list", "--json", folder=tmp_path).stdout)["policies"]
    shown = json.loads(run_command("policy", "show", "web", "--json", folder=tmp_path).stdout)
    assert shown == next(one for one in every if one["name"] == "web")
    assert shown["rules"][-1] == "fragment"
    text = 'name = "mine"\nversion = 2\nextends = "web@1"\n[add]\ntracking = ["ref"]\n'
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "bad.toml").write_text(text.replace("ref", "Ref"))
    done = run_command("policy", "check", "mine.toml", folder=tmp_path)
    assert done.returncode == 0
    assert b"mine@2: " in done.stdout
    assert b"tracking: + ref" in done.stdout
    done = run_command("policy", "check", "bad.toml", "mine.toml", folder=tmp_path)
    assert done.returncode == 2
    assert b"bad.toml:5: key 'tracking' in [add]: names are compared in lower case" in done.stderr
    assert b"tracking: + ref" in done.stdout
    assert b"mine@2" in run_command("policy", "show", "mine.toml", folder=tmp_path).stdout
    for name, sentence in (
        ("web", "web is a preset, and needs no check"),
        ("any.py", "any.py: the name of a policy's file has to end in .toml"),
    ):
        done = run_command("policy", "check", name, folder=tmp_path)
        assert (done.returncode, done.stderr.count(sentence.encode())) == (2, 1)
    (tmp_path / "mypol").write_text(text)
    done = run_command("canon", "http://a.example/", "--policy", "./mypol", folder=tmp_path)
    assert done.returncode == 2
    assert b"policy ./mypol: the name of a policy's file has to end in .toml" in done.stderr
