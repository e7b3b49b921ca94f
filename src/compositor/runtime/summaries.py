"""Gets a summary by asking the model behind the conversation, in at most a fixed number of tries.

Decides nothing: which prefixes are tried stands in `context/compaction/asking.py`, what an answer holds in `summary.py`. A call in the answer is never
dispatched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from compositor.context.compaction.asking import asking_prefixes
from compositor.context.compaction.budget import Budget
from compositor.context.compaction.summary import Summary, read_summary
from compositor.context.wire.assemble import AssembledMessage
from compositor.errors import CompileError
from compositor.loop.retry import Failure
from compositor.loop.session import Conversation, Stamp
from compositor.types.blocks import UnknownBlock
from compositor.types.json import raw_json

ON_DEMAND_BETA = "compact-2026-09-04"
MAX_INSTRUCTIONS = 16_384
"""Characters of instructions that the service takes (wire page 5.3)."""


class Asked(Struct, frozen=True, kw_only=True):
    """What came of a side request: its text and the whole message, or why there is none. `too_long`: the service refused its size."""

    text: str = ""
    message: AssembledMessage | None = None
    problem: str = ""
    too_long: bool = False


AskAside = Callable[[Conversation], Awaitable[Asked]]
"""Sends the conversation as it is given, outside the transcript."""


async def ask_summary(
    conversation: Conversation, words: str, *, budget: Budget, fits: bool, ask: AskAside, stamp: Stamp
) -> Summary | Asked:
    """The summary, or the last problem. The request reads what the cache holds and writes no throw-away tail (R256, R311)."""
    options = msgspec.structs.replace(
        conversation.options, skip_write=True, max_tokens=min(conversation.options.max_tokens, budget.summary)
    )
    failed = Asked(problem="the conversation does not fit, not even in part", too_long=True)
    for prefix in asking_prefixes(conversation.prefix, words, id=stamp.uuid, time=stamp.time, fits=fits):
        try:
            asked = await ask(Conversation(prefix=prefix, options=options))
        except CompileError as problem:
            failed = Asked(problem=problem.message, too_long=True)
            continue
        text = read_summary(asked.text)
        if text:
            return Summary(text=text, method="model")
        failed = asked if asked.problem else Asked(problem="the answer held no summary")
        if not asked.too_long:
            break
    return failed


async def ask_service(conversation: Conversation, words: str, *, ask: AskAside) -> Summary | Asked:
    """The summary as the service writes it, behind the conversation as it is: no words of ours are added to it (wire page 5.3).

    The text is taken and the signed block is not replayed: it would have to be the first of the conversation (L158), where the instruction
    files stand, and every later request would need its header (L164).
    """
    wanted = raw_json({"type": "summarize", "instructions": words[:MAX_INSTRUCTIONS]})
    prefix, betas = conversation.prefix, (*conversation.options.betas, ON_DEMAND_BETA)
    options = msgspec.structs.replace(conversation.options, compaction=wanted, betas=betas, stop_sequences=None)
    known = msgspec.structs.replace(prefix, wire=msgspec.structs.replace(prefix.wire, betas=betas))
    try:
        asked = await ask(Conversation(prefix=known, options=options))
    except CompileError as problem:
        return Asked(problem=problem.message, too_long=True)
    if asked.problem:
        return asked
    text = _service_text(asked.message)
    return Summary(text=text, method="service") if text else Asked(problem="the service wrote no summary")


def _service_text(message: AssembledMessage | None) -> str:
    for block in message.content if message is not None else ():
        if isinstance(block, UnknownBlock) and block.type == "compaction":
            content = msgspec.json.decode(block.raw).get("content")
            return content.strip() if isinstance(content, str) else ""
    return ""


def is_too_long(failure: Failure) -> bool:
    """Whether the service refused a request for its size (L19, L20)."""
    reply = failure.reply
    return reply is not None and reply.status in {400, 413} and any(words in reply.message for words in _TOO_LONG)


_TOO_LONG = ("prompt is too long", "exceed context limit", "context_length_exceeded", "maximum context length")
"""The service's words (L19, L20), and those of compatible servers."""
