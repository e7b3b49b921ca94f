"""`compositor check`: request bodies against the rules of the wire, one line a finding.

Decides how bodies are found in files, which circumstances they are judged in, and how findings are printed. The rules are
`context/messages/legality`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Raw, Struct

from compositor.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from compositor.context.messages.legality import Violation, WireContext

STANDARD_INPUT = "-"
_WRAPPERS = ("body", "request")
_LINE_SUFFIXES = (".jsonl", ".ndjson")


class Found(Struct, frozen=True, kw_only=True):
    """One body and where it stood. `line` counts from 1 in a file of lines; `headers` are in lower case."""

    file: str
    line: int | None
    data: bytes
    headers: Mapping[str, str]


class Choices(Struct, frozen=True, kw_only=True):
    """What the command line says about the circumstances; `None` leaves it to headers, body and defaults."""

    model: str | None
    betas: tuple[str, ...]
    platform: str
    api_version: str | None
    counting: bool


@click.command(name="check")
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--model", metavar="M", help="Judge by the abilities of this model; else by the body's own.")
@click.option("--beta", "betas", metavar="B", multiple=True, help="A beta header that is sent; may be repeated.")
@click.option("--platform", metavar="P", default="claude-api", show_default=True, help="Where the bodies go.")
@click.option("--api-version", metavar="V", help="The API version; else the wrapper's header or the current one.")
@click.option("--count-tokens", "counting", is_flag=True, help="The bodies go to the counting endpoint.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
@click.option("--rules", "list_rules", is_flag=True, help="List the rules and do nothing else.")
def command(
    *,
    files: tuple[str, ...],
    as_json: bool,
    list_rules: bool,
    **choices: Any,
) -> None:
    r"""Check request bodies against the wire rules.

    A FILE holds one body, or one a line (JSONL), each plain or as the `body` or `request` of an object that may carry its
    `headers`; - reads standard input. Exit code 1 when a rule is broken, 0 when there are warnings at most.

    \b
    compositor check request.json
    compositor compile "fix it" --json | compositor check -
    """
    if list_rules:
        _print_rules(as_json=as_json)
        return
    if not files:
        raise click.UsageError("Name at least one FILE, or - for standard input.")
    # Everything is read first: a file that cannot be read ends the command before it says anything.
    found = [body for file in files for body in find_bodies(file, _read(file))]
    chosen = Choices(**choices)
    checked = [(body, _check(body, chosen)) for body in found]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(_as_object(checked)), indent=2))
    else:
        _print_lines(checked)
    if _count(checked, "error"):
        raise click.exceptions.Exit(ExitCode.FAILED)


def find_bodies(file: str, data: bytes) -> Iterator[Found]:
    """The bodies in the bytes of one file. Raises `ConfigError` with the place when they are no JSON."""
    is_lines = file.endswith(_LINE_SUFFIXES)
    problem = None if is_lines else _json_problem(data)
    if not is_lines and problem is None:
        yield _unwrapped(file, None, data)
        return
    lines = [(number, line) for number, line in enumerate(data.splitlines(), start=1) if line.strip()]
    if not is_lines and (len(lines) < 2 or _json_problem(lines[0][1]) is not None):
        raise _no_json(file, problem)
    if not lines:
        raise ConfigError("The file holds no request body", path=file, hint="Give a file with one JSON object a line")
    for number, line in lines:
        problem = _json_problem(line)
        if problem is not None:
            raise ConfigError(f"The line is no JSON: {problem.msg}", path=file, line=number)
        yield _unwrapped(file, number, line)


def _read(file: str) -> bytes:
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as problem:
        raise ConfigError(f"The file cannot be read: {problem.strerror or problem}", path=file) from None


def _json_problem(data: bytes) -> json.JSONDecodeError | None:
    """Why `data` is no JSON. What is JSON and still broken (lone surrogates, endless nesting) is left to the rules."""
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    else:
        return None
    try:
        json.loads(data.decode(errors="surrogateescape"))
    except json.JSONDecodeError as problem:
        return problem
    except (ValueError, RecursionError):
        return None
    return None


def _no_json(file: str, problem: json.JSONDecodeError | None) -> ConfigError:
    if problem is None:
        return ConfigError("The file is no JSON", path=file)
    return ConfigError(f"The file is no JSON: {problem.msg} (column {problem.colno})", path=file, line=problem.lineno)


def _unwrapped(file: str, line: int | None, data: bytes) -> Found:
    try:
        fields = msgspec.json.decode(data, type=dict[str, Raw])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return Found(file=file, line=line, data=data, headers={})
    for name in _WRAPPERS:
        if "messages" not in fields and name in fields:
            headers = _headers(fields.get("headers"))
            return Found(file=file, line=line, data=bytes(fields[name]), headers=headers)
    return Found(file=file, line=line, data=data, headers={})


def _headers(raw: Raw | None) -> dict[str, str]:
    """Headers given as an object or as pairs; values may be lists, as recorders write them."""
    value = None if raw is None else msgspec.json.decode(raw)
    pairs = value.items() if isinstance(value, dict) else value if isinstance(value, list) else ()
    headers: dict[str, str] = {}
    for pair in pairs:
        if isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str):
            values = pair[1] if isinstance(pair[1], list) else [pair[1]]
            headers[pair[0].lower()] = ",".join(str(item) for item in values)
    return headers


def _check(body: Found, choices: Choices) -> tuple[Violation, ...]:
    from compositor.context.messages.legality import check_body

    return check_body(body.data, circumstances(body, choices))


def circumstances(body: Found, choices: Choices) -> WireContext:
    """What the rules must know beside the body: from the command line, then its headers, then its model's profile.

    Raises `ConfigError` for a platform nobody knows.
    """
    from compositor.config.platforms import find_platform
    from compositor.config.profile import find_profile
    from compositor.loop.opening import wire_context

    platform = find_platform(choices.platform)
    fields = _fields(body.data)
    profile = find_profile(choices.model or _word(fields.get("model"))).profile
    version = choices.api_version or body.headers.get("anthropic-version") or _word(fields.get("anthropic_version"))
    betas = [*choices.betas, *body.headers.get("anthropic-beta", "").split(","), *_words(fields.get("anthropic_beta"))]
    return wire_context(
        profile,
        platform,
        api_version=version or profile.version_on(platform.id),
        betas=[beta.strip() for beta in betas if beta.strip()],
        counting=choices.counting,
    )


def _fields(data: bytes) -> dict[str, Any]:
    try:
        fields = msgspec.json.decode(data, type=dict[str, Raw])
        names = ("model", "anthropic_version", "anthropic_beta")
        return {name: msgspec.json.decode(fields[name]) for name in names if name in fields}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _words(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


Checked = Sequence[tuple[Found, tuple["Violation", ...]]]


def _count(checked: Checked, severity: str) -> int:
    return sum(violation.severity == severity for _, violations in checked for violation in violations)


def _print_lines(checked: Checked) -> None:
    for body, violations in checked:
        place = body.file if body.line is None else f"{body.file}:{body.line}"
        for violation in violations:
            message = violation.message if violation.severity == "error" else f"warning: {violation.message}"
            click.echo(f"{place}: {violation.rule} {violation.path} {message}")
    errors, warnings = _count(checked, "error"), _count(checked, "warning")
    click.echo(
        f"{_number(len(checked), 'body', 'bodies')} checked: {_number(errors, 'error')}, {_number(warnings, 'warning')}."
    )


def _number(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def _as_object(checked: Checked) -> dict[str, Any]:
    bodies = [
        {
            "file": body.file,
            "line": body.line,
            "violations": [
                {
                    "rule": violation.rule,
                    "severity": violation.severity,
                    "path": violation.path,
                    "message": violation.message,
                }
                for violation in violations
            ],
        }
        for body, violations in checked
    ]
    return {"bodies": bodies, "errors": _count(checked, "error"), "warnings": _count(checked, "warning")}


def _print_rules(*, as_json: bool) -> None:
    from compositor.context.messages.legality import RULES

    rules = list(RULES.values())
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode({"rules": rules}), indent=2))
        return
    for rule in rules:
        click.echo(f"{rule.id:<5} {rule.severity:<8} {rule.scope:<18} {rule.title} [{rule.source}, {rule.date}]")
