"""Fuzz the library with atheris: no error but InvalidURL, no hang, the laws of canonical forms.

pip install atheris
python tests/fuzz/canonicalize.py -max_total_time=3600 -timeout=5 -max_len=400
"""

import sys

import atheris

with atheris.instrument_imports(include=["canonry.canon"]):
    import canonry
    from canonry.canon.policies import preset_names
    from canonry.canon.references.resolve import DIALECTS

MAKERS = [canonry.Canonicalizer(name) for name in preset_names()]


def once(data: bytes) -> None:
    """Try one input, as bytes and as text, alone and against a base."""
    reference, _, base = data.partition(b"\xff")
    for make in MAKERS:
        try:
            found = make(reference)
        except canonry.InvalidURL:
            continue
        assert make.plain(reference) == found
        assert make(found.identity).identity == found.identity
        assert make.explain(reference).identity == found.identity
    text = base.decode("utf-8", "surrogateescape")
    for dialect in DIALECTS:
        try:
            target = canonry.resolve(reference, text, dialect=dialect)
            read = canonry.interpret(target)
            assert canonry.interpret(target, strict=True) == read
        except canonry.InvalidURL:
            continue
    canonry.cautions(reference)
    for found_url in canonry.extract(reference):
        assert found_url.start <= found_url.end


if __name__ == "__main__":
    atheris.Setup(sys.argv, once)
    atheris.Fuzz()
