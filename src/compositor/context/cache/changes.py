"""What a change would cost before anybody makes it: which part of the prefix is lost, and what writing it again costs more than reading it.

Decides from the official table of what a change keeps (wire page 4.7), held as data, and from a forecast. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from compositor.config.price import Price
from compositor.types.request import RequestOptions, Ttl

from .forecast import Forecast
from .positions import Position


class Change(Struct, frozen=True, kw_only=True):
    """A change that a person may plan. `keeps` names what stays readable: nothing, `tools`, `static` (the first system block), `system`, `context` or `all`."""

    name: str
    keeps: str
    note: str


CHANGES: tuple[Change, ...] = (
    Change(name="another model", keeps="", note="entries belong to one model"),
    Change(name="a server's tools in the list", keeps="", note="tools stand in front of everything"),
    Change(name="a server's tools behind tool search", keeps="all", note="deferred tools stand outside the prefix"),
    Change(name="a memory file edited", keeps="all", note="the change is told at the tail; the recorded head stays"),
    Change(name="a new head (resumeHead: rebuild)", keeps="static", note="only the static system block stays"),
    Change(name="another speed", keeps="tools", note="system and messages are rendered anew"),
    Change(name="another effort, thinking or tool choice", keeps="system", note="messages are rendered anew"),
    Change(name="a first image", keeps="system", note="messages are rendered anew once there is an image"),
    Change(name="clear", keeps="context", note="the conversation ends; what stood in it is not sent again"),
    Change(name="a note appended", keeps="all", note="the prefix only grows"),
)
"""In the order in which they are shown."""


class ChangeCost(Struct, frozen=True, kw_only=True):
    """`lost` are estimated tokens that would have been read; `dollars` what writing them costs more than reading them (`None`: no price)."""

    name: str
    lost: int
    dollars: float | None
    note: str


def plan_changes(forecast: Forecast, price: Price | None, ttl: Ttl) -> tuple[ChangeCost, ...]:
    """Every change against a request as it is forecast now. What is cleared is not written again and costs nothing."""
    return tuple(_cost(change, forecast, price, ttl) for change in CHANGES)


def _cost(change: Change, forecast: Forecast, price: Price | None, ttl: Ttl) -> ChangeCost:
    kept = forecast.read if change.keeps == "all" else min(_kept(change.keeps, forecast.positions), forecast.read)
    lost = forecast.read - kept
    again = 0 if change.name == "clear" else lost
    return ChangeCost(
        name=change.name, lost=lost, dollars=rewrite_cost(again, forecast.total, price, ttl), note=change.note
    )


def rewrite_cost(tokens: int, prompt: int, price: Price | None, ttl: Ttl) -> float | None:
    """Dollars that it costs more to write `tokens` than to read them, in a prompt of `prompt` tokens; `None` without a price."""
    if price is None:
        return None
    tier = price.tier(prompt)
    return tokens * ((tier.write_1h if ttl is Ttl.LONG else tier.write_5m) - tier.read) / 1_000_000


def _kept(region: str, positions: Sequence[Position]) -> int:
    """Tokens up to the end of a region; what has no tools, system or context ends where the part before it ends."""
    prefixes = _UP_TO.get(region, ())
    return max((one.tokens for one in positions if one.what.startswith(prefixes)), default=0) if prefixes else 0


_UP_TO: dict[str, tuple[str, ...]] = {
    "tools": ("tools",),
    "static": ("tools", "system[0]"),
    "system": ("tools", "system"),
    "context": ("tools", "system", "messages[0]"),
}


_ATTRIBUTES = ("tool_choice", "thinking", "output_config", "speed")


def possible_break(before: RequestOptions, now: RequestOptions) -> str:
    """What of a request's attributes changed between two calls, as the end of a sentence; empty when nothing did.

    Only possible: what the service's own key is made of is not public (R261).
    """
    changed = [name for name in _ATTRIBUTES if getattr(before, name) != getattr(now, name)]
    if not changed:
        return ""
    return f"; {', '.join(changed)} changed, a possible break of the cache: the service's own key is not public"
