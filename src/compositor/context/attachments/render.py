"""What an attachment says to the model, by its shape.

Decides words and order; no tag and no envelope: those belong to the lane (R181, R197).
"""

from __future__ import annotations

from collections.abc import Mapping

from compositor.context.freshness.changed import MANY
from compositor.types.attachments import (
    Attachment,
    DiffAttachment,
    FileAttachment,
    ListingAttachment,
    MediaAttachment,
    QueuedInput,
    TextAttachment,
    UnknownAttachment,
)
from compositor.types.blocks import ContentBlock, TextBlock
from compositor.types.origin import Origin


def render_attachment(attachment: Attachment) -> tuple[ContentBlock, ...] | None:
    """The blocks of an attachment, words first; `None` for one that nobody here can render."""
    if isinstance(attachment, UnknownAttachment):
        return None
    text = attachment_text(attachment)
    words = (TextBlock(text),) if text.strip() else ()
    return (*words, *attachment.content) if isinstance(attachment, MediaAttachment) else words


def attachment_text(attachment: Attachment) -> str:
    """The words of an attachment; empty for one that nobody here can render."""
    match attachment:
        case TextAttachment(text=text):
            return text
        case FileAttachment():
            return _file(attachment)
        case DiffAttachment():
            return _difference(attachment)
        case ListingAttachment():
            return _listing(attachment)
        case MediaAttachment(named=named, path=path):
            return f"{_asked(named)}{path}:" if path else "The user put this picture into the prompt:"
        case QueuedInput(text=text, origin=origin):
            return text if origin is Origin.HUMAN else f"{_SPEAKERS[origin]} says:\n{text}"
        case UnknownAttachment():
            return ""


def _asked(named: str) -> str:
    return f"The prompt names {named}. This is " if named else "This is "


def _file(file: FileAttachment) -> str:
    lines = file.text.split("\n") if file.text else []
    last = file.first + len(lines) - 1
    if file.kind == "selected_lines_in_ide":
        return (
            f"The user has lines {file.first}-{file.total} of {file.path} selected in the editor. "
            f"That may or may not have to do with the prompt:\n{file.text}"
        )
    whole = file.first == 1 and last >= file.total
    part = f", all {file.total} lines" if whole else f", lines {file.first}-{last} of {file.total}"
    more = "" if whole or last >= file.total else f"\n[Go on with offset={last + 1}.]"
    numbered = "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(lines, file.first))
    return f"{_asked(file.named)}{file.path}{part if lines else ', which is empty'}:\n{numbered}{more}"


def _difference(change: DiffAttachment) -> str:
    said = (
        f"{change.path} was changed by somebody else since you saw it ({change.removed} lines out, {change.added} in)"
    )
    if change.left_out:
        return f"{said}. The difference is left out: {change.left_out}. Read the file again before you rely on it."
    return f"{said}. What you know of it holds but for this; there is no need to speak of it:\n{change.diff}"


def _listing(listing: ListingAttachment) -> str:
    names = "\n".join(listing.names)
    if listing.kind == MANY:
        return (
            f"{listing.total:,} files that you saw were changed at once{listing.named}. "
            f"Read what you need of them again before you rely on it:\n{names}"
        )
    rest = listing.total - len(listing.names)
    more = f"\n[{rest:,} more]" if rest > 0 else ""
    return f"{_asked(listing.named)}{listing.path}, {listing.total:,} names:\n{names}{more}"


_SPEAKERS: Mapping[Origin, str] = {
    Origin.CHANNEL: "A channel, not the user,",
    Origin.PEER: "Another agent, not the user,",
    Origin.TASK_NOTIFICATION: "A background task, not the user,",
    Origin.OBSERVER: "An observer, not the user,",
    Origin.UNCLASSIFIED: "Somebody unknown, not the user,",
}
