"""The kernel gives the same answers on processors that have fewer instructions than this one."""

import shutil
import subprocess
import sysconfig
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from itertools import accumulate
from pathlib import Path

import pytest

import canonry
from canonry.canon.pipeline import native
from canonry.canon.pipeline.canonical import Canonical

_INCLUDE = Path(sysconfig.get_path("include"))
pytestmark = [
    pytest.mark.skipif(not native.is_compiled(), reason="needs the compiled kernel"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler"),
    pytest.mark.skipif(not (_INCLUDE / "Python.h").exists(), reason="needs Python's headers"),
]
# Whether a processor has an instruction set: "avx2" has a 2 as its fourth letter, "avx512bw" a 5.
_PROCESSORS = {"avx2": "((x)[3] == 50)", "plain": "0"}
_SOURCES = sorted(map(str, (Path(__file__).parents[3] / "canon" / "pipeline").glob("_*.c")))
_HOSTS = ["a.b", "A.b", "a..b", "xn--a", "1.2.3.4", "1.2.3", "a:80", "a_b-c.d", "é.b", "u@a"]
_ENDS = """
/ /b%2Fc /b%2fc /b%7E /./ /a/../b /.b /b/ /b?c=1&d=2 /?utm_source=x&b=1 /?a&gclid=1 /b?a%41 /?
/b?c#d /b|c /b?c/d:e@f /%
"""


def _urls() -> list[bytes]:
    """Return URLs of all sizes up to some blocks of a hash, in which each thing is everywhere."""
    made = []
    for size in range(140):
        for at, end in enumerate(_ENDS.split()):
            host = _HOSTS[(size + at) % len(_HOSTS)] if at % 3 == 0 else "a.example"
            made.append(f"http{'s' * (at % 2)}://{host}/{'x' * size}{end}")
            made.append(f"http://{'h' * (size % 70)}{host}{end}{size * 'y'}")
    made += [f"https://a.example/{'z' * size}" for size in range(140, 900, 7)]
    return [url.encode() for url in made]


@pytest.fixture(scope="module", params=_PROCESSORS)
def narrow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> type:
    """Return the class of a kernel that believes to run on another processor."""
    file = tmp_path_factory.mktemp(request.param) / "_kernel.so"
    supports = f"-D__builtin_cpu_supports(x)={_PROCESSORS[request.param]}"
    command = ["gcc", "-shared", "-fPIC", f"-I{_INCLUDE}", supports, *_SOURCES, "-o", str(file)]
    subprocess.run(command, check=True)
    name = "canonry.canon.pipeline._kernel"
    spec = spec_from_file_location(name, file, loader=ExtensionFileLoader(name, str(file)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: type = module.Kernel
    return found


@pytest.mark.parametrize("policy", ["web", "search", "archive"])
def test_fewer_instructions_give_the_same_answers(
    policy: str, narrow: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = canonry.Canonicalizer(policy).native
    assert ours is not None
    monkeypatch.setattr(native, "Kernel", narrow)
    theirs = native.kernel(canonry.Canonicalizer(policy).policy, Canonical)
    assert theirs is not None
    assert isinstance(theirs, narrow)
    assert not isinstance(ours, narrow)
    urls = _urls()
    assert theirs.canonicals([*urls]) == ours.canonicals([*urls])

    block = b"\n".join(urls), len(urls)
    found = ours.lines(*block)
    assert theirs.lines(*block) == found
    rules = memoryview(found[2]).cast("i").tolist()
    assert 0 < rules.count(-2) < len(urls)
    assert any(rule > 0 for rule in rules)

    offsets = b"".join(end.to_bytes(4, "little") for end in accumulate(map(len, urls), initial=0))
    rows = b"".join(urls), offsets, False, None, 0, True, bytearray, lambda _row: None
    assert theirs.column(*rows) == ours.column(*rows)
