"""datatrove's exact dedup, with the keys of URLs."""

from pathlib import Path

import pytest

pytest.importorskip("datatrove.pipeline.dedup.exact_dedup", exc_type=ImportError)

from datatrove.data import Document
from datatrove.pipeline.dedup.exact_dedup import (
    ExactDedupConfig,
    ExactDedupFilter,
    ExactDedupSignature,
    ExactFindDedups,
)
from datatrove.utils.hashing import HashConfig

from canonry.datatrove import url_key

URLS = [
    "http://a.example/p?utm_source=x",
    "http://A.example/p#top",
    "http://a.example/P",
    "http://[refused",
    "http://[refused",
    "http://[other",
    None,
    None,
    "",
]


def documents() -> list[Document]:
    return [
        Document(text="", id=str(n), metadata={} if url is None else {"url": url})
        for n, url in enumerate(URLS)
    ]


@pytest.mark.parametrize("hashed", ["xxhash", "sha1"])
def test_a_dedup_keeps_one_document_of_each_resource(tmp_path: Path, hashed: str) -> None:
    pytest.importorskip(hashed if hashed == "xxhash" else "hashlib")
    config = ExactDedupConfig(
        content_getter=url_key(),
        hash_config=HashConfig(hash_fc=hashed),  # type: ignore[arg-type]
    )
    signatures, duplicates = str(tmp_path / "signatures"), str(tmp_path / "duplicates")
    ExactDedupSignature(signatures, config)(documents(), rank=0, world_size=1)
    ExactFindDedups(signatures, duplicates, config=config)(rank=0, world_size=1)
    kept = ExactDedupFilter(duplicates, config=config)(documents(), rank=0, world_size=1)
    assert [document.id for document in kept] == ["0", "2", "3", "5", "6", "7", "8"]


def test_the_url_may_have_another_name_and_rules_apply() -> None:
    rules = """{"format": "canonry-rules", "version": 1, "policy": "search/2", "rules": [
        {"host": "a.example", "family": "letter-case"}]}"""
    from canonry import Canonicalizer  # noqa: PLC0415 - the policy's version of today

    rules = rules.replace("search/2", Canonicalizer("search").policy.label)
    content = url_key("search", rules, field="source")
    one, two = (
        Document("", n, metadata={"source": f"http://a.example/{n}?{query}"})
        for n, query in (("p", "b=1&a=2"), ("P", "a=2&b=1"))
    )
    assert content(one) == content(two)
    assert len(content(one)) == 16
