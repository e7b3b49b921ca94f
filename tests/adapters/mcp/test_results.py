"""What servers send, and what the model reads of it."""

import base64
import io

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from compositor.adapters.mcp.results import always_loads, blocks_of, cut_bytes, definition_of, limited, own_limit
from compositor.types.blocks import ImageBlock, TextBlock
from compositor.types.tools import Concurrency


def tool(**fields):
    return mcp_types.Tool.model_validate({"name": "a b", "inputSchema": {"type": "object"}, **fields})


def content(*parts):
    return mcp_types.CallToolResult.model_validate({"content": list(parts)}).content


def png():
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2)).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def test_a_definition_keeps_the_real_name_and_the_hint_decides_what_runs_side_by_side():
    plain = definition_of(tool(description="Does."), "my server")
    assert plain.name == "mcp__my server__a b"
    assert plain.deferred
    assert plain.concurrency is Concurrency.EXCLUSIVE
    reader = definition_of(tool(annotations={"readOnlyHint": True}, title="Reads"), "s")
    assert (reader.concurrency, reader.read_only, reader.description) == (Concurrency.SHARED, True, "Reads")


def test_limits_and_exceptions_stand_in_the_meta_of_a_tool():
    special = tool(_meta={"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": 9_000_000})
    assert always_loads(special)
    assert own_limit(special) == 500_000
    assert not always_loads(tool())
    assert own_limit(tool(_meta={"anthropic/maxResultSizeChars": "much"})) is None


def test_every_kind_of_content_is_shown_or_named():
    blocks = blocks_of(
        content(
            {"type": "text", "text": "plain"},
            {"type": "image", "data": png(), "mimeType": "image/png"},
            {"type": "image", "data": base64.b64encode(b"none").decode(), "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "x://a", "name": "a", "mimeType": "text/css"},
            {"type": "resource", "resource": {"uri": "x://b", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "x://c", "blob": png(), "mimeType": "image/png"}},
            {"type": "resource", "resource": {"uri": "x://d", "blob": "AAAA", "mimeType": "application/pdf"}},
        )
    )
    assert [type(block) for block in blocks] == [
        TextBlock,
        ImageBlock,
        TextBlock,
        TextBlock,
        TextBlock,
        TextBlock,
        ImageBlock,
        TextBlock,
    ]
    texts = [block.text for block in blocks if isinstance(block, TextBlock)]
    assert texts[0] == "plain"
    assert "cannot be shown" in texts[1]
    assert "'audio' cannot be shown" in texts[2]
    assert texts[3] == "[Resource x://a (text/css)]"
    assert texts[4] == "[Resource x://b]\ninside"
    assert "'application/pdf'" in texts[5]


@pytest.mark.parametrize(
    ("size", "characters", "moved"),
    [(10, None, False), (200_000, None, True), (200_000, 300_000, False), (11, 10, True)],
)
def test_a_tool_s_own_limit_wins_over_the_common_one(tmp_path, size, characters, moved):
    blocks = (
        TextBlock("x" * size),
        ImageBlock(source=blocks_of(content({"type": "image", "data": png(), "mimeType": "image/png"}))[0].source),
    )
    shown, path = limited(blocks, folder=str(tmp_path), name="n", tokens=25_000, characters=characters)
    assert (path is not None) is moved
    assert isinstance(shown, tuple)
    assert isinstance(shown[1], ImageBlock)
    if path is not None:
        assert (tmp_path / path.rsplit("/", 1)[1]).read_text() == "x" * size


@given(st.text(max_size=3_000), st.integers(10, 2_048))
def test_texts_are_cut_between_characters(text, limit):
    cut = cut_bytes(text, limit)
    assert len(cut.encode()) <= limit
    assert cut == text or cut.endswith("…")
