"""One random change in tools, system or messages: its cause is named right, every time (R270, R093)."""

from __future__ import annotations

import random

import msgspec
import pytest

from compositor.context.explain import first_difference
from compositor.context.finish import finish
from compositor.context.head import compile_head
from compositor.context.prefix import empty_prefix, extend
from compositor.insight.difference import body_elements, compare_bodies
from compositor.types.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from compositor.types.entries import AssistantEntry, TranscriptEntry, UserEntry
from compositor.types.json import raw_json
from compositor.types.provenance import Lane, Lifetime
from compositor.types.request import Compiled, Head, HeadParts
from tests.properties.building import FACTS, OPTIONS, WIRE, fragment, tool
from tests.properties.strategies import MODEL, TIME

MUTATIONS = 1000
SECTIONS = tuple(f"section_{number}" for number in range(9))
TOOLS = tuple(f"Tool{number}" for number in range(12))


class Expected(msgspec.Struct, frozen=True):
    """What the detector must say: region and index, the producer's name and the verb; the path in the body."""

    region: str
    index: int
    name: str
    verb: str
    path: str


def parts() -> HeadParts:
    texts = [fragment(name, f"The text of {name}. " * 8, Lane.SYSTEM, Lifetime.SESSION) for name in SECTIONS]
    memory = fragment("claude_md", "Use small functions. " * 9, Lane.USER_CONTEXT, Lifetime.SESSION)
    return HeadParts(tools=tuple(map(tool, TOOLS)), system=(tuple(texts[:5]), tuple(texts[5:])), context=(memory,))


def history() -> list[TranscriptEntry]:
    entries: list[TranscriptEntry] = [said("u0", "Fix the tests.")]
    for number in range(8):
        use = ToolUseBlock(f"t{number}", "Tool3", raw_json({"path": f"/p/{number}.py"}))
        entries.append(
            AssistantEntry(
                uuid=f"a{number}",
                parent=None,
                time=TIME,
                message_id=f"m{number}",
                model=MODEL,
                content=(TextBlock(f"Step {number} of the work."), use),
                stop_reason="tool_use",
            )
        )
        result = ToolResultBlock(f"t{number}", f"line {number}\n" * 20)
        entries.append(UserEntry(uuid=f"r{number}", parent=None, time=TIME, content=(result,)))
    return entries


def said(uuid: str, text: str) -> UserEntry:
    return UserEntry(uuid=uuid, parent=None, time=TIME, content=(TextBlock(text),))


def flipped(text: str, rng: random.Random) -> str:
    """One character is another one."""
    at = rng.randrange(len(text))
    letter = rng.choice([letter for letter in "abcxyz" if letter != text[at]])
    return text[:at] + letter + text[at + 1 :]


def compiled(head: Head, entries: list[TranscriptEntry]) -> Compiled:
    return finish(extend(empty_prefix(head, FACTS, WIRE), entries), OPTIONS)


def mutate_tools(rng: random.Random) -> tuple[HeadParts, Expected]:
    found = parts()
    at = rng.randrange(len(TOOLS))
    one = found.tools[at]
    match rng.choice(["description", "schema", "gone", "added"]):
        case "description":
            changed = msgspec.structs.replace(one.definition, description=flipped(one.definition.description, rng))
        case "schema":
            schema = raw_json({"type": "object", "properties": {f"p{rng.randrange(99)}": {"type": "string"}}})
            changed = msgspec.structs.replace(one.definition, input_schema=schema)
        case "gone":
            rest = (*found.tools[:at], *found.tools[at + 1 :])
            return msgspec.structs.replace(found, tools=rest), Expected(
                "tools", at, TOOLS[at], "is gone", f"tools[{at}]"
            )
        case _:
            rest = (*found.tools[:at], tool("Newcomer"), *found.tools[at:])
            return msgspec.structs.replace(found, tools=rest), Expected(
                "tools", at, "Newcomer", "was added", f"tools[{at}]"
            )
    tools = (*found.tools[:at], msgspec.structs.replace(one, definition=changed), *found.tools[at + 1 :])
    return msgspec.structs.replace(found, tools=tools), Expected("tools", at, TOOLS[at], "changed", f"tools[{at}]")


