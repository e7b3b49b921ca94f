"""The sandbox of shell commands as a value: what may be written, read and reached from inside (project-conventions 12).

Decides which commands run inside and where the borders lie, by names alone. Never starts anything: an adapter turns the plan into a
command line, and `gate` refuses where a sandbox is required and cannot run.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from compositor.config.layer import Layer, Level
from compositor.config.settings import Settings
from compositor.types.verdicts import RuleEffect

from .match import command_match, glob_match
from .paths import absolute_path, normal_path
from .policy import Policy, SandboxState, rules_in_force
from .reach import plain_text
from .rules import parameter_of
from .shell import parse_shell

KEPT_FOLDERS = (".claude", ".vscode", ".idea", ".git/hooks", ".husky", ".devcontainer")
KEPT_FILES = (
    ".mcp.json",
    ".git/config",
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".envrc",
)
"""Never written from inside, though they lie in a folder that may be: what stands there runs later, outside."""


class SandboxPlan(Struct, frozen=True, kw_only=True):
    """The borders. All paths are absolute.

    `writable` beside the session's own folders; `kept` stay read-only in them; `unreadable` are covered; `readable` are holes in those.
    `domains`: hosts that may be reached through the filtering proxy, none means no network at all; `denied_domains` beat them.
    """

    writable: tuple[str, ...]
    kept: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


def plan_sandbox(settings: Settings, policy: Policy) -> SandboxPlan:
    """The borders that settings and permission rules draw together."""
    return SandboxPlan(
        writable=tuple(dict.fromkeys((*policy.roots, *_listed(settings, policy, "allowWrite")))),
        kept=(*_kept(policy), *_listed(settings, policy, "denyWrite"), *_exact_rules(policy, "Edit")),
        unreadable=(*_listed(settings, policy, "denyRead"), *_exact_rules(policy, "Read")),
        readable=_listed(settings, policy, "allowRead"),
        domains=(*_domains(settings, policy, "allowedDomains"), *_rule_domains(policy, RuleEffect.ALLOW)),
        denied_domains=(*_domains(settings, policy, "deniedDomains"), *_rule_domains(policy, RuleEffect.DENY)),
        excluded=_excluded(settings, policy),
    )


def plan_state(settings: Settings, policy: Policy, *, available: bool, reason: str) -> SandboxState:
    """What the gate has to know; `reason` says what runs it or why nothing can.

    A repository that is not trusted can ask for a sandbox and for more of it, never for less.
    """
    return SandboxState(
        enabled=_switch(settings, policy, "enabled", loosening=False) is True,
        available=available,
        required=_switch(settings, policy, "failIfUnavailable", loosening=False) is True,
        allows_itself=_switch(settings, policy, "autoAllowBashIfSandboxed", loosening=True) is not False,
        reason=reason,
        excluded=_excluded(settings, policy),
    )


def is_confined(command: str, state: SandboxState) -> bool:
    """Whether this command line runs inside. A line of which any command is excluded runs outside as a whole, through the gate."""
    if not (state.enabled and state.available):
        return False
    if not state.excluded:
        return True
    line = parse_shell(command)
    texts = [plain_text(part.words) for part in line.parts] or [line.raw]
    return not any(command_match(pattern, text) for pattern in state.excluded for text in texts)


def may_reach_host(host: str, plan: SandboxPlan) -> bool:
    """Whether the proxy lets a connection to `host` through. Deny beats allow; a name in capitals or with a last dot is the same name."""
    name = host.lower().rstrip(".")
    if any(_fits(pattern, name) for pattern in plan.denied_domains):
        return False
    return any(_fits(pattern, name) for pattern in plan.domains)


def seatbelt_profile(plan: SandboxPlan, *, temporary: str) -> str:
    """The profile text for `sandbox-exec` on macOS: the same borders. The last matching line counts there."""
    lines = ["(version 1)", "(allow default)", "(deny file-write*)"]
    lines += [f"(allow file-write* (subpath {_quoted(path)}))" for path in (*plan.writable, temporary)]
    lines += ['(allow file-write* (literal "/dev/null") (literal "/dev/tty") (literal "/dev/stdout"))']
    lines += [f"(deny file-write* (subpath {_quoted(path)}))" for path in plan.kept]
    lines += [f"(deny file-read* (subpath {_quoted(path)}))" for path in plan.unreadable]
    lines += [f"(allow file-read* (subpath {_quoted(path)}))" for path in plan.readable]
    lines += ["(deny network*)"]
    if plan.domains:
        lines += ['(allow network-outbound (remote ip "localhost:*"))']
    return "\n".join(lines) + "\n"


def _kept(policy: Policy) -> tuple[str, ...]:
    names = (*KEPT_FOLDERS, *KEPT_FILES)
    own = tuple(f"{normal_path(root).rstrip('/')}/{name}" for root in policy.roots for name in names)
    return (*own, f"{policy.home}/.claude", f"{policy.home}/.claude.json", f"{policy.home}/.compositor")


def _listed(settings: Settings, policy: Policy, key: str) -> tuple[str, ...]:
    """The paths of one list, each from its own file's base; `/p` is absolute here, unlike in permission rules."""
    found: list[str] = []
    for layer in settings.layers:
        if key == "allowRead" and _managed_reads_only(settings) and layer.level is not Level.MANAGED:
            continue
        if key in {"allowWrite", "allowRead"} and not _counts(layer, policy):
            continue
        base = layer.base if layer.level in {Level.USER, Level.MANAGED} else policy.roots[0]
        found += [normal_path(absolute_path(_tidy(text), cwd=base, home=policy.home)) for text in _of_layer(layer, key)]
    return tuple(dict.fromkeys(found))


