"""What can be done about a refusal that names its cause: a lane, a marker, an image, thinking, a field (R222, R224, R225, F06, L150).

Decides which refusals are understood, by their code or by the words the service documents, together with what the request really held; and what
then changes in the conversation. A refusal that fits none of them is left alone: an unknown 400 is neither. Never sends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, assert_never

import msgspec
from msgspec import Struct

from compositor.config.platforms import beta_for
from compositor.context.messages.lanes import lanes_of
from compositor.context.messages.legality.images import MANY_SIDE
from compositor.context.messages.refused_images import image_digest
from compositor.context.prefix import Prefix, refold
from compositor.context.wire.failure import HTTPFailure
from compositor.types.blocks import ImageBlock, RedactedThinkingBlock, ThinkingBlock, ToolResultBlock
from compositor.types.image_head import read_image_head
from compositor.types.json import decode_json
from compositor.types.messages import Role, WireMessage
from compositor.types.request import CacheRegion, Compiled, RequestOptions
from compositor.types.snapshot import EventName, Facts, Latch


class DropLane(Struct, frozen=True):
    """System messages are not taken: what is unsent becomes reminders, for the rest of the session."""


class DropTurnScope(Struct, frozen=True):
    """`clear_at` is not taken: what is unsent becomes plain system messages, for the rest of the session."""


class SpareSystemMarkers(Struct, frozen=True):
    """Only the marker on a system message is not taken: the message before it carries the marker; the lane stays on."""


class ReplaceImages(Struct, frozen=True):
    """Images are not taken: a note stands in for each. `digests` are the sha256 hex of their sources."""

    digests: tuple[str, ...]


class DropThinking(Struct, frozen=True):
    """Thinking is not taken back: what was thought stays in the transcript and is not replayed for the rest of the session."""


class DropField(Struct, frozen=True):
    """A field of the request that a gateway does not know is left out, with its beta (L150)."""

    field: str


Remedy: TypeAlias = DropLane | DropTurnScope | SpareSystemMarkers | ReplaceImages | DropThinking | DropField


def find_remedy(reply: HTTPFailure, compiled: Compiled) -> Remedy | None:
    """The remedy for a refusal of `compiled`; `None` when its cause is not known for certain."""
    if reply.status not in _REFUSALS:
        return None
    messages = [chunk.message for chunk in compiled.message_chunks() if chunk.message is not None]
    if reply.error_code == "image_dimensions_too_large" or _IMAGE.search(reply.message):
        digests = tuple(dict.fromkeys(map(image_digest, _accused_images(reply, messages))))
        return ReplaceImages(digests) if digests else None
    if _THINKING.search(reply.message):
        return DropThinking() if any(map(_has_thinking, messages)) else None
    field = _FIELD.search(reply.message)
    if field is not None and _FOREIGN.search(reply.message) and getattr(compiled.options, field[1]) is not None:
        return DropField(field[1])
    place = _MESSAGE.search(reply.message)
    accused = messages[int(place[1])] if place is not None and int(place[1]) < len(messages) else None
    is_system = accused is not None and accused.role is Role.SYSTEM
    if "cache_control" in reply.message:
        return SpareSystemMarkers() if is_system and place and _is_marked(compiled, int(place[1])) else None
    if "clear_at" in reply.message:
        return DropTurnScope() if accused is not None and accused.clear_at is not None else None
    has_system = any(message.role is Role.SYSTEM for message in messages)
    if has_system and (_LANE.search(reply.message) or (is_system and _ROLE.search(reply.message))):
        return DropLane()
    return None


def apply_remedy(prefix: Prefix, remedy: Remedy, cause: str) -> Prefix | None:
    """The conversation with the remedy in it; `None` when it is in force already. Settled bytes change only as a prefix event."""
    facts = prefix.facts
    match remedy:
        case DropLane():
            return _latched(prefix, Latch.SYSTEM_LANE, cause)
        case DropTurnScope():
            return _latched(prefix, Latch.TURN_SCOPE, cause)
        case DropThinking():
            if Latch.THINKING in facts.latches:
                return None
            changed = _with_latch(_frozen(prefix), Latch.THINKING)
            return refold(prefix, changed, EventName.PROVIDER_DEGRADE, cause)
        case DropField():
            return None
        case SpareSystemMarkers():
            if Latch.SYSTEM_MARKER in facts.latches:
                return None
            # Where markers may stand is found with each round: the same bytes, folded anew, and no event.
            return refold(prefix, _with_latch(_frozen(prefix), Latch.SYSTEM_MARKER), EventName.PROVIDER_DEGRADE, cause)
        case ReplaceImages(digests=digests):
            refused = facts.refused_images | set(digests)
            if refused == facts.refused_images:
                return None
            changed = msgspec.structs.replace(_frozen(prefix), refused_images=refused)
            return refold(prefix, changed, EventName.REFUSED_IMAGE, cause)
        case _:
            assert_never(remedy)


def drop_field(options: RequestOptions, remedy: DropField) -> RequestOptions:
    """The options without the field, and without the beta that only it needed."""
    beta = beta_for(remedy.field)
    betas = tuple(name for name in options.betas if beta is None or name != beta.name)
    return msgspec.structs.replace(options, **{remedy.field: None}, betas=betas)


def _has_thinking(message: WireMessage) -> bool:
    return any(isinstance(part.block, ThinkingBlock | RedactedThinkingBlock) for part in message.parts)


def _latched(prefix: Prefix, latch: Latch, cause: str) -> Prefix | None:
    """What was sent keeps its lane (R222), unless the service refuses that as well: then all of it is rewritten, as a prefix event."""
    if latch in prefix.facts.latches:
        return None
    facts = _frozen(prefix)
    gone = _REWRITTEN[latch]
    if any(chunk.message is not None and gone(chunk.message) for chunk in prefix.settled):
        facts = msgspec.structs.replace(facts, lanes={})
    return refold(prefix, _with_latch(facts, latch), EventName.PROVIDER_DEGRADE, cause)


_REWRITTEN: Mapping[Latch, Callable[[WireMessage], bool]] = {
    Latch.SYSTEM_LANE: lambda message: message.role is Role.SYSTEM,
    Latch.TURN_SCOPE: lambda message: message.clear_at is not None,
}


def _frozen(prefix: Prefix) -> Facts:
    """The facts with the lane of everything that is settled."""
    return msgspec.structs.replace(prefix.facts, lanes={**lanes_of(prefix.settled), **prefix.facts.lanes})


def _with_latch(facts: Facts, latch: Latch) -> Facts:
    return msgspec.structs.replace(facts, latches=facts.latches | {latch})


_REFUSALS = frozenset({400, 413, 422})
_MESSAGE = re.compile(r"messages\.(\d+)")
_ROLE = re.compile(r"\.role\b|\brole\b.*\bnot (?:supported|allowed|permitted)")
_LANE = re.compile(r"""role ['"`]system['"`] is not supported|[Uu]nexpected role ['"`]system['"`]""")
_IMAGE = re.compile(r"\.image\.source|image dimensions|[Cc]ould not process image|image exceeds", re.IGNORECASE)
# The documented words of L75, L76, L78 and L85 to L87.
_THINKING = re.compile(
    r"[Ii]nvalid `?signature`? in `?(?:redacted_)?thinking|bound to a different conversation|latest assistant message cannot be modified"
    r"|[Ee]xpected `?thinking`?|first block must be `?thinking|[Ww]hen thinking is disabled"
)
_FIELD = re.compile(
    r"(?:^|['\"`\s])(context_management|metadata|output_config|speed|diagnostics|stop_sequences)(?=['\"`:\s]|$)"
)
_FOREIGN = re.compile(
    r"[Ee]xtra inputs|not permitted|(?i:unknown) (?:field|parameter|name)|[Uu]nsupported|not supported"
)
_IMAGE_PLACE = re.compile(r"messages\.(\d+)\.content\.(\d+)(?:\.tool_result)?(?:\.content\.(\d+))?")


def _is_marked(compiled: Compiled, index: int) -> bool:
    return any(marker.region is CacheRegion.MESSAGES and marker.index == index for marker in compiled.markers)


def _accused_images(reply: HTTPFailure, messages: Sequence[WireMessage]) -> Iterator[ImageBlock]:
    """The images that the refusal names; of many images all that are large; without a name the newest one."""
    every = [(place, image) for number, message in enumerate(messages) for place, image in _images(number, message)]
    found = dict(every)
    named = [_place(match) for path in (*reply.paths, reply.message) for match in _IMAGE_PLACE.finditer(path)]
    accused = [found[place] for place in named if place in found]
    if "many-image" in reply.message:
        accused += [image for _, image in every if _is_large(image)]
    if not named and not accused and every:
        accused = [every[-1][1]]
    yield from accused


def _place(match: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(number) for number in match.groups() if number is not None)


def _images(number: int, message: WireMessage) -> Iterator[tuple[tuple[int, ...], ImageBlock]]:
    for index, part in enumerate(message.parts):
        if isinstance(part.block, ImageBlock):
            yield (number, index), part.block
        elif isinstance(part.block, ToolResultBlock) and isinstance(part.block.content, tuple):
            for inner, item in enumerate(part.block.content):
                if isinstance(item, ImageBlock):
                    yield (number, index, inner), item


def _is_large(image: ImageBlock) -> bool:
    data = decode_json(bytes(image.source)).get("data")
    head = read_image_head(data) if isinstance(data, str) else None
    return head is not None and max(head.width, head.height) > MANY_SIDE
