"""The token counter: pictures by their size and not by their base64, calibration, the upper bound."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from compositor.context.compaction.budget import next_size
from compositor.context.head import compile_head
from compositor.context.messages.legality import WireContext
from compositor.context.prefix import empty_prefix, extend
from compositor.context.tokens import MARGIN, calibrate, estimate_tokens, image_tokens
from compositor.types.blocks import TextBlock
from compositor.types.entries import AssistantEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.request import HeadParts
from compositor.types.snapshot import Facts
from compositor.types.usage import Usage

TIME = "2026-11-30T12:00:00.000Z"


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        (28, 28, 1),
        (29, 28, 2),
        (200, 200, 64),  # ceil(200 / 28) = 8 on each side
        (1092, 1092, 1521),
        (8000, 8000, 4784),  # made small enough first, and then at the cap
    ],
)
def test_a_picture_costs_what_the_documentation_says(width: int, height: int, tokens: int) -> None:
    """Wire page 9.2: ceil(w / 28) * ceil(h / 28), at most 4784, the long edge at most 2576."""
    assert image_tokens(width, height) == tokens


def test_the_base64_of_a_picture_is_not_counted_as_text() -> None:
    file = io.BytesIO()
    Image.effect_noise((280, 280), 100).save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode()
    assert len(data) > 50_000
    source = {"type": "base64", "media_type": "image/png", "data": data}
    block = bytes(raw_json({"type": "image", "source": source}))
    empty = bytes(raw_json({"type": "image", "source": {**source, "data": ""}}))
    assert estimate_tokens(block) - estimate_tokens(empty) == 100
    # Its price is known: what was learned of texts does not change it.
    assert estimate_tokens(block, 2.0) - estimate_tokens(empty, 2.0) == 100


def test_text_that_speaks_of_base64_is_still_text() -> None:
    words = b'{"type":"text","text":"the word base64 and \\"data\\": \\"short\\""}'
    assert estimate_tokens(words) == estimate_tokens(words.replace(b"base64", b"basexx").replace(b"xx", b"64"))
    assert estimate_tokens(words * 50) > 40 * estimate_tokens(words)


def test_a_session_learns_what_its_tokens_cost() -> None:
    """Reported half as many again, each time: the scale comes near 1.5 and stays there."""
    scale = 1.0
    for _ in range(20):
        scale = calibrate(scale, round(1_000 * scale), 1_500)
    assert scale == pytest.approx(1.5, rel=0.01)


def test_the_next_size_is_what_was_reported_and_an_upper_bound_of_what_is_new() -> None:
    prefix = empty_prefix(compile_head(HeadParts()), Facts(model="m"), WireContext())
    asked = UserEntry(uuid="u1", parent=None, time=TIME, content=(TextBlock("old " * 500),))
    before = extend(prefix, [asked])
    answer = AssistantEntry(
        uuid="a1",
        parent="u1",
        time=TIME,
        message_id="m1",
        model="m",
        content=(TextBlock("yes"),),
        stop_reason="end_turn",
        usage=Usage(input_tokens=5_000, output_tokens=70),
        prefix_digest=before.view_digest,
    )
    new = UserEntry(uuid="u2", parent="a1", time=TIME, content=(TextBlock("new words " * 400),))
    after = extend(before, [answer, new])
    added = next_size(after) - 5_070
    assert 500 < added < 2_000
    assert next_size(after, margin=MARGIN) - 5_070 == round(added * MARGIN)
