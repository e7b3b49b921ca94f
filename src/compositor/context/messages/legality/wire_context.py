"""What the rules must know beside the body: version, betas, platform, and what the model can do, as plain values.

Decides the vocabulary. Never knows a model or a platform by name: whoever has a profile fills the fields in. `None` means
unknown; a rule that needs an unknown ability is not judged.
"""

from __future__ import annotations

from msgspec import Struct

CURRENT_VERSION = "2026-10-21"
"""The API version without sampling parameters, documents in assistant messages and citations in user text."""

MIB = 1024 * 1024


class WireContext(Struct, frozen=True, kw_only=True):
    """The circumstances of one request. The defaults are those of the Claude API and a model nobody knows.

    `body_limit` and `image_limit` are in bytes, `max_output` and `window` in tokens. `versioned_body`: version, betas and
    model travel in the body or the address. `counting`: the body goes to `count_tokens`. `sampling`: the model takes
    non-default sampling parameters in the older version (L10). `mid_effort`: a system message may set the effort (L37).
    `off_effort_cap`: the highest effort at which thinking may be off (L92), `None` for no limit.
    """

    api_version: str = CURRENT_VERSION
    betas: tuple[str, ...] = ()
    counting: bool = False
    body_limit: int = 32 * MIB
    image_limit: int = 10 * MIB
    automatic_caching: bool = True
    versioned_body: bool = False
    system_role: bool | None = None
    mid_effort: bool | None = None
    prefill: bool | None = None
    sampling: bool | None = None
    forced_tools: bool | None = None
    thinking: tuple[str, ...] | None = None
    efforts: tuple[str, ...] | None = None
    off_effort_cap: str | None = None
    max_output: int | None = None
    window: int | None = None

    @property
    def is_current(self) -> bool:
        """Whether the stricter version is in force. A version ends in its date, which compares as text."""
        return self.api_version[-len(CURRENT_VERSION) :] >= CURRENT_VERSION
