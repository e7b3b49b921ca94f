"""The smallest surroundings in which a history can be compiled: a head of each kind of element, facts, options."""

from __future__ import annotations

from compositor.context.head import compile_head
from compositor.context.messages.legality import WireContext
from compositor.types.blocks import TextBlock
from compositor.types.entries import TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.provenance import Attribution, Fragment, Lane, Lifetime, Source
from compositor.types.request import HeadParts, HeadTool, RequestOptions
from compositor.types.snapshot import Facts
from compositor.types.tools import ToolDefinition
from tests.properties.strategies import MODEL, TIME

SCHEMA = raw_json({"type": "object", "properties": {}})


def fragment(name: str, text: str, lane: Lane, lifetime: Lifetime) -> Fragment:
    return Fragment(text, Attribution(Source("section", name), lane, lifetime, "in a test"))


def tool(name: str) -> HeadTool:
    definition = ToolDefinition(name=name, description=f"does {name}", input_schema=SCHEMA)
    return HeadTool(definition, Attribution(Source("tool", name), Lane.TOOLS, Lifetime.RELEASE, "in a test"))


PARTS = HeadParts(
    tools=(tool("Bash"), tool("Read")),
    system=(
        (
            fragment("identity", "You are an agent.\n", Lane.SYSTEM, Lifetime.RELEASE),
            fragment("tone", 'Say "yes" or\tno.', Lane.SYSTEM, Lifetime.RELEASE),
        ),
        (fragment("env", "Working directory: /p", Lane.SYSTEM, Lifetime.SESSION),),
    ),
    context=(
        fragment("opening", "<system-reminder>\n", Lane.USER_CONTEXT, Lifetime.SESSION),
        fragment("claude_md", "Use täbs.\n</system-reminder>", Lane.USER_CONTEXT, Lifetime.SESSION),
    ),
)
HEAD = compile_head(PARTS)
BARE = compile_head(HeadParts(tools=PARTS.tools))
FACTS = Facts(model=MODEL)
BINDING = Facts(model=MODEL, binds_thinking=True)
OPTIONS = RequestOptions(model=MODEL, max_tokens=8000, thinking=raw_json({"type": "adaptive"}))
WIRE = WireContext(prefill=False, system_role=True, max_output=128_000)


def asked(history: tuple[TranscriptEntry, ...]) -> tuple[TranscriptEntry, ...]:
    """The history with a last question behind it, so that there is something to send."""
    question = UserEntry(uuid="last", parent=None, time=TIME, content=(TextBlock("And now?"),))
    return (*history, question)
