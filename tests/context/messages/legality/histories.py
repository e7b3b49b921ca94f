"""Random histories for the rules: legal ones by construction, and wild ones that break whatever chance lets them."""

from random import Random

from hypothesis import strategies as st
from msgspec import Raw

from compositor.context.wire.canonical import encode_json, encode_messages, encode_tool
from compositor.types.blocks import (
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from compositor.types.messages import Part, Role, WireMessage
from compositor.types.provenance import WIRE
from compositor.types.request import Chunk, Head, HeadParts
from compositor.types.tools import ToolDefinition

PNG = Raw(b'{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAA="}')


def message(role: Role, *blocks: ContentBlock) -> WireMessage:
    return WireMessage(role, tuple(Part(block, WIRE) for block in blocks))


def user(*blocks: ContentBlock | str) -> WireMessage:
    return message(Role.USER, *map(_block, blocks))


def assistant(*blocks: ContentBlock | str) -> WireMessage:
    return message(Role.ASSISTANT, *map(_block, blocks))


def system(*blocks: ContentBlock | str) -> WireMessage:
    return message(Role.SYSTEM, *map(_block, blocks))


def call(id: str, name: str = "Read") -> ToolUseBlock:
    return ToolUseBlock(id, name, Raw(b"{}"))


def result(id: str, content: str | None = "ok") -> ToolResultBlock:
    return ToolResultBlock(id, content)


def tool(name: str, *, deferred: bool = False) -> ToolDefinition:
    return ToolDefinition(name=name, description="d", input_schema=Raw(b'{"type":"object"}'), deferred=deferred)


def head(*tools: ToolDefinition, system_texts: tuple[str, ...] = ()) -> Head:
    chunks = {
        deferred: tuple(Chunk(data=encode_tool(item)) for item in tools if item.deferred is deferred)
        for deferred in (True, False)
    }
    texts = tuple(Chunk(data=encode_json(TextBlock(text))) for text in system_texts)
    return Head(parts=HeadParts(), tools=chunks[False], deferred=chunks[True], system=texts, context=None, digest="")


def body(head: Head, messages: list[WireMessage], scalars: dict[str, object]) -> bytes:
    """The bytes as they would be sent: regions first, then scalars."""
    regions = (
        ("tools", (*head.tools, *head.deferred)),
        ("system", head.system),
        ("messages", encode_messages(messages)),
    )
    pieces = [b'"%b":[%b]' % (name.encode(), b",".join(chunk.data for chunk in chunks)) for name, chunks in regions]
    return b"{%b,%b" % (b",".join(pieces), encode_json(scalars)[1:])


def legal_history(random: Random, turns: int) -> list[WireMessage]:
    """A history as an agent makes it: prompts, thinking, parallel calls, results, now and then an operator's word."""
    messages: list[WireMessage] = []
    for turn in range(turns):
        messages.append(user(f"prompt {turn}", *([ImageBlock(PNG)] if random.random() < 0.1 else [])))
        if random.random() < 0.1:
            messages.append(system("mind the gap"))
        for step in range(random.randrange(3)):
            ids = [f"toolu_{turn}_{step}_{number}" for number in range(random.randint(1, 3))]
            thinking = [ThinkingBlock("hm", "sig")] if random.random() < 0.5 else []
            messages.append(assistant(*thinking, "on it", *map(call, ids)))
            messages.append(user(*map(result, ids), *(["and"] if random.random() < 0.2 else [])))
        messages.append(assistant("done"))
    return [*messages, user("bye")]


_TEXTS = st.sampled_from(["a", "b c", "", " ", "\n", "é", "tail "])
_IDS = st.sampled_from(["t1", "t2", "t3", "bad:id", "", "srvtoolu_1"])
_RAWS = (
    b'{"type":"compaction","content":"s","signature":"x"}',
    b'{"type":"compaction","content":""}',
    b'{"type":"tool_addition","tool":{"type":"tool_reference","name":"Late"}}',
    b'{"type":"tool_addition","tool":{"type":"tool_reference","name":"Nowhere"}}',
    b'{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}',
    b'{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"x","tool_references":[{"type":"tool_reference","tool_name":"Nowhere"}]}}',
    b'{"type":"mcp_tool_use","id":"srvtoolu_1","name":"a","server_name":"b","input":{}}',
    b'{"type":"thinking","thinking":7}',
    b'{"type":"hologram"}',
)
_UNKNOWN = st.sampled_from(_RAWS).map(lambda raw: UnknownBlock(raw.split(b'"')[3].decode(), Raw(raw)))
_ITEMS: st.SearchStrategy[ContentBlock] = st.one_of(
    _TEXTS.map(TextBlock),
    st.just(ImageBlock(PNG)),
    st.just(ImageBlock(Raw(b'{"type":"url"}'))),
    st.sampled_from(["Read", "Late", "Nowhere"]).map(ToolReferenceBlock),
    _UNKNOWN,
)
_RESULTS = st.builds(
    ToolResultBlock,
    _IDS,
    st.one_of(st.none(), _TEXTS, st.lists(_ITEMS, max_size=2).map(tuple)),
    st.sampled_from([None, True]),
    st.sampled_from([None, None, "set"]),
)
_BLOCKS: st.SearchStrategy[ContentBlock] = st.one_of(
    _TEXTS.map(TextBlock),
    _RESULTS,
    st.builds(ToolUseBlock, _IDS, st.just("Read"), st.sampled_from([Raw(b"{}"), Raw(b"[]"), Raw(b'"x"')])),
    st.builds(ThinkingBlock, st.sampled_from(["", "hm"]), st.sampled_from(["", "sig"])),
    st.just(RedactedThinkingBlock("d")),
    st.just(ServerToolUseBlock("srvtoolu_1", "web_search", Raw(b"{}"))),
    st.just(ServerToolUseBlock("srvtoolu_2", "no_such_tool", Raw(b"[]"))),
    st.just(DocumentBlock(Raw(b'{"type":"url","url":"u"}'))),
    _ITEMS,
)
WILD_HISTORIES: st.SearchStrategy[list[WireMessage]] = st.lists(
    st.builds(lambda role, blocks: message(role, *blocks), st.sampled_from(Role), st.lists(_BLOCKS, max_size=4)),
    max_size=7,
)
"""Messages in any order with blocks in any place: nearly all of them break several rules."""


def _block(block: ContentBlock | str) -> ContentBlock:
    return TextBlock(block) if isinstance(block, str) else block
