"""What `compositor check` finds in a file: request bodies, plain or wrapped, recorded exchanges, and stored conversations.

Decides how each form is recognized and what is checked of it. A conversation is checked as if its messages were sent as they are stored; what
the product itself would send instead is `repaired`. Judges nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from compositor.errors import ConfigError

if TYPE_CHECKING:
    from compositor.context.messages.legality import WireContext
    from compositor.context.transcript.load import TranscriptFormat
    from compositor.types.entries import TranscriptEntry

_WRAPPERS = ("body", "request")
_LINE_SUFFIXES = (".jsonl", ".ndjson")
_RECORDING_SUFFIXES = (".yaml", ".yml")


class Found(Struct, frozen=True, kw_only=True):
    """One body and where it stood. `line` counts from 1 in a file of lines, `exchange` from 1 in a recording; `headers` are in lower case.

    `history` is set for a stored conversation: its entries in order, with the id of the entry behind each message in `origins`.
    """

    file: str
    line: int | None
    data: bytes
    headers: Mapping[str, str]
    exchange: int | None = None
    counting: bool = False
    origins: tuple[str, ...] = ()
    history: tuple[TranscriptEntry, ...] = ()

    @property
    def place(self) -> str:
        """The place as it is printed."""
        part = f":{self.line}" if self.line is not None else ""
        return f"{self.file}{part}" if self.exchange is None else f"{self.file}#{self.exchange}"


def find_bodies(file: str, data: bytes) -> Iterator[Found]:
    """The bodies in the bytes of one file. Raises `ConfigError` with the place when they are in no known form."""
    if file.endswith(_RECORDING_SUFFIXES):
        yield from _recorded(file, data)
        return
    is_lines = file.endswith(_LINE_SUFFIXES)
    problem = None if is_lines else _json_problem(data)
    if not is_lines and problem is None:
        yield _unwrapped(file, None, data)
        return
    lines = [(number, line) for number, line in enumerate(data.splitlines(), start=1) if line.strip()]
    if not is_lines and (len(lines) < 2 or _json_problem(lines[0][1]) is not None):
        raise _no_json(file, problem)
    if not lines:
        raise ConfigError("The file holds no request body", path=file, hint="Give a file with one JSON object a line")
    form = _transcript_format([line for _, line in lines[:50]])
    if form is not None:
        yield _conversation(file, data, form)
        return
    for number, line in lines:
        problem = _json_problem(line)
        if problem is not None:
            raise ConfigError(f"The line is no JSON: {problem.msg}", path=file, line=number)
        yield _unwrapped(file, number, line)


def repaired(found: Found, context: WireContext, model: str) -> Counter[str]:
    """How many items of a stored conversation each step left out or repaired on the way to what the product would send."""
    from compositor.context.head import compile_head
    from compositor.context.prefix import empty_prefix, extend
    from compositor.types.request import HeadParts
    from compositor.types.snapshot import Facts

    # Only the messages are wanted: a head without tools would let no reference stand.
    head = compile_head(HeadParts(tools=_head_tools(_tool_names(found.history))))
    prefix = extend(empty_prefix(head, Facts(model=model), context), found.history)
    return Counter(omission.step for omission in (*prefix.omissions, *prefix.tail.omissions))


def _json_problem(data: bytes) -> json.JSONDecodeError | None:
    """Why `data` is no JSON. What is JSON and still broken (lone surrogates, endless nesting) is left to the rules."""
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    else:
        return None
    try:
        json.loads(data.decode(errors="surrogateescape"))
    except json.JSONDecodeError as problem:
        return problem
    except (ValueError, RecursionError):
        return None
    return None


def _no_json(file: str, problem: json.JSONDecodeError | None) -> ConfigError:
    if problem is None:
        return ConfigError("The file is no JSON", path=file)
    return ConfigError(f"The file is no JSON: {problem.msg} (column {problem.colno})", path=file, line=problem.lineno)


def _unwrapped(file: str, line: int | None, data: bytes) -> Found:
    try:
        fields = msgspec.json.decode(data, type=dict[str, Raw])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Found(file=file, line=line, data=data, headers={})
    for name in _WRAPPERS:
        if "messages" not in fields and name in fields:
            given = fields.get("headers")
            headers = _headers(None if given is None else msgspec.json.decode(given))
            return Found(file=file, line=line, data=bytes(fields[name]), headers=headers)
    return Found(file=file, line=line, data=data, headers={})


def _headers(value: object) -> dict[str, str]:
    """Headers given as an object or as pairs; values may be lists, as recorders write them."""
    pairs: Iterable[Any] = value.items() if isinstance(value, dict) else value if isinstance(value, list) else ()
    headers: dict[str, str] = {}
    for pair in pairs:
        if isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str):
            values = pair[1] if isinstance(pair[1], list) else [pair[1]]
            headers[pair[0].lower()] = ",".join(str(item) for item in values)
    return headers


def _recorded(file: str, data: bytes) -> Iterator[Found]:
    """The requests of a recording: `interactions` with `request` and `response`, as cassettes hold them."""
    import yaml

    try:
        recording = yaml.safe_load(data)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise ConfigError("The file is no YAML", path=file, line=line) from None
    exchanges = recording.get("interactions") if isinstance(recording, dict) else None
    if not isinstance(exchanges, list):
        raise ConfigError("The file is no recording: it has no 'interactions'", path=file)
    for number, exchange in enumerate(exchanges, start=1):
        request = exchange.get("request") if isinstance(exchange, dict) else None
        body = (request.get("body") or request.get("parsed_body")) if isinstance(request, dict) else None
        if not isinstance(request, dict) or not body:
            continue
        yield Found(
            file=file,
            line=None,
            data=_bytes(body),
            headers=_headers(request.get("headers")),
            exchange=number,
            counting="count_tokens" in str(request.get("uri", "")),
        )


def _bytes(body: object) -> bytes:
    if isinstance(body, str):
        return body.encode(errors="surrogatepass")
    return body if isinstance(body, bytes) else msgspec.json.encode(body)


def _transcript_format(lines: Sequence[bytes]) -> TranscriptFormat | None:
    """Whose records these are; `None` for request bodies."""
    from compositor.context.transcript.load import detect_format

    try:
        fields = msgspec.json.decode(lines[0], type=dict[str, Raw])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        fields = {}
    return None if any(name in fields for name in ("messages", *_WRAPPERS)) else detect_format(lines)


def _conversation(file: str, data: bytes, form: TranscriptFormat) -> Found:
    from compositor.context.transcript.foreign import load_foreign
    from compositor.context.transcript.graph import active_path
    from compositor.context.transcript.load import TranscriptFormat, load_transcript, split_lines
    from compositor.context.wire.canonical import encode_json, encode_messages
    from compositor.types.entries import AssistantEntry, UserEntry
    from compositor.types.messages import Part, Role, WireMessage
    from compositor.types.provenance import WIRE

    load = load_foreign if form is TranscriptFormat.FOREIGN else load_transcript
    history = active_path(load(split_lines(data)).entries).entries
    said = [entry for entry in history if isinstance(entry, UserEntry | AssistantEntry)]
    messages = [
        WireMessage(
            Role.USER if isinstance(entry, UserEntry) else Role.ASSISTANT,
            tuple(Part(block, WIRE) for block in entry.content),
        )
        for entry in said
    ]
    model = next((entry.model for entry in reversed(said) if isinstance(entry, AssistantEntry)), "")
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in sorted(_tool_names(history))]
    chunks = encode_messages(messages) if messages else ()
    fields: dict[str, Any] = {"tools": tools} if tools else {}
    fields |= {"messages": [Raw(chunk.data) for chunk in chunks], "model": model or "unknown", "max_tokens": 1}
    return Found(
        file=file,
        line=None,
        data=encode_json(fields),
        headers={},
        origins=tuple(entry.uuid for entry in said),
        history=tuple(history),
    )


def _tool_names(history: Iterable[TranscriptEntry]) -> frozenset[str]:
    """Every tool that the conversation calls or refers to: a stored conversation does not tell which were declared."""
    from compositor.types.blocks import ToolReferenceBlock, ToolResultBlock, ToolUseBlock

    names: set[str] = set()
    for entry in history:
        for block in getattr(entry, "content", ()):
            if isinstance(block, ToolUseBlock):
                names.add(block.name)
            elif isinstance(block, ToolResultBlock) and isinstance(block.content, tuple):
                names.update(item.tool_name for item in block.content if isinstance(item, ToolReferenceBlock))
    return frozenset(names)


def _head_tools(names: Iterable[str]) -> tuple[Any, ...]:
    from compositor.types.json import raw_json
    from compositor.types.provenance import Attribution, Lane, Lifetime, Source
    from compositor.types.request import HeadTool
    from compositor.types.tools import ToolDefinition

    schema = raw_json({"type": "object"})
    origin = Attribution(Source("tool"), Lane.TOOLS, Lifetime.SESSION, "the conversation names it")
    return tuple(
        HeadTool(ToolDefinition(name=name, description="", input_schema=schema), origin) for name in sorted(names)
    )
