"""Whether a rule covers a call. Two questions with two answers: deny and ask reach far, allow does not (F33).

Decides the match of one rule and one call. Which rule wins, and what follows, is decided in `decide`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from compositor.types.verdicts import PermissionRule, RuleEffect

from .commands import WRITERS, runs_another
from .destructive import may_be_destructive
from .paths import PathPattern, ResolvedPath, path_patterns
from .policy import Policy
from .reach import may_reach, merge_flags, plain_text, sort_flags, spellings
from .rules import COMMAND_TOOLS, EDIT_FAMILY, READ_FAMILY, Parameter, names_tool, parameter_of
from .shell_parts import Part
from .subject import Access, PathUse, Subject, ToolKind
from .words import Word

Resolved = Mapping[str, ResolvedPath]


def reaching_rule(
    rules: Iterable[PermissionRule], subject: Subject, resolved: Resolved, policy: Policy
) -> PermissionRule | None:
    """The first deny or ask rule that covers any part of the call."""
    return next((rule for rule in rules if reaches(rule, subject, resolved, policy)), None)


def reaches(rule: PermissionRule, subject: Subject, resolved: Resolved, policy: Policy) -> bool:
    """A deny or ask rule covers the call when it covers one of its commands, one reading of one of its paths, or its name."""
    parameter = parameter_of(rule)
    if parameter is not None:
        return names_tool(rule, subject.tool) and _has_value(subject, parameter)
    if rule.tool in EDIT_FAMILY | READ_FAMILY:
        return _reaches_path(rule, subject, resolved, policy)
    if rule.tool in COMMAND_TOOLS and subject.kind is ToolKind.SHELL:
        return rule.specifier is None or _reaches_command(rule.specifier, subject)
    if not names_tool(rule, subject.tool):
        return False
    return rule.specifier is None or _is_named(rule.specifier, subject, deep=True)


def allowing_rule(
    rules: Iterable[PermissionRule], subject: Subject, resolved: Resolved, policy: Policy
) -> PermissionRule | None:
    """The rule that allows the whole call, by every reading of every path. Shell commands are allowed one by one: `allowing_command`."""
    chosen = tuple(rules)
    for rule in chosen:
        family = rule.specifier is None and subject.tool in _family(rule.tool)
        if rule.specifier is None and (family or names_tool(rule, subject.tool)):
            return rule
        if rule.tool == subject.tool and rule.specifier is not None and _is_named(rule.specifier, subject, deep=False):
            return rule
    if subject.kind in {ToolKind.READ, ToolKind.SEARCH, ToolKind.EDIT} and subject.uses:
        found = [allowing_path_rule(chosen, resolved[use.path], use.access, policy) for use in subject.uses]
        return found[0] if all(found) else None
    return None


def allowing_path_rule(
    rules: Iterable[PermissionRule], path: ResolvedPath, access: Access, policy: Policy
) -> PermissionRule | None:
    """The rule that allows this path, when both its readings are allowed. An Edit allow implies Read."""
    tools = {"Edit"} if access is Access.WRITE else {"Edit", "Read"}
    scoped = [rule for rule in rules if rule.tool in tools and parameter_of(rule) is None]
    found = [next((rule for rule in scoped if _covers(rule, form, policy)), None) for form in path.forms]
    return found[0] if all(found) else None


def reaching_path_rule(rules: Iterable[PermissionRule], path: ResolvedPath, policy: Policy) -> PermissionRule | None:
    """The Read rule of `rules` that covers either reading of `path`."""
    scoped = (rule for rule in rules if rule.tool in READ_FAMILY and parameter_of(rule) is None)
    return next((rule for rule in scoped if any(_covers(rule, form, policy) for form in path.forms)), None)


def glob_match(pattern: str, text: str) -> bool:
    """`*` stands for any characters, blanks too; everything else for itself. Linear in the length of `text`."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first) or len(text) < len(first) + len(last) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def command_match(pattern: str, text: str) -> bool:
    """A command pattern: a trailing ` *` (or `:*`) means the words before it, alone or followed by more."""
    pattern = pattern[:-2] + " *" if pattern.endswith(":*") else pattern
    if pattern.endswith(" *") and glob_match(pattern[:-2], text):
        return True
    return glob_match(pattern, text)


def is_exact(specifier: str) -> bool:
    return "*" not in specifier


def _family(tool: str) -> frozenset[str]:
    return {"Edit": EDIT_FAMILY, "Read": READ_FAMILY}.get(tool, frozenset())


def _has_value(subject: Subject, parameter: Parameter) -> bool:
    value = subject.fields.get(parameter.name)
    if isinstance(value, str):
        return glob_match(parameter.value, value)
    return isinstance(value, (bool, int, float)) and glob_match(parameter.value, json.dumps(value))


def _reaches_path(rule: PermissionRule, subject: Subject, resolved: Resolved, policy: Policy) -> bool:
    if rule.specifier is None and (rule.tool == subject.tool or subject.tool in _family(rule.tool)):
        return True
    if rule.specifier is None and rule.tool not in {"Edit", "Read"}:
        return False
    uses = [use for use in subject.uses if _concerns(rule, use, subject)]
    return any(_covers(rule, form, policy) for use in uses for form in resolved[use.path].forms)


