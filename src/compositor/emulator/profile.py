"""What the stand-in pretends to be: the facts of one model and one account, as values the caller gives.

Decides nothing; a test or the wiring fills it from the product's own model profile.
"""

from __future__ import annotations

from msgspec import Struct


class ServiceProfile(Struct, frozen=True, kw_only=True):
    """All sizes in tokens.

    `cache_minimum` is the shortest prefix that is kept, `bytes_per_token` the rule by which everything is counted. `betas` are
    the names that may stand in `anthropic-beta`; `None` takes any. `keys` are the credentials that are let in; `None` asks for none.
    """

    cache_minimum: int = 1024
    bytes_per_token: int = 4
    window: int = 200_000
    max_output: int = 64_000
    system_role: bool = False
    prefill: bool = False
    betas: frozenset[str] | None = None
    keys: frozenset[str] | None = None
