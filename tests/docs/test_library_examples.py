"""Every public function of the library has an example in its docstring, and it runs."""

import doctest
from inspect import isfunction

from support.tables import each

import canonry

FUNCTIONS = {
    name: getattr(canonry, name)
    for name in canonry.canon.__all__
    if isfunction(getattr(canonry, name))
}
SHOWN = {
    **FUNCTIONS,
    "Canonicalizer": canonry.Canonicalizer,
    "columns.canonicalize": canonry.columns.canonicalize,
}


@each("name", SHOWN)
def test_the_example_of_a_docstring_runs(name: str) -> None:
    text = SHOWN[name].__doc__ or ""
    found = doctest.DocTestParser().get_doctest(text, {"canonry": canonry}, name, None, 0)
    assert any(example.want for example in found.examples), "an example, with its result"
    report: list[str] = []
    result = doctest.DocTestRunner().run(found, out=report.append)
    assert result.failed == 0, "".join(report)


def test_there_are_functions() -> None:
    assert len(FUNCTIONS) > 12
