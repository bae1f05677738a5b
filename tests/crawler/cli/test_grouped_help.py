"""The help shows each command and option once, in groups, and settings with their sources."""

import json
from pathlib import Path

from click import Option
from click.testing import CliRunner
from support.ports import free_port

from canonry.crawler.cli.commands import COMMANDS, GROUPS, main
from canonry.crawler.cli.crawl.crawl_command import crawl
from canonry.crawler.cli.setting_options import by_section


def shown(*words: str, env: dict[str, str] | None = None) -> str:
    """Return what a command prints, with single blanks."""
    done = CliRunner().invoke(main, words, env=env)
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split())


def test_each_command_is_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(COMMANDS)
    assert " A store: status Show what a store holds " in shown("--help")


def test_each_option_of_a_crawl_is_in_one_group() -> None:
    grouped = [name for names in crawl.groups.values() for name in names]
    assert len(grouped) == len(set(grouped))
    options = [one for one in crawl.params if isinstance(one, Option)]
    assert {one.name for one in options if not one.hidden} == set(grouped) - {"help"}
    assert len(grouped) - 1 <= 28


def test_options_that_scripts_have_go_on_working(tmp_path: Path) -> None:
    """The help does not list them: settings say the same."""
    told = shown("crawl", "--help")
    for option in ("--recrawl-after", "--log", "--workers", "--no-learn", "--token-file"):
        assert option not in told
    (tmp_path / "t").write_text("a long token\n", encoding="utf-8")
    given = [
        *("--recrawl-after", "7d", "--log", "l", "--workers", "2", "--no-learn"),
        *("--serve", "0", "--token-file", str(tmp_path / "t"), "--max-pages", "wrong"),
    ]
    done = CliRunner().invoke(main, ["crawl", "http://a.example/", *given])
    assert "Invalid value for '--max-pages'" in done.output
    command = crawl.make_context("crawl", ["http://a.example/", *given[:-2]])
    assert by_section(command.params)["crawl"] == {
        "recrawl_after": "7d",
        "log": "l",
        "workers": 2,
    }
    assert by_section(command.params)["learn"] == {"enabled": False}
    assert command.params["token_file"] == str(tmp_path / "t")


def test_the_defaults_are_those_of_the_settings() -> None:
    told = shown("crawl", "--help")
    assert "from the moment when the first is sent. [default: 1]" in told
    assert "Follow at most this many links from a seed. [default: no limit]" in told
    assert "loopback, private, link-local ...). [default: no]" in told


def test_settings_tell_their_sources_and_no_secrets(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        '[crawl]\ndelay = 2.5\n\n[fetch]\nproxy = "http://me:secret@p.example:8080"\n'
        '[hosts."a.example"]\ndelay = 9.0\nheaders = ["X-Key: secret"]\n',
        encoding="utf-8",
    )
    env = {"CANONRY_CRAWL_CONTACT": "ops@b.example", "CANONRY_CRAWL_DELAY": "3.5"}
    told = shown("settings", "--config", str(file), env=env)
    assert "crawl.delay 3.5 CANONRY_CRAWL_DELAY" in told  # it overrides the file
    assert 'crawl.contact "ops@b.example" CANONRY_CRAWL_CONTACT' in told
    as_json = shown("settings", "--config", str(file), "--json")
    assert f'"value":2.5,"source":"{file}, line 2"' in as_json.replace(": ", ":").replace(
        ', "', ',"'
    )
    for text in (told, as_json):
        assert "secret" not in text
        assert "a.example" in text


def test_wrong_settings_are_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[crawl]\ndelay = -1\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["settings", "--config", str(file)])
    assert done.exit_code == 2
    assert "mine.toml, line 2" in done.stderr


def test_options_that_are_not_given_leave_settings_alone(tmp_path: Path) -> None:
    """An empty list of options is no list: what a variable or a file says holds."""
    env = {"CANONRY_CRAWL_PURPOSE": "tdm", "CANONRY_FETCH_RETRIES": "0"}
    store = ["--store", str(tmp_path / "c.db")]
    seed = f"http://127.0.0.1:{free_port()}/"
    done = CliRunner().invoke(main, ["crawl", seed, "--allow-private", *store], env=env)
    assert done.exit_code == 4
    job = json.loads(CliRunner().invoke(main, ["status", "--json", *store]).stdout)["job"]
    assert job["settings"]["settings"]["crawl"]["purpose"] == ["tdm"]
