"""`compositor permissions`: what the gate would say about a call, what is doubtful in the rules, what a rule means for a path.

Decides how the answers read. Runs no tool and no hook, and changes nothing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from compositor.cli.options import project_folder
from compositor.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from compositor.opened import Opened
    from compositor.types.tools import ToolDefinition

_PROJECT = click.option(
    "--project",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The project directory; the current one by default.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object.")
_STEPS = frozenset({"policy", "policy.rules", "hooks", "settings", "contract"})


@click.group(name="permissions")
def command() -> None:
    """Ask the gate about calls and rules."""


@command.command(name="test", epilog="""Example: compositor permissions test 'Bash({"command": "ls && rm x"})'""")
@click.argument("call")
@_PROJECT
@_JSON
def test_command(*, call: str, project: Path | None, as_json: bool) -> int:
    """Judge CALL, written as TOOL({json input}); nothing is run. Exit code 1 unless it is allowed."""
    from compositor.adapters.enforcement import real_path
    from compositor.policy.judgment import judge_call

    opened = _open(project)
    made = _call(call)
    found = judge_call(made, _definition(made.name), _policy(opened), real_path)
    rule = found.rule
    if as_json:
        result: dict[str, Any] = {
            "verdict": found.verdict,
            "rule": None if rule is None else rule.text,
            "level": None if rule is None else rule.level,
            "file": None if rule is None else rule.file,
            "reason": found.reason,
            "considered": [
                {
                    "rule": one.rule.text,
                    "effect": one.rule.effect.value,
                    "level": one.rule.level,
                    "file": one.rule.file,
                    "covers": one.covers,
                }
                for one in found.considered
            ],
            "trace": msgspec.to_builtins(found.trace),
        }
        click.echo(msgspec.json.encode(result).decode())
    else:
        click.echo(f"{found.verdict}: {found.reason}")
        if rule is not None:
            click.echo(f"rule: {rule.text} ({rule.level}, {rule.file or 'command line'})")
        for step in found.trace:
            click.echo(f"  {step.gate.value:11} {step.finding.value:8} {step.reason}")
        covering = [one.rule.text for one in found.considered if one.covers]
        click.echo(f"{len(found.considered)} rules in force; covering: {', '.join(covering) or 'none'}")
    return ExitCode.OK if found.verdict == "allow" else ExitCode.FAILED


@command.command(name="lint")
@_PROJECT
@_JSON
def lint_command(*, project: Path | None, as_json: bool) -> int:
    """List rules and hooks that cannot be read, match nothing or do not count. Exit code 1 when there are any."""
    from compositor.policy.hooks import plan_hooks

    opened = _open(project)
    hooks = plan_hooks(opened.contract.settings).diagnostics
    found = [note for note in opened.diagnostics if note.step in _STEPS or note.code.startswith("permission.")]
    found = list(dict.fromkeys((*found, *hooks)))
    if as_json:
        click.echo(msgspec.json.encode([msgspec.to_builtins(note) for note in found]).decode())
    else:
        for note in found:
            hint = f" {note.hint}" if note.hint else ""
            click.echo(f"{note.severity.value:8} {note.message}. At {note.where}.{hint}")
        rules = len(opened.policy.rules)
        click.echo(f"{rules} rules in force, {len(found)} remarks.")
    return ExitCode.FAILED if found else ExitCode.OK


@command.command(name="explain", epilog="Example: compositor permissions explain 'deny Read(src/**)' lib/src/a.py")
@click.argument("rule")
@click.argument("path")
@_PROJECT
@_JSON
def explain_command(*, rule: str, path: str, project: Path | None, as_json: bool) -> int:
    """Show what RULE (`[deny|ask|allow] Read(...)`) means for PATH: where it starts, and which readings of the path it covers."""
    from compositor.adapters.enforcement import real_path
    from compositor.policy.judgment import explain_reach
    from compositor.policy.paths import ResolvedPath, absolute_path
    from compositor.policy.rules import parse_rule, rule_doubts
    from compositor.types.verdicts import PermissionRule, RuleEffect

    policy = _policy(_open(project))
    word, found, rest = rule.strip().partition(" ")
    effect, text = (RuleEffect(word), rest) if found and word in set(RuleEffect) else (RuleEffect.DENY, rule)
    parsed = parse_rule(text, effect=effect, level="session", base=policy.cwd)
    if not isinstance(parsed, PermissionRule):
        raise UsageError(parsed.message, hint=parsed.hint)
    absolute = absolute_path(path, cwd=policy.cwd, home=policy.home)
    place = ResolvedPath(absolute, real_path(absolute))
    reach = explain_reach(parsed, place, policy)
    if reach is None:
        raise UsageError(f"the rule {text!r} is not about paths", hint="Test a call with 'compositor permissions test'")
    doubts = [f"{note.message}. {note.hint}" for note in rule_doubts(parsed, where="the rule")]
    covers = reach.covers(effect)
    if as_json:
        result = {
            "covers": covers,
            "effect": effect.value,
            "path": place.path,
            "real": place.real,
            "doubts": doubts,
            **msgspec.to_builtins(reach),
        }
        click.echo(msgspec.json.encode(result).decode())
        return ExitCode.OK if covers else ExitCode.FAILED
    click.echo(f"{effect.value} {text} {'covers' if covers else 'does not cover'} {place.path}")
    for form in place.forms:
        click.echo(f"  {'matches' if form in reach.matched else 'no match'}: {form}")
    for pattern in reach.patterns:
        click.echo(f"  as a pattern: {pattern}")
    for doubt in doubts:
        click.echo(f"  doubt: {doubt}")
    return ExitCode.OK if covers else ExitCode.FAILED


@command.command(name="approve", epilog="Example: compositor permissions approve 'Bash(npm test *)'")
@click.argument("rule")
@_PROJECT
@click.option("--revoke", is_flag=True, help="Take the approval back.")
def approve_command(*, rule: str, project: Path | None, revoke: bool) -> int:
    """Remember RULE as an allow rule of this project, in the product's own folder."""
    from compositor.adapters.approvals_rules import forget_rule, remember_rule
    from compositor.adapters.home import find_home
    from compositor.adapters.settings_files import find_places
    from compositor.policy.rules import parse_rule
    from compositor.types.verdicts import PermissionRule, RuleEffect

    home, root = find_home(os.environ), find_places(project_folder(project), os.environ).root
    if revoke:
        gone = forget_rule(home, root, rule)
        click.echo(f"{rule} {'is not approved any more' if gone else 'was not approved'} in {root}.")
        return ExitCode.OK if gone else ExitCode.FAILED
    parsed = parse_rule(rule, effect=RuleEffect.ALLOW, level="local")
    if not isinstance(parsed, PermissionRule):
        raise UsageError(parsed.message, hint=parsed.hint)
    remember_rule(home, root, rule)
    click.echo(f"{rule} is approved in {root}.")
    return ExitCode.OK


