"""Stored heads: the same parts come back, and what is no head is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from compositor.context.transcript.stored_head import decode_head, encode_head
from compositor.errors import TranscriptFormatError
from compositor.types.provenance import Attribution, Fragment, Lane, Lifetime, Omission, Source
from compositor.types.request import HeadParts, HeadTool
from compositor.types.tools import Concurrency, ToolDefinition, ToolOrigin

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
sources = st.builds(Source, texts, texts, st.none() | texts, st.none() | st.integers(0, 10**6))
origins = st.builds(Attribution, sources, st.sampled_from(Lane), st.sampled_from(Lifetime), texts)
fragments = st.builds(Fragment, texts, origins)
provided = st.builds(
    ToolDefinition,
    name=texts,
    description=st.just(""),
    input_schema=st.just(Raw(b"{}")),
    provider=st.sampled_from(["web_search_20250305"]),
    settings=st.sampled_from([Raw(b"{}"), Raw(b'{"max_uses":8}')]),
)
definitions = provided | st.builds(
    ToolDefinition,
    name=texts,
    description=texts,
    input_schema=st.sampled_from([Raw(b'{"type":"object"}'), Raw(b'{"b":1,"a":[1.0,2e3]}')]),
    origin=st.sampled_from(ToolOrigin),
    concurrency=st.sampled_from(Concurrency),
    deferred=st.booleans(),
    read_only=st.booleans(),
)
parts = st.builds(
    HeadParts,
    tools=st.lists(st.builds(HeadTool, definitions, origins), max_size=2).map(tuple),
    system=st.lists(st.lists(fragments, max_size=2).map(tuple), max_size=2).map(tuple),
    context=st.lists(fragments, max_size=2).map(tuple),
    omissions=st.lists(st.builds(Omission, texts, texts, texts, st.none() | sources), max_size=2).map(tuple),
)


@pytest.mark.req("R424")
@given(parts)
def test_the_parts_come_back_from_their_bytes(head: HeadParts) -> None:
    data = encode_head(head)
    assert decode_head(data) == head
    assert encode_head(decode_head(data)) == data
    assert b"\n" not in data


def test_lone_surrogates_are_repaired() -> None:
    origin = Attribution(Source("memory"), Lane.SYSTEM, Lifetime.SESSION)
    head = HeadParts(context=(Fragment("a\ud800", origin),))
    assert decode_head(encode_head(head)).context[0].text == "a\ufffd"


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"version":0,"tools":[{}]}', b"[" * 100_000])
def test_what_is_no_head_is_refused(data: bytes) -> None:
    with pytest.raises(TranscriptFormatError, match="cannot be read"):
        decode_head(data)


def test_a_head_of_a_later_version_is_refused_by_number() -> None:
    with pytest.raises(TranscriptFormatError, match="version 7") as refused:
        decode_head(b'{"version":7}')
    assert refused.value.version == "7"
