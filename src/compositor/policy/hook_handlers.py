"""One handler of a hook as settings write it: its kind, its fields, and what is wrong with it (project-conventions 4.4).

Decides what a handler is. Whose handlers count, and which of them hear an event, is decided in `hooks`; nothing runs here.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from compositor.config.layer import Layer, Level
from compositor.config.settings import Settings

from .hook_table import EVENTS, MODEL_EVENTS, NO_HTTP


class HookKind(enum.StrEnum):
    COMMAND = "command"
    HTTP = "http"
    MCP_TOOL = "mcp_tool"
    PROMPT = "prompt"
    CALLBACK = "callback"
    """A function of the program that started the run; no settings file can name one."""


PROMPT_SECONDS = 30.0
"""How long the model may take for the verdict of a prompt (project-conventions 4.4)."""


class Hook(Struct, frozen=True, kw_only=True):
    """One handler. `guard`: without a verdict of it nothing runs. `seconds` is its time limit.

    `shared`: it came with the repository. `command` is a shell line, or with `args` a program; `url` is where an HTTP handler listens. `headers` may name variables of
    `allowed_env`. `server` and `tool` name a tool of an MCP server, `input` is its input as JSON with places for fields of the event; `prompt` is what the
    model is asked; `callback` is what the program calls its function.
    """

    event: str
    kind: HookKind
    level: Level
    file: str
    matcher: str = ""
    condition: str | None = None
    command: str = ""
    args: tuple[str, ...] | None = None
    url: str = ""
    server: str = ""
    tool: str = ""
    input: str = "{}"
    prompt: str = ""
    callback: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    allowed_env: tuple[str, ...] = ()
    seconds: float = 600.0
    guard: bool = False
    background: bool = False
    shared: bool = False

    @property
    def name(self) -> str:
        """How messages call it: what runs, and who wrote it."""
        words = {
            HookKind.COMMAND: " ".join((self.command, *(self.args or ()))),
            HookKind.HTTP: self.url,
            HookKind.MCP_TOOL: f"{self.tool} of {self.server}",
            HookKind.PROMPT: f"prompt {self.prompt!r}",
            HookKind.CALLBACK: f"callback {self.callback}",
        }
        return f"{words[self.kind][:80]} ({self.level.value})"

    @property
    def is_guard(self) -> bool:
        return self.guard or self.level is Level.MANAGED


def read_handler(event: str, matcher: str, fields: dict[str, Any], layer: Layer, settings: Settings) -> Hook:
    """The handler that `fields` describes; call it for one that has no fault."""
    seconds, args, names = fields.get("timeout"), fields.get("args"), fields.get("allowedEnvVars")
    limit, kind = settings.values.get("httpHookAllowedEnvVars"), HookKind(fields["type"])
    usual = PROMPT_SECONDS if kind is HookKind.PROMPT else EVENTS[event].seconds
    return Hook(
        event=event,
        kind=kind,
        level=layer.level,
        file=layer.file,
        matcher=matcher,
        condition=fields.get("if"),
        command=fields.get("command", ""),
        args=tuple(map(str, args)) if isinstance(args, list) else None,
        url=fields.get("url", ""),
        server=fields.get("server", ""),
        tool=fields.get("tool", ""),
        input=json.dumps(fields.get("input", {})),
        prompt=fields.get("prompt", ""),
        headers=tuple(sorted((str(name), str(value)) for name, value in fields.get("headers", {}).items())),
        allowed_env=tuple(str(name) for name in names if not isinstance(limit, list) or name in limit)
        if isinstance(names, list)
        else (),
        seconds=float(seconds) if isinstance(seconds, (int, float)) and seconds > 0 else usual,
        guard=fields.get("guard") is True,
        background=fields.get("async") is True and kind is HookKind.COMMAND,
        shared=layer.shared,
    )


def handler_fault(event: str, handler: Any, settings: Settings) -> str | None:
    """Why this is no handler that can be run; `None` when it is one."""
    if not isinstance(handler, dict):
        return "it is no object"
    check = _CHECKS.get(str(handler.get("type")))
    if check is None:
        return f"its type {handler.get('type')!r} is not run by this version"
    return check(event, handler, settings)


def fill_input(template: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The input of a tool: `${tool_input.file_path}` stands for a field of the event.

    A string that is nothing but one place becomes the field as it is; inside a longer string it becomes text. A field that the event
    does not have is an empty string.
    """

    def put(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: put(one) for key, one in value.items()}
        if isinstance(value, list):
            return [put(one) for one in value]
        if not isinstance(value, str):
            return value
        whole = _PLACE.fullmatch(value)
        return _field(fields, whole[1]) if whole else _PLACE.sub(lambda found: _text(_field(fields, found[1])), value)

    return {key: put(value) for key, value in json.loads(template).items()}


def _check_command(_event: str, handler: dict[str, Any], _settings: Settings) -> str | None:
    return None if _has_text(handler, "command") else "it has no command"


def _check_http(event: str, handler: dict[str, Any], settings: Settings) -> str | None:
    url = handler.get("url")
    if event in NO_HTTP or not isinstance(url, str) or not re.match(r"https?://", url):
        return "it has no address, or the event takes none"
    allowed = settings.values.get("allowedHttpHookUrls")
    if isinstance(allowed, list) and not any(_fits_url(str(pattern), url) for pattern in allowed):
        return f"the address {url!r} is not among the allowed ones"
    return None if isinstance(handler.get("headers", {}), dict) else "its headers are no object"


def _check_tool(_event: str, handler: dict[str, Any], _settings: Settings) -> str | None:
    if not (_has_text(handler, "server") and _has_text(handler, "tool")):
        return "it names no server and tool"
    return None if isinstance(handler.get("input", {}), dict) else "its input is no object"


def _check_prompt(event: str, handler: dict[str, Any], _settings: Settings) -> str | None:
    if event not in MODEL_EVENTS:
        return "the event takes no prompt"
    return None if _has_text(handler, "prompt") else "it has no prompt"


_CHECKS: dict[str, Callable[[str, dict[str, Any], Settings], str | None]] = {
    HookKind.COMMAND.value: _check_command,
    HookKind.HTTP.value: _check_http,
    HookKind.MCP_TOOL.value: _check_tool,
    HookKind.PROMPT.value: _check_prompt,
}
_PLACE = re.compile(r"\$\{([A-Za-z0-9_.]+)\}")


def _has_text(handler: dict[str, Any], key: str) -> bool:
    return isinstance(handler.get(key), str) and bool(handler[key].strip())


def _field(fields: Mapping[str, Any], path: str) -> Any:
    found: Any = fields
    for key in path.split("."):
        found = found.get(key, "") if isinstance(found, Mapping) else ""
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _fits_url(pattern: str, url: str) -> bool:
    return re.fullmatch(".*".join(re.escape(piece) for piece in pattern.split("*")), url) is not None
