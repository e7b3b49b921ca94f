"""`compositor check`: request bodies, recordings and stored conversations against the rules of the wire, one line a finding.

Decides in which circumstances they are judged and how findings are printed. What a file holds is `check_files.py`, the rules are
`context/messages/legality`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Raw, Struct

from compositor.errors import ConfigError, ExitCode

from .check_files import Found, find_bodies, repaired

if TYPE_CHECKING:
    from compositor.context.messages.legality import Violation, WireContext

STANDARD_INPUT = "-"
_MESSAGE = re.compile(r"messages\[(\d+)\]")


class Choices(Struct, frozen=True, kw_only=True):
    """What the command line says about the circumstances; `None` leaves it to headers, body and defaults."""

    model: str | None
    betas: tuple[str, ...]
    platform: str
    api_version: str | None
    counting: bool


@click.command(
    name="check",
    epilog="Examples: compositor check request.json session.jsonl   |   compositor check --explain L55   |   compositor compile 'fix it' --body | compositor check -",
)
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--model", metavar="M", help="Judge by the abilities of this model; else by the body's own.")
@click.option("--beta", "betas", metavar="B", multiple=True, help="A beta header that is sent; may be repeated.")
@click.option("--platform", metavar="P", default="claude-api", show_default=True, help="Where the bodies go.")
@click.option("--api-version", metavar="V", help="The API version; else the wrapper's header or the current one.")
@click.option("--count-tokens", "counting", is_flag=True, help="The bodies go to the counting endpoint.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
@click.option("--rules", "list_rules", is_flag=True, help="List the rules and do nothing else.")
@click.option("--explain", "rule", metavar="RULE", help="Say what a rule is and how it is known, and do nothing else.")
def command(
    *,
    files: tuple[str, ...],
    as_json: bool,
    list_rules: bool,
    rule: str | None,
    **choices: Any,
) -> None:
    """Check request bodies against the wire rules.

    A FILE holds one body, or one a line (JSONL), each plain or as the `body` or `request` of an object that may carry its
    `headers`; or recorded exchanges (YAML with `interactions`); or a session (JSONL), which is checked as if it were sent as it is
    stored. - reads standard input. Exit code 1 when a rule is broken, 0 when there are warnings at most.
    """
    if list_rules:
        _print_rules(as_json=as_json)
        return
    if rule is not None:
        _print_rule(rule, as_json=as_json)
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
        _print_lines(checked, chosen)
    if _count(checked, "error"):
        raise click.exceptions.Exit(ExitCode.FAILED)


def _read(file: str) -> bytes:
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as problem:
        raise ConfigError(f"The file cannot be read: {problem.strerror or problem}", path=file) from None


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
        counting=choices.counting or body.counting,
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


def _print_lines(checked: Checked, choices: Choices) -> None:
    for body, violations in checked:
        for violation in violations:
            message = violation.message if violation.severity == "error" else f"warning: {violation.message}"
            click.echo(f"{body.place}: {violation.rule} {violation.path} {message}{_entry(body, violation)}")
        if body.history:
            click.echo(f"{body.place}: {_as_sent(body, choices)}")
    errors, warnings = _count(checked, "error"), _count(checked, "warning")
    click.echo(
        f"{_number(len(checked), 'body', 'bodies')} checked: {_number(errors, 'error')}, {_number(warnings, 'warning')}."
    )


def _entry(body: Found, violation: Violation) -> str:
    """The stored entry behind the message that a finding names."""
    match = _MESSAGE.match(violation.path)
    index = int(match[1]) if match is not None else len(body.origins)
    return f" (entry {body.origins[index]})" if index < len(body.origins) else ""


def _as_sent(body: Found, choices: Choices) -> str:
    """What becomes of the conversation when the product sends it."""
    model = choices.model or _word(_fields(body.data).get("model"))
    steps = repaired(body, circumstances(body, choices), model)
    if not steps:
        return "would be sent as it is stored"
    counts = ", ".join(f"{step} {count}" for step, count in sorted(steps.items()))
    return f"would be sent with {_number(steps.total(), 'item')} left out or repaired ({counts})"


def _number(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def _as_object(checked: Checked) -> dict[str, Any]:
    bodies = [
        {
            "file": body.file,
            "line": body.line,
            **({} if body.exchange is None else {"exchange": body.exchange}),
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


def _print_rule(rule: str, *, as_json: bool) -> None:
    from compositor.context.messages.legality import RULES

    found = RULES.get(rule.upper())
    if found is None:
        raise click.UsageError(f"There is no rule {rule!r}; --rules lists them.")
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
        return
    certainty = "verified" if found.verified else "not verified: a warning only"
    click.echo(f"{found.id} {found.title}\n")
    for name, value in (
        ("part", found.scope),
        ("answer", found.answer),
        ("severity", f"{found.severity} ({certainty})"),
        ("source", f"{found.source}, {found.date}"),
    ):
        click.echo(f"  {name:<9} {value}")
