"""Asks the servers before each request what they offer, and remembers what the model was told of it.

Decides nothing: what is news, and in which form it is told, is decided in `context/tools/deferral.py`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec.structs import replace

from compositor.config.contract import RunContract
from compositor.context.tools.deferral import Access, Deferral, News, plan_news, told_by
from compositor.loop.offering import plan_deferral
from compositor.loop.session import Conversation
from compositor.ports import ToolSource
from compositor.types.attachments import TextAttachment
from compositor.types.request import HeadTool
from compositor.types.tools import ToolDefinition
from compositor.types.verdicts import PermissionMode

PROMPT_KIND = "mcp_prompt"
"""The kind of the note with the text of a server's prompt."""


def split_call(prompt: str) -> tuple[str, tuple[str, ...]] | None:
    """Command and arguments of a typed `/mcp__server__prompt`, quotes as in a shell; `None` for anything else."""
    if not prompt.startswith("/mcp__"):
        return None
    try:
        command, *arguments = shlex.split(prompt.strip())
    except ValueError:
        command, *arguments = prompt.split()
    return command, tuple(arguments)


class Offering:
    """One session's view of its servers. `told` are the tools that its head holds already; `access` says how far it is."""

    def __init__(
        self,
        source: ToolSource,
        deferral: Deferral,
        *,
        told: Sequence[HeadTool],
        access: Access,
        denied: Sequence[str],
        mode: PermissionMode,
        instructs: bool = True,
    ) -> None:
        self._source = source
        self._deferral = deferral
        self._told = told_by(told)
        self._deferred = {tool.definition.name: tool.definition for tool in told if tool.definition.deferred}
        self._access = access
        self._denied = tuple(denied)
        self._mode = mode
        self._instructs = instructs

    async def news(self) -> News:
        """What the next request has to tell. From the first call on, the head takes no more tools."""
        news = plan_news(
            self._told,
            await self._source.listings(),
            self._deferral,
            access=self._access,
            denied=self._denied,
            mode=self._mode,
            instructs=self._instructs,
        )
        self._told, self._access = news.told, Access.SENT
        self._deferred.update({tool.definition.name: tool.definition for tool in news.deferred})
        return news

    async def typed(self, prompt: str) -> tuple[TextAttachment | None, str]:
        """A prompt of a server that was typed as a command (project-conventions 7.2): its text as a note, or why there is none."""
        words = split_call(prompt)
        if words is None:
            return None, ""
        command, arguments = words
        try:
            await self._source.listings()  # waits for servers that are still starting
            text = await self._source.run_command(command, arguments)
        except Exception as problem:  # noqa: BLE001 - whatever a server does is told to who typed
            return None, f"The prompt {command!r} of a server could not be had: {problem}"
        if text is None:
            return None, f"No server offers the prompt {command!r}."
        said = f"The user called the prompt {command} of a server. This is its text:\n\n{text}"
        return TextAttachment(kind=PROMPT_KIND, name=command, text=said), ""

    def tell_again(self) -> None:
        """The conversation does not hold what was told any more: instructions of servers, and which tools are away."""
        self._told = replace(self._told, gone=frozenset(), instructed=frozenset())

    def deferred(self) -> tuple[ToolDefinition, ...]:
        """The tools that a search can find: what the request holds deferred, under the names that the model knows."""
        return tuple(self._deferred.values())


def make_offering(
    source: ToolSource | None, contract: RunContract, conversation: Conversation, wish: str | None
) -> Offering | None:
    """The offering of an opened session; `None` without servers. `wish` is what `ENABLE_TOOL_SEARCH` says."""
    if source is None:
        return None
    prefix = conversation.prefix
    return Offering(
        source,
        replace(plan_deferral(contract, wish), adds=prefix.facts.tool_changes),
        told=prefix.head.parts.tools,
        access=Access.SENT if len(prefix.settled) else Access.OPEN,
        denied=[name for name, _ in contract.facts.denied],
        mode=contract.policy.mode,
        instructs=contract.settings.compositor.mcp_instructions == "delta",
    )
