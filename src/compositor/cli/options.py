"""The flags that `run`, `compile` and `explain` share, and the one value they become (R007).

Decides the spelling of flags and which of them exclude each other. Never resolves a flag against settings: that is
`config/contract.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from compositor.config.flags import (
    Flags,
    PromptText,
    parse_effort,
    parse_mode,
    parse_sources,
    parse_tools,
    split_rules,
    split_words,
)
from compositor.config.profile import Effort
from compositor.errors import UsageError
from compositor.types.verdicts import PermissionMode

Command = TypeVar("Command", bound=Callable[..., Any])


def contract_options(command: Command) -> Command:
    """Add PROMPT and every flag that takes part in the run contract; `flags_from` reads them."""
    return _add(command, (_PROMPT, _PROJECT, *_CONTRACT))


def session_options(command: Command) -> Command:
    """Add every flag of the run contract but the project, for commands that are told it by others."""
    return _add(command, _CONTRACT)


def run_options(command: Command) -> Command:
    """Add what `contract_options` adds, and the flags of a run: session, output, stand-in."""
    return _add(command, (_PROMPT, *_RUN, *_SESSION, _PROJECT, *_CONTRACT))


def chat_options(command: Command) -> Command:
    """Add the flags of the interactive prompt: session, stand-in, and every flag that takes part in the run contract."""
    return _add(command, (*_SESSION, *_CHAT, _PROJECT, *_CONTRACT))


def flags_from(values: Mapping[str, Any]) -> Flags:
    """The flags as one value; what belongs to the command itself (prompt, project, session, output) is left alone.

    Reads the prompt files. Raises `UsageError` for flags that exclude each other, for text that is none, and for a prompt file
    that cannot be read.
    """
    _check_texts(values)
    effort, mode = values.get("effort"), values.get("permission_mode")
    sources, tools = values.get("setting_sources"), values.get("tools")
    return Flags(
        model=values.get("model"),
        fallback_models=split_words(values.get("fallback_model") or ""),
        effort=parse_effort(effort) if effort is not None else None,
        permission_mode=parse_mode(mode) if mode is not None else None,
        allowed_tools=_rules(values.get("allowed_tools")),
        disallowed_tools=_rules(values.get("disallowed_tools")),
        tools=parse_tools(",".join(tools)) if tools else None,
        settings=values.get("settings"),
        setting_sources=parse_sources(sources) if sources is not None else None,
        add_dirs=tuple(values.get("add_dir") or ()),
        system_prompt=_custom_prompt(values),
        append_system_prompt=_appended_prompts(values),
        exclude_dynamic_sections=bool(values.get("exclude_dynamic_system_prompt_sections")),
        max_turns=values.get("max_turns"),
        max_budget=values.get("max_budget_usd"),
        json_schema=_json_schema(values.get("json_schema")),
        mcp_config=tuple(values.get("mcp_config") or ()),
        strict_mcp_config=bool(values.get("strict_mcp_config")),
        agents=values.get("agents"),
        agent=values.get("agent"),
    )


def project_folder(given: str | Path | None) -> str:
    """The real path of the project: what `--project` names, else the current directory. Raises `UsageError` when that is gone."""
    try:
        return os.path.realpath(given or Path.cwd())
    except FileNotFoundError:
        raise UsageError(
            "the current directory does not exist any more", hint="Change to another or give --project"
        ) from None


def checked_text(text: str, name: str) -> str:
    """`text` as it is. Raises `UsageError` for bytes that were no UTF-8: Python hands them on as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise UsageError(f"{name} is not UTF-8 text", where=f"character {problem.start + 1}") from None
    return text


_FILE = click.Path(dir_okay=False)
_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
_MODES = click.Choice(["manual", *(mode.value for mode in PermissionMode)])

_PROMPT = click.argument("prompt", required=False)

