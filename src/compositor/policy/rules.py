"""The text of permission rules: `Tool`, `Tool(specifier)`, name globs and the parameter form (project-conventions 3.3).

Decides what a rule says and what is wrong with it. A rule that cannot be read never crashes anything: it is a diagnostic, and
for a managed deny or ask rule an error that has to stop the run, because leaving it out would let something through. Never
decides whether a rule matches a call.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from compositor.errors import PermissionRuleError
from compositor.types.diagnostics import Diagnostic, Severity
from compositor.types.verdicts import PermissionRule, RuleEffect

from .policy import MANAGED, Policy

ALIASES = {"Task": "Agent"}
# Names whose path rules are read as rules of the family they belong to.
EDIT_FAMILY = frozenset({"Edit", "Write", "NotebookEdit", "MultiEdit"})
READ_FAMILY = frozenset({"Read", "Grep", "Glob", "LSP"})
COMMAND_TOOLS = frozenset({"Bash", "Monitor"})
# The fields that the parameter form may name; a tool that is not listed and has no specifier of its own takes any field.
PARAMETERS: dict[str, frozenset[str]] = {
    "Bash": frozenset({"timeout", "description", "run_in_background", "dangerouslyDisableSandbox"}),
    "Monitor": frozenset({"timeout_ms", "persistent"}),
    "Read": frozenset({"offset", "limit", "pages", "allow_large"}),
    "Edit": frozenset({"old_string", "new_string", "replace_all"}),
    "Write": frozenset({"content"}),
    "MultiEdit": frozenset(),
    "NotebookEdit": frozenset({"cell_id", "new_source", "cell_type", "edit_mode"}),
    "Grep": frozenset({"pattern", "glob", "output_mode", "type", "multiline", "head_limit", "offset"}),
    "Glob": frozenset({"pattern"}),
    "LSP": frozenset({"operation"}),
    "WebFetch": frozenset({"prompt", "offset"}),
    "Agent": frozenset({"description", "prompt", "subagent_type", "model", "effort", "run_in_background", "name", "isolation"}),
    "Skill": frozenset({"args"}),
}  # fmt: skip
MAIN_FIELDS = frozenset({"command", "file_path", "path", "notebook_path", "url"})

_RULE = re.compile(r"(?P<tool>[^\s()]+)(?:\((?P<specifier>.*)\))?\Z", re.DOTALL)
_PARAMETER = re.compile(r"\s*(?P<name>[A-Za-z_][A-Za-z0-9_-]*)\s*:\s*(?P<value>.*?)\s*\Z", re.DOTALL)
_SERVER_GLOB = re.compile(r"mcp__[^*?\[\]]+?__.*\Z")
_GLOB_SIGNS = frozenset("*?[")
# A path that begins like this was meant from the root, where one slash means the folder of the settings file (F34).
_ROOT_FOLDERS = frozenset(
    "Applications Library System Users Volumes bin boot dev etc home lib media mnt opt private proc root run sbin srv sys tmp "
    "usr var".split()
)


class Parameter(Struct, frozen=True):
    """`Tool(name:value)`: the input field `name` compared as text, `*` standing for anything."""

    name: str
    value: str


class ParsedRules(Struct, frozen=True):
    """Rules in the order they were written, what was found wrong, and what must stop the run."""

    rules: tuple[PermissionRule, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    errors: tuple[PermissionRuleError, ...] = ()


def parse_rules(
    texts: Sequence[object],
    *,
    effect: RuleEffect,
    level: str,
    file: str | None = None,
    base: str | None = None,
    known_tools: Collection[str] | None = None,
) -> ParsedRules:
    """Read one list of rules of one level.

    `base` is the real directory that anchors `/path`. With `known_tools` a deny or ask rule for a tool that does not exist
    is warned about.
    """
    rules: list[PermissionRule] = []
    diagnostics: list[Diagnostic] = []
    errors: list[PermissionRuleError] = []
    for at, text in enumerate(texts):
        where = f"{file or level}, permissions.{effect.value}[{at}]"
        found = parse_rule(text, effect=effect, level=level, file=file, base=base, where=where)
        if isinstance(found, PermissionRule):
            rules.append(found)
            diagnostics.extend(rule_doubts(found, where=where, known_tools=known_tools))
        elif level == MANAGED and effect is not RuleEffect.ALLOW:
            errors.append(found)
        else:
            severity = Severity.WARNING if effect is RuleEffect.ALLOW else Severity.ERROR
            diagnostics.append(_diagnostic("permission.bad-rule", found.message, where, found.hint or "", severity))
    return ParsedRules(tuple(rules), tuple(diagnostics), tuple(errors))


def parse_rule(
    text: object,
    *,
    effect: RuleEffect,
    level: str,
    file: str | None = None,
    base: str | None = None,
    where: str | None = None,
) -> PermissionRule | PermissionRuleError:
    """One rule, or the reason why it is none (a value, not raised)."""
    if not isinstance(text, str):
        return _bad(text, "is not a text", where)
    match = _RULE.match(text.strip())
    if match is None:
        return _bad(text, "is neither `Tool` nor `Tool(specifier)`", where)
    tool = ALIASES.get(match["tool"], match["tool"])
    specifier = match["specifier"]
    if specifier is not None and not specifier.strip():
        return _bad(text, "has an empty specifier", where, "Leave the parentheses out to mean every call.")
    specifier = None if specifier is None or specifier.strip() == "*" else specifier.strip()
    if set(tool) & _GLOB_SIGNS:
        if specifier is not None:
            return _bad(text, "has a glob in the tool name and a specifier", where, "Write one of the two.")
        if effect is RuleEffect.ALLOW and _SERVER_GLOB.match(tool) is None:
            hint = "An allow rule may hold a glob only after a literal `mcp__<server>__`."
            return _bad(text, "allows tools by a name glob", where, hint)
    rule = PermissionRule(effect=effect, tool=tool, specifier=specifier, text=text, level=level, file=file, base=base)
    return _check_parameter(rule, where)


def _check_parameter(rule: PermissionRule, where: str | None) -> PermissionRule | PermissionRuleError:
    if names_main_field(rule):
        hint = "Write the pattern itself, without the field's name."
        return _bad(rule.text, "names the main field of the tool as a parameter", where, hint)
    if rule.effect is RuleEffect.ALLOW and parameter_of(rule) is not None:
        return _bad(rule.text, "allows by a parameter", where, "The parameter form is for deny and ask rules.")
    return rule


def with_approvals(policy: Policy, texts: Iterable[str], *, file: str) -> Policy:
    """The policy with the allow rules that a person approved for the project; one that cannot be read counts for nothing."""
    found = (
        parse_rule(text, effect=RuleEffect.ALLOW, level="local", file=file, base=policy.roots[0]) for text in texts
    )
    rules = tuple(rule for rule in found if isinstance(rule, PermissionRule))
    return replace(policy, rules=(*policy.rules, *rules)) if rules else policy


def rule_doubts(
    rule: PermissionRule, *, where: str, known_tools: Collection[str] | None = None
) -> tuple[Diagnostic, ...]:
    """What is legal and yet probably not what the author meant: a tool that does not exist, a rule that matches nothing."""
    found: list[Diagnostic] = []
    if known_tools is not None and rule.effect is not RuleEffect.ALLOW and _is_unknown(rule.tool, known_tools):
        message = f"The rule {rule.text!r} names a tool that does not exist"
        found.append(_diagnostic("permission.unknown-tool", message, where))
    if rule.specifier is not None and parameter_of(rule) is None:
        doubts = _specifier_doubts(rule, rule.specifier)
        found += [_diagnostic(code, message, where, hint) for code, message, hint in doubts]
    return tuple(found)


def parameter_of(rule: PermissionRule) -> Parameter | None:
    """The parameter form of `rule`, or `None` when its specifier is of the tool's own kind."""
    match = _PARAMETER.match(rule.specifier or "")
    if match is None or (rule.tool == "WebFetch" and match["name"] == "domain"):
        return None
    known = PARAMETERS.get(rule.tool)
    return Parameter(match["name"], match["value"]) if known is None or match["name"] in known else None


