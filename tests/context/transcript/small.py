"""Small histories: entries that need no more than an id, a parent and a time."""

from compositor.context.transcript.graph import Path
from compositor.types.attachments import TextAttachment
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import (
    AssistantEntry,
    AttachmentEntry,
    MarkerEntry,
    TranscriptEntry,
    UserEntry,
)
from compositor.types.json import EMPTY_OBJECT
from compositor.types.usage import Usage


def user(uuid: str, parent: str | None, time: int, *, meta: bool = False) -> UserEntry:
    return UserEntry(uuid=uuid, parent=parent, time=f"{time:04}", content=(TextBlock(uuid),), is_meta=meta)


def result(uuid: str, parent: str, time: int, call: str) -> UserEntry:
    return UserEntry(uuid=uuid, parent=parent, time=f"{time:04}", content=(ToolResultBlock(call, "done"),))


def answer(uuid: str, parent: str | None, time: int, *calls: str, message: str = "") -> AssistantEntry:
    content = tuple(ToolUseBlock(call, "Read", EMPTY_OBJECT) for call in calls) or (TextBlock(uuid),)
    return AssistantEntry(
        uuid=uuid,
        parent=parent,
        time=f"{time:04}",
        message_id=message or f"msg-{uuid}",
        model="m",
        content=content,
        stop_reason="tool_use" if calls else "end_turn",
        usage=Usage(output_tokens=time),
    )


def note(uuid: str, parent: str, time: int) -> AttachmentEntry:
    return AttachmentEntry(
        uuid=uuid, parent=parent, time=f"{time:04}", attachment=TextAttachment(kind="hook", text=uuid)
    )


def marker(uuid: str, parent: str | None, time: int) -> MarkerEntry:
    return MarkerEntry(uuid=uuid, parent=parent, time=f"{time:04}", subtype="notice", detail=EMPTY_OBJECT)


def ids(path: Path) -> list[str]:
    return [entry.uuid for entry in path.entries]


def codes(path: Path) -> list[str]:
    return [found.code.removeprefix("transcript.") for found in path.diagnostics]


LINEAR: list[TranscriptEntry] = [user("u1", None, 1), answer("a1", "u1", 2), user("u2", "a1", 3), answer("a2", "u2", 4)]
FORKED: list[TranscriptEntry] = [*LINEAR, user("u3", "a1", 5), answer("a3", "u3", 6), user("u4", "a2", 4)]
