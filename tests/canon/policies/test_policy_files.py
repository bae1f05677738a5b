"""A user's own policy: what it extends, what it adds and removes, and errors with the line."""

import pytest
from support.tables import each

import canonry
from canonry.canon.learned import loads
from canonry.canon.policies import PolicyError, from_toml, line_of, preset

_HEAD = 'name = "mine"\nversion = 1\nextends = "web@1"\n'


def test_an_extended_policy_has_all_of_the_preset() -> None:
    mine, web = from_toml(_HEAD, "mine.toml"), preset("web@1")
    assert mine.label == "mine/1"
    assert (mine.practice, mine.lists, mine.dialect) == (web.practice, web.lists, web.dialect)
    assert mine.fingerprint != web.fingerprint


def test_lists_are_added_to_removed_from_and_replaced() -> None:
    text = f"""{_HEAD}
[add]
practice = ["index-file"]
tracking = ["ref"]
[remove]
practice = ["empty-query"]
tracking = ["fbclid"]
[replace]
index_files = ["start.html"]
"""
    mine, web = from_toml(text, "mine.toml"), preset("web@1")
    assert mine.practice == {"tracking", "fragment", "index-file"}
    assert mine.tracking == (web.tracking | {"ref"}) - {"fbclid"}
    assert mine.index_files == {"start.html"}
    make = canonry.Canonicalizer(mine)
    assert make.identity("http://a.example/start.html?ref=1&gclid=3#x") == "http://a.example/"
    assert make.identity("http://a.example/?ref=1&fbclid=2") == "http://a.example/?fbclid=2"


def test_without_a_preset_it_has_the_shared_lists() -> None:
    mine = from_toml('name = "mine"\nversion = 1\npractice = ["tracking"]\n', "mine.toml")
    assert mine.lists == preset("web@1").lists


@each(
    ("more", "said"),
    [
        ('tracking = ["ref"]\n', "mine.toml:4: key 'tracking': say what to do with the list"),
        ('practice = ["www"]\n', "mine.toml:4: key 'practice': 'extends' brings it along"),
        ('[add]\ntracking = "ref"\n', "mine.toml:5: key 'tracking' in [add]: \"ref\" was given"),
        ('[add]\ntraking = ["ref"]\n', "5: key 'traking' in [add]: no key is called traking (did"),
        ('[add]\ntracking = [\n "a",\n "Ref",\n]\n', "mine.toml:7: key 'tracking' in [add]: names"),
        ('[add]\ntracking = ["a", ""]\n', "mine.toml:5: key 'tracking' in [add]: an empty name"),
        ('\n[remove]\ntracking = [\n "gclid",\n "gcld"]\n', "mine.toml:8: key 'tracking' in [rem"),
        ('[remove]\npractice = ["www"]\n', "'www' is not in the list of web@1"),
        ('[add]\npractice = ["lower"]\n', "mine.toml:5: key 'practice' in [add]: no rule 'lower'"),
        ('add.practice = ["lower"]\n', "mine.toml:4: key 'practice' in [add]: no rule 'lower'"),
        ('[add]\nsession = ["a"]\n[replace]\nsession = []\n', "7: key 'session' in [replace]: a"),
        ('[add]\nsession = []\n[replace]\nsession = ["a"]\n', "7: key 'session' in [replace]: a"),
        ('add = ["ref"]\n', "mine.toml:4: key 'add': "),
        ("nonsense = 1\n", "mine.toml:4: key 'nonsense': no key is called nonsense; allowed are"),
    ],
)
def test_an_error_names_the_line_the_key_and_what_is_allowed(more: str, said: str) -> None:
    with pytest.raises(PolicyError) as error:
        from_toml(_HEAD + more, "mine.toml")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name = "mine"\nversion = 1\nextends = "web"\n', "3: key 'extends': name its version"),
        (
            'name = "mine"\nversion = 1\nextends = "web@99"\n',
            "3: key 'extends': no policy 'web@99'",
        ),
        (
            'name = "mine"\nversion = 1\nextends = "a.toml"\n',
            "no policy 'a.toml'; allowed: archive",
        ),
        ('name = "web"\nversion = 1\n', "mine.toml:1: key 'name': 'web' is the name of a preset"),
        ('version = 1\n"name" = "a@b"\n', "mine.toml:2: key 'name': 1 to 48 ASCII characters"),
        ("name = \n", "mine.toml: not TOML: Invalid value (at line 1"),
    ],
)
def test_an_error_of_the_head(text: str, said: str) -> None:
    with pytest.raises(PolicyError) as error:
        from_toml(text, "mine.toml")
    assert said in str(error.value)


@pytest.mark.parametrize(
    "name", ["web/2", "web/", "nope/1", "web@2", "web@", "web@01", "@1", "nope", ""]
)
def test_versions_that_are_not_there(name: str) -> None:
    with pytest.raises(PolicyError, match="no policy"):
        preset(name)


def test_a_version_has_two_spellings() -> None:
    assert preset("web/1") is preset("web@1")
    mine = from_toml('name = "mine"\nversion = 2\nextends = "search/1"\n', "mine.toml")
    assert (mine.label, mine.versioned_name) == ("mine/2", "mine@2")
    assert mine.practice == preset("search@1").practice
    rules = canonry.RuleSet([], "search@1")
    assert '"policy": "search/1"' in rules.dumps()  # in files, it stays as it is
    again = loads(rules.dumps().replace("search/1", "search@1"))
    assert again.policy == "search/1"
    assert canonry.Canonicalizer("search/1", again).policy.label == "search/1"


def test_lines_of_keys() -> None:
    text = 'a = 1\n[t]\n"b" = [\n  "x",\n  "y",\n]\nc = "a = 1"\n[u.v]\nd = 1\n'
    assert line_of(text, ["a"]) == 1
    assert line_of(text, ["t", "b"]) == 3
    assert line_of(text, ["t", "b"], "y") == 5
    assert line_of(text, ["t", "b"], "none") == 3
    assert line_of(text, ["u", "v", "d"]) == 9
    assert line_of(text, ["nope"]) == 0
    assert (
        line_of('[hosts."a.example"]\nx.y = 1\nz = { a = 1 }\n', ["hosts", "a.example", "x", "y"])
        == 2
    )
    assert line_of("z = { a = 1 }\n", ["z", "a"]) == 1
    lists = 'a = [\n  ["x", "y"],\n]\nb = 1\n[t]\nc = 2\n'  # a list is no table's head
    assert (line_of(lists, ["b"]), line_of(lists, ["t"]), line_of(lists, ["t", "c"])) == (4, 5, 6)
