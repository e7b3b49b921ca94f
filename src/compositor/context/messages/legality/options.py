"""The rules of the scalars: limits, thinking, forced tools, sampling, context edits, compaction on demand.

Reads decoded fields of a body by name and trusts none of them to have the right type: a wrong type is the shape's
business. Never looks at messages, tools or markers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .rules import Violation
from .schemas import EFFORTS
from .shape import check_option_shape
from .wire_context import WireContext

Options = Mapping[str, Any]
OptionRule = Callable[[Options, WireContext], Iterator[Violation]]

SAMPLING = {"temperature": 1, "top_p": 1, "top_k": None}
"""The sampling parameters and their neutral values."""

MIN_BUDGET = 1024
MIN_TRIGGER = 50_000
MAX_USER_ID = 256
INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"


def check_options(options: Options, context: WireContext) -> Iterator[Violation]:
    """Every rule of the fields beside tools, system and messages, their shape included."""
    yield from check_option_shape(options, context)
    yield from check_option_relations(options, context)


def check_option_relations(options: Options, context: WireContext) -> Iterator[Violation]:
    """What the scalars have to do with each other and with the model."""
    for rule in OPTION_RULES:
        yield from rule(options, context)


def thinking_kind(options: Options) -> str | None:
    """The kind of thinking that is asked for, `None` when the field is absent."""
    kind = _part(options, "thinking").get("type")
    return kind if isinstance(kind, str) else None


def _part(options: Options, name: str) -> Options:
    value = options.get(name)
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _forced(options: Options) -> bool:
    return _part(options, "tool_choice").get("type") in ("any", "tool")


def _effort(options: Options) -> object:
    return _part(options, "output_config").get("effort")


def _sampling(options: Options, context: WireContext) -> Iterator[Violation]:
    for name, neutral in SAMPLING.items():
        if name not in options:
            continue
        if context.is_current:
            yield Violation("L10", name, f"version {context.api_version} has no sampling parameters")
        elif context.sampling is False and options[name] != neutral:
            yield Violation("L10", name, "the model takes the default value only")


def _max_tokens(options: Options, context: WireContext) -> Iterator[Violation]:
    limit = _number(options.get("max_tokens"))
    if limit is None:
        return
    if context.max_output is not None and limit > context.max_output:
        yield Violation("L18", "max_tokens", f"{limit} is above the model's {context.max_output}")
    if limit == 0:
        for reason in _not_when_warming(options):
            yield Violation("L21", "max_tokens", f"0 only warms the cache and excludes {reason}")


def _not_when_warming(options: Options) -> Iterator[str]:
    if options.get("stream") is True:
        yield "streaming"
    if thinking_kind(options) == "enabled":
        yield "manual thinking"
    if "format" in _part(options, "output_config"):
        yield "an output format"
    if _forced(options):
        yield "a forced tool"


def _user_id(options: Options, _context: WireContext) -> Iterator[Violation]:
    user = _part(options, "metadata").get("user_id")
    if not isinstance(user, str):
        return
    if len(user) > MAX_USER_ID:
        yield Violation("L22", "metadata.user_id", f"{len(user)} characters are above {MAX_USER_ID}")
    elif "@" in user:
        yield Violation("L22", "metadata.user_id", "looks like an address; it should be opaque")


def _budget(options: Options, context: WireContext) -> Iterator[Violation]:
    thinking = _part(options, "thinking")
    budget = _number(thinking.get("budget_tokens"))
    if thinking.get("type") != "enabled" or budget is None:
        return
    limit = _number(options.get("max_tokens"))
    if budget < MIN_BUDGET:
        yield Violation("L90", "thinking.budget_tokens", f"{budget} is below {MIN_BUDGET}")
    elif limit is not None and budget >= limit and INTERLEAVED_BETA not in context.betas:
        yield Violation("L90", "thinking.budget_tokens", f"{budget} is not below max_tokens {limit}")


def _thinking_of_model(options: Options, context: WireContext) -> Iterator[Violation]:
    kind = thinking_kind(options)
    if kind is not None and context.thinking is not None and kind not in context.thinking:
        yield Violation("L91", "thinking.type", f"the model does not take {kind!r}")
    effort, cap = _effort(options), context.off_effort_cap
    if kind in {"disabled", "between_tools"} and cap in EFFORTS and effort in EFFORTS[EFFORTS.index(cap) + 1 :]:
        yield Violation("L92", "output_config.effort", f"{effort!r} is above {cap!r} while thinking is not on")


def _efforts_of_model(options: Options, context: WireContext) -> Iterator[Violation]:
    effort = _effort(options)
    if isinstance(effort, str) and context.efforts is not None and effort not in context.efforts:
        yield Violation("W08", "output_config.effort", f"the model does not know {effort!r}")


def _forced_tools(options: Options, context: WireContext) -> Iterator[Violation]:
    if not _forced(options):
        return
    if context.forced_tools is False:
        yield Violation("L94", "tool_choice.type", "the model takes no forced tool")
    elif thinking_kind(options) == "enabled":
        yield Violation("L93", "tool_choice.type", "manual thinking excludes a forced tool")


def _automatic_caching(options: Options, context: WireContext) -> Iterator[Violation]:
    if options.get("cache_control") is not None and not context.automatic_caching:
        yield Violation("L135", "cache_control", "the platform has no automatic caching")


def _edits(options: Options, _context: WireContext) -> Iterator[Violation]:
    edits = _part(options, "context_management").get("edits")
    for index, edit in enumerate(edits if isinstance(edits, list) else ()):
        if not isinstance(edit, Mapping):
            continue
        path = f"context_management.edits[{index}]"
        if edit.get("type") == "clear_thinking_20251015":
            yield from _clear_thinking(edit, index, path, options)
        elif edit.get("type") == "compact_20260112" and edit.get("trigger") is not None:
            yield from _trigger(edit["trigger"], f"{path}.trigger")


def _clear_thinking(edit: Options, index: int, path: str, options: Options) -> Iterator[Violation]:
    if index:
        yield Violation("L151", path, "clearing of thinking must come first")
    # Absent is not off: newer models think by default.
    if thinking_kind(options) == "disabled":
        yield Violation("L152", path, "clearing of thinking needs thinking")
    keep = edit.get("keep")
    if keep is None or keep == "all":
        return
    kind = keep.get("type") if isinstance(keep, Mapping) else None
    turns = _number(keep.get("value")) if isinstance(keep, Mapping) else None
    if kind != "all" and not (kind == "thinking_turns" and turns is not None and turns > 0):
        yield Violation("L153", f"{path}.keep", "must keep one turn at least, or all")


def _trigger(trigger: object, path: str) -> Iterator[Violation]:
    value = _number(trigger.get("value")) if isinstance(trigger, Mapping) else None
    if not isinstance(trigger, Mapping) or trigger.get("type") != "input_tokens":
        yield Violation("L154", path, "must count input_tokens")
    elif value is None or value < MIN_TRIGGER:
        yield Violation("L154", f"{path}.value", f"must be {MIN_TRIGGER} at least")


def _on_demand(options: Options, _context: WireContext) -> Iterator[Violation]:
    if options.get("compaction") is None:
        return
    output = _part(options, "output_config")
    budget = output.get("task_budget")
    excluded = (
        ("context_management", options.get("context_management") is not None),
        ("stop_sequences", bool(options.get("stop_sequences"))),
        ("output_config.format", output.get("format") is not None),
        ("tool_choice", _forced(options)),
        ("output_config.task_budget.remaining", isinstance(budget, Mapping) and budget.get("remaining") is not None),
    )
    for path, is_there in excluded:
        if is_there:
            yield Violation("L156", path, "cannot stand beside compaction on demand")


OPTION_RULES: tuple[OptionRule, ...] = (
    _sampling,
    _max_tokens,
    _user_id,
    _budget,
    _thinking_of_model,
    _efforts_of_model,
    _forced_tools,
    _automatic_caching,
    _edits,
    _on_demand,
)
