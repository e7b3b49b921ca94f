"""Thinking blocks and what they were made under: signatures, the check on replay, what is dropped or refused (L75 to L84).

Decides how a block is sealed and which blocks of a request still stand where they stood. A seal holds digests of the non-deferred tools,
of the system prompt and of everything said before, and the thinking block that came before it; so a change anywhere is found and
named, and blocks may be left out from the start, from the end, or all of them (L81). The key is no secret: it only keeps a client from
making a seal by accident.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from .conversation import Block, as_blocks, blocks_of, is_thought, path_of
from .profile import ServiceProfile
from .refusal import Refusal
from .rendering import compact, fetched, references_of, unmarked

_KEY = b"compositor emulator"
_MISMATCH = "prefix_binding_mismatch"
_SEALED = ("thinking", "redacted_thinking", "compaction")
Body = Mapping[str, Any]


class Seal(Struct, frozen=True, kw_only=True):
    """What a signature says.

    `place` is (index, number) among the thinking of one answer, `before` the digest of the thinking block that preceded it and
    `count` how many preceded it in all.
    """

    model: str
    account: str
    tools: str
    system: str
    said: str
    before: str
    count: int
    answer: str
    place: tuple[int, int]
    text: str


class Origin(Struct, frozen=True, kw_only=True):
    """Who asks: `account` and the request's `model`; `urls` as in `rendering.Sight`."""

    model: str
    account: str
    urls: Mapping[str, str] = {}


class Replayed(Struct, frozen=True, kw_only=True):
    """What the check found: a refusal, or the blocks that are left out, as (message, block), and the report of it."""

    refusal: Refusal | None = None
    dropped: frozenset[tuple[int, int]] = frozenset()
    transformations: tuple[Mapping[str, str], ...] = ()


def sealed_answer(content: Sequence[Block], body: Body, origin: Origin, answer: str) -> tuple[dict[str, Any], ...]:
    """The blocks of a new answer, its thinking and compaction signed over the exact prefix."""
    trail = _Trail(body, origin)
    for _ in trail.walk(body["messages"]):
        pass
    total = sum(is_thought(block) for block in content)
    sealed: list[dict[str, Any]] = []
    index = 0
    for block in content:
        if block["type"] not in _SEALED:
            trail.say("assistant", block)
            sealed.append(dict(block))
            continue
        seal = trail.seal(answer, (index, total), _text_digest(block))
        done = {**block, _field(block): _written(seal)}
        index += is_thought(block)
        trail.think(done) if is_thought(block) else None
        sealed.append(done)
    return tuple(sealed)


def check_replay(body: Body, profile: ServiceProfile, origin: Origin) -> Replayed:
    """Judge every thinking and compaction block of a request that is legal otherwise."""
    trail = _Trail(body, origin)
    latest = max((n for n, message in enumerate(body["messages"]) if message["role"] == "assistant"), default=-1)
    behavior = ((body.get("thinking") or {}).get("block_binding") or {}).get("prefix_mismatch_behavior")
    refusal = _check_latest(body, latest)
    if refusal is not None:
        return Replayed(refusal=refusal)
    dropped: dict[tuple[int, int], str] = {}
    allowed: list[tuple[int, int]] = []
    for number, index, block, now in trail.walk(body["messages"]):
        place, then = (number, index), read_seal(block)
        refusal = _broken(number, index, block, then, profile, is_latest=number == latest)
        if refusal is not None:
            return Replayed(refusal=refusal)
        if then is None or block["type"] == "compaction":
            continue
        found = _judged(then, now, profile, origin, behavior)
        if found.changed is not None and found.is_enforced:
            return Replayed(refusal=_bound_elsewhere(number, index, found.changed))
        if found.reason is not None:
            dropped[place] = found.reason
        elif dropped.get((number, index - 1)) == _MISMATCH:
            # A removal takes the rest of that turn's consecutive thinking blocks with it.
            dropped[place] = _MISMATCH
        elif found.changed is not None:
            allowed.append(place)
    reports = [_report("thinking_dropped", place, reason) for place, reason in dropped.items()]
    reports += [_report("thinking_mismatch_allowed", place, _MISMATCH) for place in allowed]
    return Replayed(dropped=frozenset(dropped), transformations=tuple(reports))


