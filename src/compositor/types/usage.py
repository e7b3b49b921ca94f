"""Token usage as the Messages API reports it (wire page 4.6), and sums of it.

Decides how usage adds up. Never estimates: that is `context/tokens.py`.
"""

from __future__ import annotations

from msgspec import Struct


class CacheCreation(Struct, frozen=True, omit_defaults=True):
    ephemeral_5m_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0


class Usage(Struct, frozen=True, omit_defaults=True):
    """Counts of one response, or of several added together. All in tokens."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None

    @property
    def written(self) -> int:
        return self.cache_creation_input_tokens or 0

    @property
    def read(self) -> int:
        return self.cache_read_input_tokens or 0

    @property
    def total_input(self) -> int:
        """Everything the model read: `input_tokens` counts only what stands after the last breakpoint."""
        return self.input_tokens + self.written + self.read


def add_usage(first: Usage, second: Usage) -> Usage:
    """The sum of two usages, field by field."""
    one, two = first.cache_creation or CacheCreation(), second.cache_creation or CacheCreation()
    return Usage(
        input_tokens=first.input_tokens + second.input_tokens,
        output_tokens=first.output_tokens + second.output_tokens,
        cache_creation_input_tokens=first.written + second.written,
        cache_read_input_tokens=first.read + second.read,
        cache_creation=CacheCreation(
            ephemeral_5m_input_tokens=one.ephemeral_5m_input_tokens + two.ephemeral_5m_input_tokens,
            ephemeral_1h_input_tokens=one.ephemeral_1h_input_tokens + two.ephemeral_1h_input_tokens,
        ),
    )