def _concerns(rule: PermissionRule, use: PathUse, subject: Subject) -> bool:
    if rule.tool in EDIT_FAMILY:
        return use.access is Access.WRITE
    if use.access is Access.READ:
        return True
    # A Read deny refuses edits too, except in notebooks (project-conventions 3.3).
    return use.access is Access.WRITE and rule.effect is RuleEffect.DENY and subject.tool != "NotebookEdit"


def _covers(rule: PermissionRule, path: str, policy: Policy) -> bool:
    if rule.specifier is None:
        return True
    return any(pattern.matches(path) for pattern in _patterns(rule, policy))


@lru_cache(maxsize=1024)
def _patterns(rule: PermissionRule, policy: Policy) -> tuple[PathPattern, ...]:
    deep = rule.effect is not RuleEffect.ALLOW
    return path_patterns(rule.specifier or "", policy, base=rule.base, deep=deep)


def _reaches_command(pattern: str, subject: Subject) -> bool:
    patterns = {pattern, " ".join(sort_flags(pattern.split())), _merged(pattern)}
    texts = [subject.line.raw] if subject.line is not None else []
    texts += [text for words in subject.commands for text in spellings(words)]
    return any(command_match(one, text) for one in patterns for text in texts)


def _merged(pattern: str) -> str:
    end = re.search(r"(:\*|\s\*)\Z", pattern)
    body, tail = (pattern[: end.start()], end[0]) if end else (pattern, "")
    return " ".join(merge_flags(body.split())) + tail if body.split() else pattern


def allowing_command(rules: Iterable[PermissionRule], tool: str, part: Part) -> PermissionRule | None:
    """The rule that allows one command of an understood line."""
    return next((rule for rule in rules if names_tool(rule, tool) and _allows(rule, part)), None)


def possible_rule(rules: Iterable[PermissionRule], subject: Subject) -> PermissionRule | None:
    """The deny or ask rule that would cover a command if the shell put the right words into it."""
    if subject.line is None:
        return None
    scoped = [rule for rule in rules if rule.tool in COMMAND_TOOLS and rule.specifier and parameter_of(rule) is None]
    parts = [(*part.words, *_FROM_INPUT) if part.open_ended else part.words for part in subject.line.parts]
    return next((rule for rule in scoped for words in parts if may_reach(rule.specifier or "", words)), None)


_FROM_INPUT = (Word("", "", literal=False, splits=True),)


def _allows(rule: PermissionRule, part: Part) -> bool:
    text = plain_text(part.words)
    if rule.specifier is not None and is_exact(rule.specifier):
        return rule.specifier == text and (part.is_literal or not may_be_destructive(part.words))
    if part.wraps or runs_another(part.words) or may_be_destructive(part.words, open_ended=part.open_ended):
        return False
    if not part.is_literal and part.words[0].text.rsplit("/", 1)[-1] in WRITERS:
        # Which files the shell puts there cannot be seen, so they could be protected ones.
        return False
    return rule.specifier is None or command_match(rule.specifier, text)


def _is_named(specifier: str, subject: Subject, *, deep: bool) -> bool:
    """Rules about a domain, an agent type or a skill. `deep`: for deny and ask."""
    if subject.kind is ToolKind.FETCH:
        kind, _, pattern = specifier.partition(":")
        return kind.strip().lower() == "domain" and _is_domain(pattern.strip(), fetched_host(subject), deep=deep)
    if subject.tool == "Agent":
        return glob_match(specifier, _text(subject, "subagent_type") or "general-purpose")
    if subject.tool == "Skill":
        name, arguments = _text(subject, "skill") or _text(subject, "name"), _text(subject, "args")
        whole = f"{name} {arguments}".strip()
        return command_match(specifier, whole) or (deep and command_match(specifier, name))
    return False


def _text(subject: Subject, field: str) -> str:
    value = subject.fields.get(field)
    return value.strip().lstrip("/") if isinstance(value, str) else ""


def fetched_host(subject: Subject) -> str | None:
    """The host a fetch goes to, lower case and without a trailing dot; `None` when two readers could see two hosts."""
    url = subject.fields.get("url")
    if not isinstance(url, str) or re.search(r"[\\\x00-\x20\x7f]", url) or not url.isprintable():
        return None
    try:
        host = urlsplit(url).hostname
        return host.encode("idna").decode().rstrip(".").lower() if host else None
    except ValueError:
        return None


def _is_domain(pattern: str, host: str | None, *, deep: bool) -> bool:
    if host is None:
        return deep
    pattern = pattern.lower().rstrip(".")
    if pattern == "*":
        return True
    labels, wanted = host.split("."), pattern.split(".")
    if wanted[0] == "*":
        # Subdomains at any depth, not the host itself.
        wanted = wanted[1:]
        if len(labels) <= len(wanted):
            return False
        labels = labels[-len(wanted) :]
    return len(labels) == len(wanted) and all(glob_match(one, label) for one, label in zip(wanted, labels, strict=True))