def _managed_reads_only(settings: Settings) -> bool:
    return settings.values.get("sandbox", {}).get("filesystem", {}).get("allowManagedReadPathsOnly") is True


def _of_layer(layer: Layer, key: str) -> Iterable[str]:
    found = layer.values.get("sandbox", {}).get("filesystem", {}).get(key, ())
    return (text for text in found if not set(text) & set("*?["))


def _tidy(text: str) -> str:
    return posixpath.normpath(text) if not text.startswith("~") else text


def _exact_rules(policy: Policy, tool: str) -> tuple[str, ...]:
    """Deny rules about one place, without wildcards inside it. The others are found among the files that exist, by the adapter."""
    found = []
    for rule in rules_in_force(policy, RuleEffect.DENY):
        text = (rule.specifier or "").removesuffix("/**")
        if rule.tool != tool or not text or parameter_of(rule) is not None or set(text) & set("*?[!\\"):
            continue
        if text.startswith("//"):
            found.append(normal_path(text))
        elif text.startswith("~/"):
            found.append(normal_path(policy.home + text[1:]))
        elif text.startswith("/"):
            found.append(normal_path(f"{rule.base or policy.roots[0]}{text}"))
        else:
            found += [normal_path(f"{root}/{text}") for root in policy.roots]
    return tuple(dict.fromkeys(found))


def _domains(settings: Settings, policy: Policy, key: str) -> tuple[str, ...]:
    network = settings.values.get("sandbox", {}).get("network", {})
    layers: list[Layer] = list(settings.layers)
    if key == "allowedDomains":
        managed_only = network.get("allowManagedDomainsOnly") is True
        layers = [one for one in layers if (one.level is Level.MANAGED if managed_only else _counts(one, policy))]
    return tuple(str(name).lower() for layer in layers for name in _network(layer).get(key, ()))


def _network(layer: Layer) -> dict[str, Any]:
    found: dict[str, Any] = layer.values.get("sandbox", {}).get("network", {})
    return found


def _rule_domains(policy: Policy, effect: RuleEffect) -> tuple[str, ...]:
    texts = [rule.specifier or "" for rule in rules_in_force(policy, effect) if rule.tool == "WebFetch"]
    return tuple(text.partition(":")[2].strip().lower() for text in texts if text.lower().startswith("domain:"))


def _switch(settings: Settings, policy: Policy, key: str, *, loosening: bool) -> bool | None:
    for layer in settings.layers:
        value: bool | None = layer.values.get("sandbox", {}).get(key)
        if value is not None and (_counts(layer, policy) or value is not loosening):
            return value
    return None


def _excluded(settings: Settings, policy: Policy) -> tuple[str, ...]:
    layers = [layer for layer in settings.layers if _counts(layer, policy)]
    return tuple(text for layer in layers for text in layer.values.get("sandbox", {}).get("excludedCommands", ()))


def _counts(layer: Layer, policy: Policy) -> bool:
    """Whether a layer may loosen anything."""
    return policy.trusted or not layer.shared


def _fits(pattern: str, name: str) -> bool:
    pattern = pattern.lower().rstrip(".")
    if pattern.startswith("*."):
        return name.endswith(pattern[1:]) and len(name) > len(pattern) - 1
    return pattern == "*" or glob_match(pattern, name)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