_SESSION: tuple[Callable[[Any], Any], ...] = (
    click.option("-c", "--continue", "continue_session", is_flag=True, help="Go on with the newest session here."),
    click.option(
        "-r",
        "--resume",
        metavar="ID|FILE",
        help="Go on with this session (`compositor sessions` lists them), or from a transcript file in a session of its own.",
    ),
    click.option(
        "--offline",
        metavar="SCRIPT",
        type=_FILE,
        help="Let a scripted stand-in answer, on a temporary copy of the project; no model is called.",
    ),
)

_CHAT: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--screen-reader", is_flag=True, help="Write whole lines and nothing that moves, for programs that read aloud."
    ),
)

_RUN: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--output-format",
        type=click.Choice(["text", "json", "stream-json"]),
        default="text",
        show_default=True,
        help="How the answer is printed: text, one JSON object, or one JSON object a line as it happens.",
    ),
    click.option(
        "--input-format",
        type=click.Choice(["text", "stream-json"]),
        default="text",
        show_default=True,
        help="Whether standard input is one prompt, or messages a line each (needs --output-format stream-json).",
    ),
    click.option(
        "--include-partial-messages", is_flag=True, help="With stream-json: pieces of answers too, as they arrive."
    ),
    click.option(
        "--replay-user-messages", is_flag=True, help="With stream-json both ways: print each prompt as it is taken up."
    ),
    click.option(
        "--permission-prompt-tool",
        metavar="NAME",
        help="Who is asked for permission: 'stdio' for the program that writes the messages.",
    ),
    click.option(
        "--json-schema",
        metavar="JSON|FILE",
        help='The form of the last answer, as in --json-schema \'{"type": "object", "required": ["done"]}\'.',
    ),
    click.option(
        "--max-budget-usd",
        metavar="USD",
        type=click.FloatRange(min=0, min_open=True),
        help="Send no further request once the run has cost so much.",
    ),
    click.option("--session-id", metavar="UUID", type=click.UUID, help="The id of the new session."),
    click.option("--fork-session", is_flag=True, help="With --resume or --continue: go on in a copy of the session."),
    click.option("-p", "--print", "print_mode", is_flag=True, hidden=True, help="What `run` always does."),
    click.option("--verbose", is_flag=True, hidden=True, help="What the machine-readable forms always are."),
    click.option(
        "--replay",
        metavar="DIR",
        type=_DIRECTORY,
        help="Play recorded answers back, on a temporary copy of the project; no model is called.",
    ),
)