def without(body: Body, dropped: frozenset[tuple[int, int]]) -> dict[str, Any]:
    """The body without those blocks, as the model sees it."""
    if not dropped:
        return dict(body)
    touched = {number for number, _ in dropped}
    messages = [
        {
            **message,
            "content": [b for i, b in enumerate(as_blocks(message.get("content"))) if (number, i) not in dropped],
        }
        if number in touched
        else message
        for number, message in enumerate(body["messages"])
    ]
    return {**body, "messages": messages}


def read_seal(block: Block) -> Seal | None:
    """The seal of a block, `None` when this stand-in did not make it."""
    try:
        data = base64.b64decode(str(block.get(_field(block)) or ""), validate=True)
        if not hmac.compare_digest(data[:16], _mac(data[16:])):
            return None
        return msgspec.json.decode(data[16:], type=Seal)
    except (binascii.Error, msgspec.DecodeError, ValueError):
        return None


def _field(block: Block) -> str:
    """Where a block carries its seal. A summary made on demand has a signature, one made at a threshold has none."""
    if block["type"] == "redacted_thinking":
        return "data"
    return "signature" if block["type"] == "thinking" or "signature" in block else "encrypted_content"


class _Trail:
    """What was said so far, as digests that only grow."""

    def __init__(self, body: Body, origin: Origin) -> None:
        tools = body.get("tools") or ()
        self._origin = origin
        self._tools = _digest([unmarked(tool) for tool in tools if not tool.get("defer_loading")])
        self._system = _digest([unmarked(block) for block in as_blocks(body.get("system") or [])])
        self._deferred = {tool.get("name"): tool for tool in tools if tool.get("defer_loading")}
        self._said = ""
        self._before = ""
        self._count = 0

    def walk(self, messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int, Block, Seal]]:
        """Each sealed block with the seal it would get where it stands now."""
        for number, index, role, block in blocks_of(messages):
            if is_thought(block):
                yield number, index, block, self.seal("", (0, 0), "")
                self.think(block)
            elif block["type"] == "compaction" and block.get("content") is not None:
                yield number, index, block, self.seal("", (0, 0), "")
                then = read_seal(block)
                # The summary stands for everything up to where it was made (L81).
                self._said = then.said if then else self._said
            else:
                self.say(f"{role} {messages[number].get('clear_at') or ''}", block)

    def say(self, role: str, block: Block) -> None:
        shown = [self._deferred.pop(name) for name in references_of(block) if name in self._deferred]
        bare = fetched(unmarked(block), self._origin.urls)
        self._said = _digest([self._said, role.strip(), bare, [unmarked(tool) for tool in shown]])

    def think(self, block: Block) -> None:
        self._before = _digest(unmarked(block))
        self._count += 1

    def seal(self, answer: str, place: tuple[int, int], text: str) -> Seal:
        return Seal(
            model=self._origin.model,
            account=self._origin.account,
            tools=self._tools,
            system=self._system,
            said=self._said,
            before=self._before,
            count=self._count,
            answer=answer,
            place=place,
            text=text,
        )


class _Finding(Struct, frozen=True, kw_only=True):
    """About one block: why it is left out, or what changed before it and whether that refuses the request."""

    reason: str | None = None
    changed: str | None = None
    is_enforced: bool = False


def _judged(then: Seal, now: Seal, profile: ServiceProfile, origin: Origin, behavior: str | None) -> _Finding:
    """In the order in which the service reports: account, model, prefix (L78, L79, L83, L84)."""
    if profile.binds_account and then.account != origin.account:
        return _Finding(reason="organization_binding_mismatch")
    if then.model != origin.model:
        return _Finding(reason="model_binding_mismatch")
    changed = _changed(then, now) if profile.binds_thinking else None
    if changed is not None and behavior == "drop_block":
        return _Finding(reason=_MISMATCH)
    return _Finding(changed=changed, is_enforced=profile.new_account or behavior is not None)