def names_main_field(rule: PermissionRule) -> bool:
    match = _PARAMETER.match(rule.specifier or "")
    return match is not None and rule.tool in PARAMETERS and match["name"] in MAIN_FIELDS


def names_tool(rule: PermissionRule, name: str) -> bool:
    """The rule's name part covers the tool `name`; families of path tools are not looked at here."""
    if rule.tool == name:
        return True
    if set(rule.tool) & _GLOB_SIGNS:
        return fnmatchcase(name, rule.tool)
    return rule.tool.startswith("mcp__") and rule.tool.count("__") == 1 and name.startswith(rule.tool + "__")


def _specifier_doubts(rule: PermissionRule, specifier: str) -> Iterator[tuple[str, str, str]]:
    nothing = "permission.matches-nothing"
    text = rule.text
    if rule.tool in EDIT_FAMILY | READ_FAMILY:
        first = specifier[1:].split("/", 1)[0] if specifier.startswith("/") and specifier[1:2] != "/" else ""
        if first in _ROOT_FOLDERS:
            yield (
                nothing,
                f"The rule {text!r} starts at the folder of its settings file and probably matches nothing",
                (f"Did you mean {rule.tool}(/{specifier})?"),
            )
        if specifier.lstrip("/~.").startswith("!"):
            yield (
                nothing,
                f"The rule {text!r} is a negation and matches nothing",
                "Write a rule of the other list instead.",
            )
        if rule.tool not in {"Edit", "Read"}:
            family = "Edit" if rule.tool in EDIT_FAMILY else "Read"
            allow = rule.effect is RuleEffect.ALLOW
            yield (
                "permission.family",
                f"Path rules for {rule.tool} {'are not consulted' if allow else f'count as {family} rules'}",
                (f"Write {family}({specifier})."),
            )
    elif rule.tool in COMMAND_TOOLS:
        if rule.effect is RuleEffect.ALLOW and re.search(r"[;&|\n]|\$\(|`", specifier):
            yield (
                nothing,
                f"The rule {text!r} allows a compound command and matches nothing",
                "Allow each part by its own rule.",
            )
    elif rule.tool == "WebFetch":
        if not specifier.lower().startswith("domain:"):
            yield nothing, f"The rule {text!r} has no domain and matches nothing", "Write WebFetch(domain:HOST)."
    elif rule.tool not in {"Agent", "Skill", "Cd"}:
        yield (
            nothing,
            f"The tool of the rule {text!r} takes no specifier, so it matches nothing",
            "Leave the parentheses out.",
        )


def _is_unknown(tool: str, known_tools: Collection[str]) -> bool:
    return tool not in known_tools and tool not in EDIT_FAMILY | READ_FAMILY and not set(tool) & {"_", "*"}


def _bad(text: object, fault: str, where: str | None, hint: str | None = None) -> PermissionRuleError:
    return PermissionRuleError(f"The permission rule {text!r} {fault}", where=where, hint=hint)


def _diagnostic(
    code: str, message: str, where: str, hint: str = "", severity: Severity = Severity.WARNING
) -> Diagnostic:
    return Diagnostic(code, message, where=where, severity=severity, step="policy.rules", hint=hint)
