"""The words of a compaction: what the model is asked for, and what stands in place of the conversation afterwards.

Decides the texts (our own words) and how a summary is read out of an answer. A summary is carried by a user message and is no prompt of a
person (R316).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from compositor.context.memory.markdown import find_section
from compositor.types.blocks import ContentBlock, TextBlock

TOPICS: tuple[tuple[str, str], ...] = (
    ("Request", "what the user asked for, every later correction included, in the user's own terms"),
    ("Decisions", "what was decided and why; constraints and preferences that still hold"),
    ("Facts", "concepts, interfaces, commands and figures that the work depends on, exact names and values"),
    ("Files", "each file that matters: its path, what was read or changed there, short excerpts that will be needed"),
    ("Errors", "what went wrong, how it was solved, what the user said about it"),
    ("Open work", "what is asked for and not done yet"),
    ("Current step", "what was being done last, in detail: files, functions, the state of the tests"),
    ("Next step", "the one thing to do next, only if it follows from the user's latest request"),
)
"""What a summary must cover, in order: heading and content."""

_ASK = """\
This conversation is about to be replaced by a summary, because it fills most of the context window. Write that summary now. Whoever goes on \
has nothing but it, so put in everything that is needed to continue without asking again, and leave out what is settled and no longer matters. \
Do not call a tool; answer with text only.

Use these headings, in this order:

{topics}

Write the summary between <summary> and </summary>, and nothing after it."""

_CARRIED = """\
The earlier part of this conversation was replaced by the summary below, because it no longer fit the context window. Go on from it; do not ask \
about what it already answers, and do not speak of the summary itself."""

_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)
_ASIDE = re.compile(r"<(analysis|thinking)>.*?</\1>", re.DOTALL)


class Summary(Struct, frozen=True, kw_only=True):
    """What stands in place of the conversation. `method` names who wrote it: model, session memory, service, or none."""

    text: str
    method: str


def summary_prompt(focus: str = "", instructions: str = "") -> str:
    """What the model is asked for. `focus` comes with the command, `instructions` from the project's files; both are the user's."""
    topics = "\n".join(f"{number}. **{name}**: {what}." for number, (name, what) in enumerate(TOPICS, start=1))
    parts = [_ASK.format(topics=topics)]
    if instructions.strip():
        parts.append(f"The project's own instructions for summaries:\n{instructions.strip()}")
    if focus.strip():
        parts.append(f"The user asks to pay special attention to this: {focus.strip()}")
    return "\n\n".join(parts)


def read_summary(text: str) -> str:
    """The summary in an answer: what stands between its tags, else all of it without asides. Empty when there is none."""
    found = _SUMMARY.search(text)
    return (found[1] if found else _ASIDE.sub("", text)).strip()


def compact_instructions(documents: Iterable[str]) -> str:
    """The "Compact instructions" sections of the instruction files, in their order (project-conventions 10.5)."""
    found = (find_section(text, "compact instructions") for text in documents)
    return "\n\n".join(section.strip() for section in found if section.strip())


def carried_content(summary: Summary, *, request: str = "", record: str = "") -> tuple[ContentBlock, ...]:
    """The content of the user message that carries a summary.

    `request` is the prompt that is being worked on when it is not kept as a message, `record` the file with the whole conversation.
    """
    parts = [f"{_CARRIED}\n\n<summary>\n{summary.text}\n</summary>"]
    if request:
        parts.append(f"The user's request that is being worked on, word for word:\n\n{_quoted(request)}")
    if record:
        parts.append(f"If an exact detail is missing, the whole conversation is in {record}.")
    return tuple(TextBlock(part) for part in parts)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines())