def mutate_system(rng: random.Random) -> tuple[HeadParts, Expected]:
    found = parts()
    block = rng.randrange(2)
    sections = found.system[block]
    at = rng.randrange(len(sections))
    one = sections[at]
    name = one.origin.source.name
    newcomer = fragment("newcomer", "What nobody said before.", Lane.SYSTEM, Lifetime.SESSION)
    changed = msgspec.structs.replace(one, text=flipped(one.text, rng))
    new, what, verb = {
        "changed": ((*sections[:at], changed, *sections[at + 1 :]), name, "changed"),
        "gone": ((*sections[:at], *sections[at + 1 :]), name, "is gone"),
        "added": ((*sections[:at], newcomer, *sections[at:]), "newcomer", "was added"),
    }[rng.choice(["changed", "gone", "added"])]
    blocks = list(found.system)
    blocks[block] = new
    expected = Expected("system", block, what, verb, f"system[{block}]")
    return msgspec.structs.replace(found, system=tuple(blocks)), expected


def mutate_messages(rng: random.Random) -> tuple[HeadParts, list[TranscriptEntry], Expected]:
    found, entries = parts(), history()
    if rng.random() < 0.15:
        memory = found.context[0]
        head = msgspec.structs.replace(
            found, context=(msgspec.structs.replace(memory, text=flipped(memory.text, rng)),)
        )
        return head, entries, Expected("messages", 0, "claude_md", "changed", "messages[0].content[0]")
    at = rng.randrange(len(entries))
    entry = entries[at]
    assert isinstance(entry, UserEntry | AssistantEntry)
    number = rng.randrange(len(entry.content))
    content = list(entry.content)
    content[number] = changed_block(content[number], rng)
    entries[at] = msgspec.structs.replace(entry, content=tuple(content))
    index = at + 1  # the user context stands in front
    return found, entries, Expected("messages", index, entry.uuid, "changed", f"messages[{index}].content[{number}]")


def changed_block(block: object, rng: random.Random) -> TextBlock | ToolUseBlock | ToolResultBlock:
    match block:
        case TextBlock(text=text):
            return TextBlock(flipped(text, rng))
        case ToolUseBlock(id=call, name=name):
            return ToolUseBlock(call, name, raw_json({"path": f"/q/{rng.randrange(10**6)}.py"}))
        case ToolResultBlock(tool_use_id=call, content=str(text)):
            return ToolResultBlock(call, flipped(text, rng))
        case _:
            raise AssertionError(block)


def one_case(rng: random.Random) -> str | None:
    """What is wrong with the answer for one random change; `None` when it is right."""
    entries = history()
    match rng.choice(["tools", "system", "messages"]):
        case "tools":
            head, expected = mutate_tools(rng)
        case "system":
            head, expected = mutate_system(rng)
        case _:
            head, entries, expected = mutate_messages(rng)
    before = compiled(compile_head(parts()), history())
    after = compiled(compile_head(head), entries)
    difference = first_difference(before, after)
    bodies = compare_bodies(*(body_elements(msgspec.json.decode(one.body)) for one in (before, after)))
    if difference is None or bodies is None:
        return f"{expected}: nothing was found"
    place = (difference.region.value, difference.index)
    named = f" {expected.name} {expected.verb} in {expected.region}[{expected.index}]"
    if place != (expected.region, expected.index) or not difference.cause.endswith(named):
        return f"{expected}: {difference.cause}"
    return None if bodies.path == expected.path else f"{expected}: {bodies.path}"


@pytest.mark.req("R093", "R260", "R270")
def test_the_cause_of_a_thousand_random_changes_is_named_right() -> None:
    rng = random.Random(20261201)
    wrong = [problem for problem in (one_case(rng) for _ in range(MUTATIONS)) if problem is not None]
    assert wrong == []
