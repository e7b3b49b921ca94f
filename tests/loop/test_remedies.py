"""Which refusals are understood: the lane, the marker and the image are told apart, and an unknown one is none of them (R225)."""

from __future__ import annotations

import pytest

from compositor.context.finish import finish
from compositor.context.messages.refused_images import image_digest
from compositor.context.prefix import empty_prefix, extend
from compositor.context.wire.failure import HTTPFailure
from compositor.loop.remedies import (
    DropLane,
    DropTurnScope,
    Remedy,
    ReplaceImages,
    SpareSystemMarkers,
    find_remedy,
)
from compositor.types.attachments import TextAttachment
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, AttachmentEntry, TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.request import Compiled
from compositor.types.snapshot import Facts
from tests.properties.building import BARE, OPTIONS, WIRE
from tests.properties.bulk import picture
from tests.properties.strategies import MODEL, TIME

SMALL, TALL, WIDE = picture(90, 90), picture(1170, 2532), picture(2532, 1170)


def note(uuid: str, kind: str) -> AttachmentEntry:
    return AttachmentEntry(uuid=uuid, parent=None, time=TIME, attachment=TextAttachment(kind=kind, text="news"))


def compiled() -> Compiled:
    """0 user with two images, 1 assistant with a call, 2 user with a result that holds an image, 3 system, 4 system for this turn."""
    entries: tuple[TranscriptEntry, ...] = (
        UserEntry(uuid="u1", parent=None, time=TIME, content=(TALL, SMALL, TextBlock("look"))),
        AssistantEntry(
            uuid="a1",
            parent=None,
            time=TIME,
            message_id="m",
            model=MODEL,
            content=(ToolUseBlock("t1", "Read", raw_json({})),),
            stop_reason="tool_use",
        ),
        UserEntry(
            uuid="u2", parent=None, time=TIME, content=(ToolResultBlock("t1", (TextBlock("x"), WIDE)), TextBlock("on"))
        ),
        note("n1", "date_change"),
        note("n2", "budget"),
    )
    facts = Facts(model=MODEL, system_role=True, turn_scoped=True)
    return finish(extend(empty_prefix(BARE, facts, WIRE), entries), OPTIONS)


def refusal(message: str, *, status: int = 400, code: str | None = None, paths: tuple[str, ...] = ()) -> HTTPFailure:
    return HTTPFailure(status=status, type="invalid_request_error", message=message, error_code=code, paths=paths)


UNDERSTOOD: list[tuple[HTTPFailure, Remedy | None]] = [
    (refusal("role 'system' is not supported on this model"), DropLane()),
    (
        refusal('messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter'),
        DropLane(),
    ),
    (refusal("messages.3.role: Input should be 'user' or 'assistant'"), DropLane()),
    (refusal("messages.0.role: Input should be 'user' or 'assistant'"), None),
    (refusal("messages.3.content.0.text.cache_control: Extra inputs are not permitted"), SpareSystemMarkers()),
    (refusal("messages.2.content.0.cache_control: Extra inputs are not permitted"), None),
    (refusal("messages.4.clear_at: Extra inputs are not permitted"), DropTurnScope()),
    (refusal("messages.3.clear_at: Extra inputs are not permitted"), None),
    (
        refusal("messages.0.content.0.image.source.base64.data: Could not process image"),
        ReplaceImages((image_digest(TALL),)),
    ),
    (
        refusal("messages.2.content.0.tool_result.content.1.image.source.base64.data: Could not process image"),
        ReplaceImages((image_digest(WIDE),)),
    ),
    (
        refusal("too large", code="image_dimensions_too_large", paths=("messages.0.content.1",)),
        ReplaceImages((image_digest(SMALL),)),
    ),
    (
        refusal("messages.0.content.0.image.source: image dimensions exceed max for many-image requests: 2000 pixels"),
        ReplaceImages((image_digest(TALL), image_digest(WIDE))),
    ),
    (refusal("Could not process image"), ReplaceImages((image_digest(WIDE),))),
    (refusal("tools.0.custom.name: String should match pattern"), None),
    (refusal("something about a system that nobody has heard of"), None),
    (refusal("role 'system' is not supported on this model", status=500), None),
]


@pytest.mark.req("R222", "R224", "R225")
@pytest.mark.parametrize(("reply", "remedy"), UNDERSTOOD, ids=[row[0].message[:60] for row in UNDERSTOOD])
def test_a_refusal_is_understood_only_by_its_own_words(reply: HTTPFailure, remedy: Remedy | None) -> None:
    assert find_remedy(reply, compiled()) == remedy


@pytest.mark.req("R225")
def test_without_system_messages_no_refusal_is_about_their_lane() -> None:
    entry = UserEntry(uuid="u1", parent=None, time=TIME, content=(TextBlock("go"),))
    plain = finish(extend(empty_prefix(BARE, Facts(model=MODEL), WIRE), (entry,)), OPTIONS)
    assert find_remedy(refusal("role 'system' is not supported on this model"), plain) is None