def _open(project: Path | None) -> Opened:
    from compositor.config.flags import Flags
    from compositor.opened import Opening, open_session

    return open_session(
        Opening(flags=Flags(), project=project_folder(project), environ=dict(os.environ), interactive=True)
    )


def _policy(opened: Opened) -> Any:
    """The policy as a run has it, the sandbox of this machine included."""
    from compositor.adapters.enforcement import probe_sandbox

    state, _ = probe_sandbox(opened.contract.settings, opened.policy)
    return msgspec.structs.replace(opened.policy, sandbox=state, search_hides_denied=True)


def _call(text: str) -> Any:
    from compositor.types.tools import ToolCall

    match = re.fullmatch(r"\s*([^\s()]+)\((.*)\)\s*", text, re.DOTALL)
    try:
        fields = msgspec.json.decode(match[2]) if match is not None else None
    except (msgspec.MsgspecError, UnicodeEncodeError):
        fields = None
    if match is None or not isinstance(fields, dict):
        raise UsageError(f"{text!r} is no call", hint="""Write it like Bash({"command": "ls"})""")
    return ToolCall(id="test", name=match[1], input=msgspec.Raw(match[2].encode()))


def _definition(name: str) -> ToolDefinition | None:
    """The definition of a built-in tool; that of a server is not known without asking the server, so any input fits it."""
    from compositor.context.tools.catalog import BUILTIN
    from compositor.types.json import raw_json
    from compositor.types.tools import ToolDefinition, ToolOrigin

    if not name.startswith("mcp__"):
        return BUILTIN.get(name)
    return ToolDefinition(name=name, description="", input_schema=raw_json({"type": "object"}), origin=ToolOrigin.MCP)
