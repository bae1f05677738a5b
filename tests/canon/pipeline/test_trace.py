"""Traces: what each rule did, as plain data and with what to look at twice."""

import canonry
from canonry.canon.inspect.cautions import Caution
from canonry.canon.pipeline.canonical import changed_part

WEB = canonry.Canonicalizer("web")


def test_a_trace_as_plain_data() -> None:
    trace = WEB.explain("HTTP://a:b@h.example/x")
    assert trace.as_dict() == {
        "text": "HTTP://a:b@h.example/x",
        "policy": trace.policy,
        "url": "http://a:b@h.example/x",
        "identity": "http://a:b@h.example/x",
        "key": trace.key.hex(),
        "cautions": [caution.value for caution in trace.cautions],
        "steps": [
            {
                "name": "scheme-case",
                "before": "HTTP://a:b@h.example/x",
                "after": "http://a:b@h.example/x",
                "rung": "syntax",
                "cites": trace.steps[0].cites,
                "lossless": True,
                "why": trace.steps[0].why,
            }
        ],
    }
    assert Caution.PASSWORD in trace.cautions


def test_cautions_are_about_what_was_given() -> None:
    """A reference has none of its own: then they are about what it leads to."""
    assert WEB.explain("//a:b@h.example/", "http://x.example/").cautions
    assert not WEB.explain("/a", "http://x.example/").cautions


def test_without_a_browser_resolution_is_the_first_step() -> None:
    trace = canonry.Canonicalizer("rfc3986").explain("../B", "HTTP://a.example/c/d")
    names = [(step.name, step.after) for step in trace.steps]
    assert names[0] == ("resolve", "HTTP://a.example/B")
    assert names[-1] == ("scheme-case", "http://a.example/B")
    assert [step.name for step in WEB.explain("../B", "http://a.example/c/d").steps] == ["resolve"]


def test_the_changed_part() -> None:
    assert changed_part("http://a/b", "https://a/b") == ("", "s")