def _broken(
    number: int, index: int, block: Block, then: Seal | None, profile: ServiceProfile, *, is_latest: bool
) -> Refusal | None:
    """The refusal of a block whose seal cannot be read or was made for something else (L75, L76, L160)."""
    if then is None:
        # What stands in `encrypted_content` is nowhere said to be refused.
        taken = profile.foreign_signatures or _field(block) == "encrypted_content"
        return None if taken else _unreadable(number, index, block)
    if then.text == _text_digest(block):
        return None
    if block["type"] == "compaction":
        return _summary_changed(number, index, then, block)
    return _modified(number, index, block, latest=is_latest)


def _changed(then: Seal, now: Seal) -> str | None:
    """What stands differently before the block, in the service's words; `None` when nothing does."""
    if then.system != now.system:
        return "`system` has changed"
    if then.tools != now.tools:
        return "`tools` have changed"
    if then.said != now.said:
        return "`messages` before it have changed"
    # Thinking may be missing from the start of the conversation, and only from there.
    if now.count > then.count or (now.count and now.before != then.before):
        return "a thinking block before it is missing or was put back"
    return None


def _check_latest(body: Body, latest: int) -> Refusal | None:
    """In the latest assistant message thinking is there as it came, or not at all (L75)."""
    if latest < 0:
        return None
    seals: dict[str, list[Seal]] = {}
    for block in as_blocks(body["messages"][latest].get("content")):
        seal = read_seal(block) if is_thought(block) else None
        if seal is not None:
            seals.setdefault(seal.answer, []).append(seal)
    for found in seals.values():
        if [seal.place[0] for seal in found] != list(range(found[0].place[1])):
            return _modified(latest, 0, {"type": "thinking"}, latest=True)
    return None


def _unreadable(number: int, index: int, block: Block) -> Refusal:
    at = path_of(number, index)
    if block["type"] == "compaction":
        said = f"{at}: the signature of the compaction block is not valid"
        return Refusal(message=said, error_code="compaction_signature_invalid", rule="L160")
    return Refusal(message=f"{at}: Invalid `signature` in `{block['type']}` block", rule="L76")


def _summary_changed(number: int, index: int, then: Seal, block: Block) -> Refusal:
    is_content = then.text.split()[0] != _text_digest(block).split()[0]
    what = "content" if is_content else "tool_changes"
    said = f"{path_of(number, index)}.compaction.{what}: is not what the signature was made for"
    return Refusal(message=said, error_code=f"compaction_{what}_mismatch", rule="L160")


def _modified(number: int, index: int, block: Block, *, latest: bool) -> Refusal:
    if not latest:
        return _unreadable(number, index, block)
    said = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"
    return Refusal(message=f"{path_of(number, index)}: {said}", rule="L75")


def _bound_elsewhere(number: int, index: int, changed: str) -> Refusal:
    said = f"Invalid `signature` in `thinking` block: block is bound to a different conversation: {changed}"
    return Refusal(message=f"{path_of(number, index)}: {said}", rule="L78")


def _report(kind: str, place: tuple[int, int], reason: str) -> Mapping[str, str]:
    return {"type": kind, "path": path_of(*place), "reason": reason}


def _text_digest(block: Block) -> str:
    """What of a sealed block may not change: its text, or a summary with its tool changes."""
    if block["type"] == "compaction":
        return f"{_digest(block.get('content'))} {_digest(block.get('tool_changes') or [])}"
    return _digest(block.get("thinking"))


def _written(seal: Seal) -> str:
    data = msgspec.json.encode(seal)
    return base64.b64encode(_mac(data) + data).decode()


def _mac(data: bytes) -> bytes:
    return hmac.digest(_KEY, data, "sha256")[:16]


def _digest(value: object) -> str:
    return hashlib.sha256(compact(value)).hexdigest()[:24]
