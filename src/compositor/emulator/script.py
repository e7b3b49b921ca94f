"""The script that plays the model: turns by capability, conditions on the request, faults.

Decides the format (docs/reference/emulator.md) and which tool of the request an action means. Never sends, never counts: that
is `core.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from compositor.errors import ConfigError

from .conversation import as_blocks, is_result
from .gateway import Gateway
from .limits import Limits


class Condition(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the request must show. All that is set must hold.

    The first two look at the results of the last tool calls; `text_contains` at the last message of a person, `system_contains` at
    the system prompt; `offers` at the tools, by name; `beta` at the header; `messages` asks for at least so many.
    """

    result_contains: str | None = None
    result_is_error: bool | None = None
    text_contains: str | None = None
    system_contains: str | None = None
    offers: str | None = None
    model: str | None = None
    beta: str | None = None
    messages: int | None = None


class Fault(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that goes wrong with a turn, `times` times; then the turn is asked for again.

    Exactly one of the first seven is set. `status`: an error answer. `error`: an error event of this type. `reset`, `stall`,
    `torn`: the connection breaks, falls silent, or ends inside an event, each after so many events (`reset: 0` is no answer at
    all). `slow`: seconds between pieces of an answer that is whole otherwise. `usage`: counters of an answer that is whole
    otherwise and counts wrongly. `after` counts the events before `error`.
    """

    status: int | None = None
    error: str | None = None
    reset: int | None = None
    stall: int | None = None
    torn: int | None = None
    slow: float | None = None
    usage: dict[str, int] | None = None
    retry_after: float | None = None
    code: str | None = None
    message: str = "a scripted fault"
    after: int = 2
    times: int = 1

    @property
    def is_whole(self) -> bool:
        """Whether the answer comes all the same, so that the turn is used up."""
        return self.slow is not None or self.usage is not None


class Part(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Some blocks of an answer: thinking, hidden thinking, text with its citations, calls, in this order."""

    think: str | None = None
    redact: bool = False
    say: str | None = None
    citations: tuple[dict[str, Any], ...] = ()
    do: tuple[dict[str, Any], ...] = ()


class Turn(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One answer of the model: thinking, then text, then tool calls; in another order as a list of `parts`.

    `stop` is the stop reason where it is not the natural one; `max_tokens` cuts the last block in half. `wait` seconds pass on
    the stand-in's clock before the request arrives, `latency` seconds until the answer begins. A turn whose `when` does not hold
    is passed over. `category` goes with the stop reason `refusal`.
    """

    say: str | None = None
    think: str | None = None
    do: tuple[dict[str, Any], ...] = ()
    parts: tuple[Part, ...] = ()
    stop: str | None = None
    category: str | None = None
    when: Condition | None = None
    wait: float = 0.0
    latency: float = 0.0
    faults: tuple[Fault, ...] = ()

    @property
    def all_parts(self) -> tuple[Part, ...]:
        return self.parts or (Part(think=self.think, say=self.say, do=self.do),)


class Script(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole play. `repeat`: it begins anew when no turn is left.

    `urls`: address to what stands there, one item for each request that names it, the last one for all later ones.

    `summaries`: what compaction writes, in order, the last one for all later ones; null is a summary that failed.
    """

    turns: tuple[Turn, ...]
    repeat: bool = False
    urls: dict[str, tuple[str, ...]] = {}
    summaries: tuple[str | None, ...] = ("The conversation so far, in short.",)
    gateway: Gateway = Gateway()
    limits: Limits = Limits()


class ToolMissing(Struct, frozen=True):
    """The request offers no tool for what the script wants to do; `reason` says which."""

    reason: str


class ScriptedCall(Struct, frozen=True):
    """One call of the model: the tool's name and its input."""

    name: str
    input: dict[str, Any]


def parse_script(text: str, *, path: str | None = None) -> Script:
    """Read a script in YAML or JSON. Raises `ConfigError` with the place."""
    import yaml  # heavy, and only scripts need it

    try:
        script = msgspec.convert(yaml.safe_load(text), Script)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else None
        raise ConfigError(f"The script is no YAML document: {problem.problem}", path=path, line=line) from problem
    except (yaml.YAMLError, msgspec.ValidationError) as problem:
        reason = " ".join(str(problem).split())
        raise ConfigError(f"The script cannot be read: {reason}", path=path) from problem
    for number, turn in enumerate(script.turns, start=1):
        _check_turn(turn, number, path)
    return script


def resolve_action(action: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> ScriptedCall | ToolMissing:
    """What one action means by the request's own tool list."""
    ((verb, given),) = action.items()
    if verb == "call":
        if all(tool["name"] != given["tool"] for tool in tools):
            return ToolMissing(f"the request offers no tool {given['tool']!r}")
        return ScriptedCall(given["tool"], dict(given.get("input") or {}))
    capability = CAPABILITIES[verb]
    tool = _find_tool(capability, tools)
    if tool is None:
        names = ", ".join(capability.tools)
        return ToolMissing(f"the request offers no tool that can {verb!r}; it would be one of {names}")
    properties = tool["input_schema"].get("properties") or {}
    fields = given if isinstance(given, dict) else {capability.main: given}
    result: dict[str, Any] = {}
    for key, value in fields.items():
        name = next((name for name in capability.fields.get(key, (key,)) if name in properties), None)
        if name is None:
            return ToolMissing(f"the tool {tool['name']!r} has no input for {key!r} of {verb!r}")
        result[name] = value
    return ScriptedCall(tool["name"], result)


def holds(condition: Condition | None, body: Mapping[str, Any], betas: frozenset[str] = frozenset()) -> bool:
    """Whether `condition` holds for a request."""
    if condition is None:
        return True
    last = as_blocks(body["messages"][-1].get("content"))
    results = [block for block in last if is_result(block)]
    if (condition.result_contains, condition.result_is_error) != (None, None) and not results:
        return False
    wrong = any(result.get("is_error") for result in results)
    system = "\n".join(block["text"] for block in as_blocks(body.get("system") or []))
    return (
        condition.result_is_error in (None, wrong)
        and _within(condition.result_contains, *map(_text, results))
        and _within(condition.text_contains, *(str(block.get("text", "")) for block in last))
        and _within(condition.system_contains, system)
        and (condition.offers is None or any(tool.get("name") == condition.offers for tool in body.get("tools") or ()))
        and condition.model in (None, body["model"])
        and (condition.beta is None or condition.beta in betas)
        and (condition.messages is None or len(body["messages"]) >= condition.messages)
    )


def _within(wanted: str | None, *texts: str) -> bool:
    return wanted is None or any(wanted in text for text in texts)


class Capability(Struct, frozen=True):
    """How one verb of the script finds its tool: by name, in this order, and by the names of the tool's inputs."""

    tools: tuple[str, ...]
    main: str
    fields: Mapping[str, tuple[str, ...]]


_PATH = ("file_path", "path", "filename")
CAPABILITIES: dict[str, Capability] = {
    "read": Capability(("read", "read_file", "view"), "path", {"path": _PATH}),
    "write": Capability(("write", "write_file"), "path", {"path": _PATH, "content": ("content", "text")}),
    "edit": Capability(
        ("edit", "edit_file", "str_replace"),
        "path",
        {"path": _PATH, "old": ("old_string", "old_str"), "new": ("new_string", "new_str")},
    ),
    "run": Capability(("bash", "shell", "run_command"), "command", {"command": ("command", "cmd")}),
    "find": Capability(("glob", "find_files"), "pattern", {"pattern": ("pattern", "glob"), "path": ("path",)}),
    "search": Capability(("grep", "search"), "pattern", {"pattern": ("pattern", "regex"), "path": ("path",)}),
    "find_tools": Capability(("toolsearch", "tool_search", "search_tools"), "query", {"query": ("query", "pattern")}),
}


def _find_tool(capability: Capability, tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    by_name = {str(tool["name"]).lower(): tool for tool in tools if "input_schema" in tool}
    return next((by_name[name] for name in capability.tools if name in by_name), None)


def _text(result: Mapping[str, Any]) -> str:
    content = result.get("content") or ""
    blocks = [{"text": content}] if isinstance(content, str) else content
    return "\n".join(str(block.get("text", "")) for block in blocks)


def _check_turn(turn: Turn, number: int, path: str | None) -> None:
    problem = _turn_problem(turn)
    if problem:
        raise ConfigError(f"Turn {number} of the script {problem}", path=path, key=f"turns[{number - 1}]")


def _turn_problem(turn: Turn) -> str | None:
    verbs = (*CAPABILITIES, "call", "server")
    for action in (action for part in turn.all_parts for action in part.do):
        verb = next(iter(action), "")
        if len(action) != 1 or verb not in verbs:
            return f"has an item of 'do' that is not one of {', '.join(verbs)}"
        named = isinstance(action[verb], dict) and isinstance(action[verb].get("tool"), str)
        if verb in {"call", "server"} and not named:
            return f"has a {verb!r} without a 'tool'"
    if turn.parts and (turn.say is not None or turn.think is not None or turn.do):
        return "has 'parts' beside think, say or do"
    for fault in turn.faults:
        kinds = (fault.status, fault.error, fault.reset, fault.stall, fault.torn, fault.slow, fault.usage)
        if sum(kind is not None for kind in kinds) != 1:
            return "has a fault that is not exactly one of status, error, reset, stall, torn, slow, usage"
    if all(part == Part() for part in turn.all_parts) and turn.stop is None:
        return "says and does nothing"
    return None