_PROJECT = click.option(
    "--project", metavar="DIR", type=_DIRECTORY, help="The project directory; the current one by default."
)
_CONTRACT: tuple[Callable[[Any], Any], ...] = (
    click.option("--model", metavar="M", help="An alias or an id, as in --model opus or --model claude-opus-5-5."),
    click.option(
        "--fallback-model",
        metavar="M,M",
        help="Asked in this order when the model gives no answer; from then on the session stays with it.",
    ),
    click.option(
        "--effort",
        type=click.Choice([effort.value for effort in Effort]),
        help="How much work the model puts into an answer.",
    ),
    click.option("--max-turns", metavar="N", type=click.IntRange(min=1), help="Stop after N answers of the model."),
    click.option(
        "--permission-mode",
        metavar="MODE",
        type=_MODES,
        help=f"What runs without asking: {', '.join(_MODES.choices)}.",
    ),
    click.option(
        "--allowed-tools",
        "--allowedTools",
        metavar="RULES",
        multiple=True,
        help="Calls that run without asking, as in --allowed-tools 'Bash(git log *),Edit'; may be repeated.",
    ),
    click.option(
        "--disallowed-tools",
        "--disallowedTools",
        metavar="RULES",
        multiple=True,
        help="Calls that are refused, as in --disallowed-tools 'Bash(rm *)'; a bare name takes the tool away.",
    ),
    click.option(
        "--tools",
        metavar="NAMES",
        multiple=True,
        help="The built-in tools of the run, as in --tools Read,Grep; '' for none, 'default' for all.",
    ),
    click.option(
        "--settings",
        metavar="FILE|JSON",
        help='More settings, from a file or inline, as in --settings \'{"model": "haiku"}\'.',
    ),
    click.option(
        "--setting-sources",
        metavar="LEVELS",
        help="Whose settings files are read, as in --setting-sources user,project; '' for none but managed ones.",
    ),
    click.option(
        "--add-dir",
        metavar="DIR",
        multiple=True,
        type=click.Path(exists=True, file_okay=False),
        help="One more directory that tools may work in; may be repeated.",
    ),
    click.option(
        "--mcp-config",
        metavar="FILE|JSON",
        multiple=True,
        help="More MCP servers, as in --mcp-config .mcp.json; may be repeated.",
    ),
    click.option(
        "--agent", metavar="NAME", help="Lead the conversation as this agent: its prompt, its tools, its mode."
    ),
    click.option(
        "--agents",
        metavar="JSON",
        help='More agents, as in --agents \'{"reviewer": {"description": "Reviews", "prompt": "You review."}}\'.',
    ),
    click.option("--strict-mcp-config", is_flag=True, help="Use the servers of --mcp-config alone."),
    click.option("--system-prompt", metavar="TEXT", help="Replace the default system prompt."),
    click.option("--system-prompt-file", metavar="FILE", type=_FILE, help="Replace it by the text of a file."),
    click.option("--append-system-prompt", metavar="TEXT", help="Add a text behind the system prompt."),
    click.option("--append-system-prompt-file", metavar="FILE", type=_FILE, help="Add the text of a file behind it."),
    click.option(
        "--exclude-dynamic-system-prompt-sections",
        is_flag=True,
        help="Move directory, environment and the like out of the default system prompt; no effect on a replaced one.",
    ),
)


def _add(command: Command, options: tuple[Callable[[Any], Any], ...]) -> Command:
    # Decorators apply from the inside out, so the last option goes on first.
    for option in reversed(options):
        command = option(command)
    return command


def _check_texts(values: Mapping[str, Any]) -> None:
    for name in ("model", "allowed_tools", "disallowed_tools", "tools", "system_prompt", "append_system_prompt"):
        given = values.get(name) or ()
        for text in (given,) if isinstance(given, str) else given:
            checked_text(text, f"The text of '--{name.replace('_', '-')}'")


def _json_schema(given: str | None) -> str | None:
    """The text of a schema that was given inline or by its file. Raises `UsageError` for what is none."""
    if given is None:
        return None
    from compositor.loop.answer_form import parse_form  # with it comes the schema library

    inline = given.lstrip().startswith(("{", "true", "false"))
    text = given if inline else _prompt_file(given).text
    parse_form(text)
    return text


def _rules(values: tuple[str, ...] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rule for value in values or () for rule in split_rules(value)))


def _custom_prompt(values: Mapping[str, Any]) -> PromptText | None:
    text, file = values.get("system_prompt"), values.get("system_prompt_file")
    if text is not None and file is not None:
        raise UsageError(
            "'--system-prompt' and '--system-prompt-file' exclude each other",
            hint="Give one of them; --append-system-prompt goes with either",
        )
    return _prompt_file(file) if file is not None else _prompt_text(text)


def _appended_prompts(values: Mapping[str, Any]) -> tuple[PromptText, ...]:
    """The inline text first, then the file's."""
    file = values.get("append_system_prompt_file")
    given = (_prompt_text(values.get("append_system_prompt")), _prompt_file(file) if file is not None else None)
    return tuple(prompt for prompt in given if prompt is not None)


def _prompt_text(text: str | None) -> PromptText | None:
    return PromptText(text) if text is not None else None


def _prompt_file(file: str) -> PromptText:
    try:
        return PromptText(Path(file).read_text("utf-8"), file=file)
    except UnicodeDecodeError as problem:
        raise UsageError(f"The prompt file {file!r} is not UTF-8 text", where=f"byte {problem.start}") from None
    except OSError as problem:
        raise UsageError(f"The prompt file {file!r} cannot be read: {problem.strerror}") from None
