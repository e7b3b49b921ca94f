"""The choices about the prompt cache: what the table `compositor.cache` says, and the server-side edits it asks for.

Decides the body of `context_management` from the settings (R272, R273; wire page 5.1). Values that are sent are latched for the session by
`loop/resume.py`; whether model and platform take them is decided by the gates of `options.py`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Raw, Struct

from compositor.types.json import raw_json


class EditSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """`compositor.cache.edits`: when the service clears old tool results itself. Tokens, and a number of calls that stay."""

    trigger: int = 100_000
    keep: int = 3
    clear_at_least: int | None = None
    exclude_tools: tuple[str, ...] = ()


class CacheSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """The table `compositor.cache`."""

    prefix: Literal["warn", "ask", "refuse"] = "warn"
    diagnostics: bool = True
    long_lifetime: tuple[str, ...] = ("*",)
    expired: Literal["keep", "clean"] = "keep"
    keep_results: int = 5
    edits: EditSettings | None = None

    @property
    def kept_when_expired(self) -> int | None:
        """How many of the newest results stay once the cache has expired; `None` keeps them all."""
        return self.keep_results if self.expired == "clean" else None


def edits_body(edits: EditSettings | None) -> Raw | None:
    """The `context_management` of every request of a session; `None` where nothing is asked for."""
    if edits is None:
        return None
    edit: dict[str, Any] = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": edits.trigger},
        "keep": {"type": "tool_uses", "value": edits.keep},
    }
    if edits.clear_at_least is not None:
        edit["clear_at_least"] = {"type": "input_tokens", "value": edits.clear_at_least}
    if edits.exclude_tools:
        edit["exclude_tools"] = list(edits.exclude_tools)
    return raw_json({"edits": [edit]})
