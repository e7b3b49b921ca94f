"""The shapes of a transcript line and of a stored head, format version 0: the field names as they stand in the file.

Decides the file format and nothing else. The values of the session are in `types`, the way between the two is
`codec.py`. A field is added here with a default, and is never renamed or removed within a version.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

from msgspec import Raw, Struct

from compositor.types.gathering import FactState
from compositor.types.journal import SendOutcome
from compositor.types.json import EMPTY_OBJECT
from compositor.types.provenance import Lane, Lifetime
from compositor.types.request import CacheRegion, Ttl
from compositor.types.snapshot import EventName, Latch
from compositor.types.tools import Concurrency, ToolOrigin
from compositor.types.usage import Usage

VERSION = 0

# A union of Raw and None cannot be decoded (msgspec sees only the None), so absence is a value of its own.
ABSENT = Raw(b"null")

S = TypeVar("S", bound=Struct)


class SessionLine(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="session"):
    """The first line of a file. `version` is never left out, whatever its value."""

    version: int
    id: str
    time: str
    cwd: str
    program: str = ""
    forked_from: str | None = None
    imported_from: str | None = None


class UserLine(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="user"):
    id: str
    parent: str | None
    time: str
    origin: str = "human"
    meta: bool = False
    content: Raw


class AssistantLine(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="assistant"):
    """`usage` and `content` are spelled as the Messages API spells them."""

    id: str
    parent: str | None
    time: str
    message_id: str
    model: str
    stop_reason: str | None
    usage: Usage | None = None
    prefix_digest: str | None = None
    content: Raw


class AttachmentLine(Struct, frozen=True, kw_only=True, tag="attachment"):
    id: str
    parent: str | None
    time: str
    attachment: Raw


class MarkerLine(Struct, frozen=True, kw_only=True, tag="marker"):
    id: str
    parent: str | None
    time: str
    subtype: str
    detail: Raw


class UnknownLine(Struct, frozen=True, kw_only=True, tag="unknown"):
    """An entry that came from somewhere else and is of a kind the product does not know."""

    id: str
    parent: str | None
    time: str
    kind: str
    raw: Raw


class SentShape(Struct, frozen=True, kw_only=True, omit_defaults=True):
    entry: str
    lane: Lane = Lane.CONVERSATION


class MarkerShape(Struct, frozen=True, kw_only=True, omit_defaults=True):
    region: CacheRegion
    index: int
    block: int = 0
    ttl: Ttl = Ttl.SHORT
    reason: str = ""
    scope: str | None = None


class OptionsShape(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Defaults belong to the format: what a line leaves out means this, whatever the program's own defaults become."""

    model: str
    max_tokens: int
    api_version: str
    stream: bool = True
    thinking: Raw = ABSENT
    tool_choice: Raw = ABSENT
    metadata: Raw = ABSENT
    temperature: float | None = None
    context_management: Raw = ABSENT
    output_config: Raw = ABSENT
    speed: str | None = None
    stop_sequences: tuple[str, ...] | None = None
    diagnostics: Raw = ABSENT
    compaction: Raw = ABSENT
    betas: tuple[str, ...] = ()
    caching: bool = True
    ttl: Ttl = Ttl.SHORT
    skip_write: bool = False
    pin: int | None = None
    scopes: tuple[str | None, str | None] | None = None


class EventShape(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: EventName
    cause: str
    entry: str | None = None


class GatheredShape(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    state: FactState
    seconds: float
    size: int
    waited: float
    reason: str = ""


class SendLine(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="send"):
    request_id: str
    time: str
    head_digest: str
    view_digest: str
    size: int
    leaf: str | None
    sent: tuple[SentShape, ...]
    markers: tuple[MarkerShape, ...]
    options: OptionsShape
    profile: str
    events: tuple[EventShape, ...] = ()
    latches: tuple[Latch, ...] = ()
    refused_images: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()
    forecast_read: int | None = None
    forecast_written: int | None = None
    gathered: tuple[GatheredShape, ...] = ()
    purpose: str = ""


class OutcomeLine(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="outcome"):
    request_id: str
    time: str
    outcome: SendOutcome
    usage: Usage | None = None
    detail: str = ""
    verdict: str = ""
    cause: str = ""
    lost: int = 0
    said: str = ""


class EventLine(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="event"):
    name: EventName
    cause: str
    entry: str | None = None


Line: TypeAlias = (
    SessionLine
    | UserLine
    | AssistantLine
    | AttachmentLine
    | MarkerLine
    | UnknownLine
    | SendLine
    | OutcomeLine
    | EventLine
)


class SourceShape(Struct, frozen=True, kw_only=True, omit_defaults=True):
    kind: str
    name: str = ""
    path: str | None = None
    line: int | None = None


class OriginShape(Struct, frozen=True, kw_only=True, omit_defaults=True):
    source: SourceShape
    lane: Lane
    lifetime: Lifetime
    gate: str = ""


class FragmentShape(Struct, frozen=True, kw_only=True):
    text: str
    origin: OriginShape


class ToolShape(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    description: str
    input_schema: Raw
    made_by: ToolOrigin = ToolOrigin.BUILTIN
    concurrency: Concurrency = Concurrency.EXCLUSIVE
    deferred: bool = False
    read_only: bool = False
    provider: str = ""
    settings: Raw = EMPTY_OBJECT
    origin: OriginShape


class OmissionShape(Struct, frozen=True, kw_only=True, omit_defaults=True):
    what: str
    reason: str
    step: str
    source: SourceShape | None = None


class HeadShape(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parts of one head. `tools` keep their order: it is the order on the wire."""

    version: int
    tools: tuple[ToolShape, ...] = ()
    system: tuple[tuple[FragmentShape, ...], ...] = ()
    context: tuple[FragmentShape, ...] = ()
    omissions: tuple[OmissionShape, ...] = ()


def copy_fields(value: Struct, target: type[S], **given: Any) -> S:
    """A `target` from the fields of `value` that have the same name; `given` holds the others."""
    same = {name: getattr(value, name) for name in target.__struct_fields__ if name not in given}
    return target(**same, **given)
