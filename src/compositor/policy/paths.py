"""Paths of the enforcement line: where they lie, which pattern they fall under, which of them are special.

Decides by names alone; what a name really points to is asked of the driver (`ResolvedPath.real`) and both are judged (F34).
The pattern language is the one of ignore files with four anchors (project-conventions 3.3). Never touches a file.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from msgspec import Struct

from .policy import Policy

PROTECTED_FOLDERS = frozenset(
    ".git .vscode .idea .husky .cargo .devcontainer .yarn .mvn .claude".split()
)  # `.config/git` has two segments and its own line below
PROTECTED_FILES = frozenset(
    ".gitconfig .gitmodules .bashrc .bash_profile .bash_login .bash_aliases .bash_logout .zshrc .zprofile .zshenv .zlogin "
    ".zlogout .profile .envrc .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.loader.mjs .pnpmfile.cjs bunfig.toml .bunfig.toml "
    ".bazelrc .bazelversion .bazeliskrc .pre-commit-config.yaml lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml "
    "gradle-wrapper.properties maven-wrapper.properties .devcontainer.json .ripgreprc pyrightconfig.json .mcp.json "
    ".claude.json".split()
)
# A variable that names a whole place, and one that would leave the root or everything behind if it were empty.
_RISKY_VARIABLE = re.compile(r"\$\{?(?:HOME|PWD|OLDPWD|TMPDIR)\}?(?:/?\Z|/\.?\*)|\$\{?\w+[^}/]*\}?(?:/\Z|/?[*?\[])")
_WHOLESALE = frozenset({"*", ".*", "**", "?*", "{*,.*}", "{.*,*}", "."})


# The root of the file system by way of a process: another name for the same place.
_OTHER_ROOT = re.compile(r"\A(?:/proc/[^/]+/root(?=/|\Z))+")


class ResolvedPath(Struct, frozen=True):
    """A path as the call names it (absolute, `..` still in it) and what it really is, every symbolic link followed."""

    path: str
    real: str

    @property
    def forms(self) -> tuple[str, ...]:
        """Both readings, tidied; a link through `..` makes them differ."""
        named = (normal_path(self.path), normal_path(self.real))
        return tuple(dict.fromkeys(_OTHER_ROOT.sub("", form) or "/" for form in named))


class PathPattern(Struct, frozen=True):
    """A specifier made absolute: it matches a path, or anything below a matching folder."""

    expression: str
    ignore_case: bool = False

    def matches(self, path: str) -> bool:
        return (
            _compiled(self.expression, re.DOTALL | (re.IGNORECASE if self.ignore_case else 0)).match(path) is not None
        )


def absolute_path(path: str, *, cwd: str, home: str) -> str:
    """`path` from the root. `..` is kept: only the file system knows where it leads."""
    if path == "~" or path.startswith("~/"):
        return home + path[1:]
    return path if path.startswith("/") else f"{cwd.rstrip('/')}/{path}"


def normal_path(path: str) -> str:
    """Tidied by name alone: no `.`, no `..`, no doubled or trailing slash."""
    return posixpath.normpath("/" + path.lstrip("/"))


def is_inside(path: str, folder: str) -> bool:
    base = folder.rstrip("/")
    return path == (base or "/") or path.startswith(base + "/")


def is_in_scope(path: ResolvedPath, policy: Policy) -> bool:
    """Both readings lie in the working directory or an additional one."""
    return all(any(is_inside(form, normal_path(root)) for root in policy.roots) for form in path.forms)


def is_protected(path: ResolvedPath) -> bool:
    """A write here can make the machine run something later, so it is never approved by a rule (project-conventions 3.2)."""
    return any(_is_protected_name(form.casefold()) for form in path.forms)


def _is_protected_name(path: str) -> bool:
    parts = path.strip("/").split("/")
    if parts[-1] in PROTECTED_FILES:
        return True
    for at, part in enumerate(parts):
        if part == ".claude" and parts[at + 1 : at + 2] == ["worktrees"] and len(parts) > at + 2:
            continue
        if part in PROTECTED_FOLDERS or (part == ".config" and parts[at + 1 : at + 2] == ["git"]):
            return True
    return False


def is_critical(word: str, path: ResolvedPath, policy: Policy) -> bool:
    """Deleting this path can never be approved by a rule or a mode (project-conventions 3.2).

    The root, its direct children, home, each directory in scope and every parent of one. `word` is the operand as written:
    a glob stands for the folder it empties, a variable for any place where it could do harm.
    """
    if _RISKY_VARIABLE.match(word):
        return True
    forms = [*path.forms]
    name = word.rstrip("/").rsplit("/", 1)[-1]
    if name in _WHOLESALE:
        forms += [posixpath.dirname(form) for form in path.forms]
    if set(name) & set("*?[") and any(posixpath.dirname(form) in _additional(policy) for form in path.forms):
        return True
    return any(_is_critical_place(form, policy) for form in forms)


def _additional(policy: Policy) -> frozenset[str]:
    return frozenset(normal_path(root) for root in policy.roots[1:])


def _is_critical_place(path: str, policy: Policy) -> bool:
    if path.count("/") <= 1:
        return True
    kept = (policy.home, policy.cwd, *policy.roots)
    return any(is_inside(normal_path(place), path) for place in kept)


def path_patterns(specifier: str, policy: Policy, *, base: str | None, deep: bool) -> tuple[PathPattern, ...]:
    """The absolute patterns of one specifier; none when it can match nothing.

    `base` anchors `/p`. `deep` is for deny and ask rules: a single-segment folder (`src/**`) counts at any depth, and a
    relative pattern starts in every directory in scope. For an allow rule it starts where the session did, wherever the
    session has moved since. `src/**` covers the folder itself
    too: to search it is to read what is in it.
    """
    text = specifier.strip()
    anchors: tuple[str, ...]
    if text.startswith("//"):
        anchors, text, fixed = ("/",), text.lstrip("/"), True
    elif text == "~" or text.startswith("~/"):
        anchors, text, fixed = (policy.home,), text[2:], True
    elif text.startswith("/"):
        anchors, text, fixed = (base or policy.cwd,), text[1:], True
    else:
        anchors = tuple(dict.fromkeys((*policy.roots, policy.cwd)))
        anchors = anchors if deep else anchors[:1]
        fixed = text.startswith("./")
        text = text.removeprefix("./")
    if text.startswith("!"):
        return ()
    anywhere = not fixed and _is_unanchored(text, deep=deep)
    body = _expression(text)
    return tuple(PathPattern(_anchored(anchor, body, anywhere=anywhere), policy.ignore_case) for anchor in anchors)


def _is_unanchored(text: str, *, deep: bool) -> bool:
    """Bare names are found at any depth; a single folder only where reaching far is the safe side."""
    single_folder = re.fullmatch(r"[^/]+/(\*\*)?", text) is not None
    return "/" not in text or (single_folder and deep)


def _anchored(anchor: str, body: str, *, anywhere: bool) -> str:
    base = re.escape(normal_path(anchor).rstrip("/"))
    return f"{base}/{'(?:.*/)?' if anywhere else ''}{body}" if body else f"{base}(?:/.*)?"


def _expression(text: str) -> str:
    """The regular expression of a pattern without its anchor; empty for a pattern that means the anchor itself."""
    parts = [part for part in text.split("/") if part not in {"", "."}]
    parts = [part for at, part in enumerate(parts) if part != "**" or at == 0 or parts[at - 1] != "**"]
    while parts and parts[-1] == "**":
        parts.pop()
    if not parts:
        return ""
    pieces = ["(?:.*/)?" if part == "**" else _segment(part) + "/" for part in parts[:-1]]
    return "".join(pieces) + _segment(parts[-1]) + "(?:/.*)?"


def _segment(part: str) -> str:
    """One segment: `*` and `?` stay inside it, `[...]` is a class, a backslash takes the next character as it is."""
    out: list[str] = []
    at = 0
    while at < len(part):
        char = part[at]
        found = re.match(r"\[(!|\^)?(\]?[^\]]*)\]", part[at:]) if char == "[" else None
        if found is not None:
            inner = re.sub(r"([\\\[\]&~|])", r"\\\1", found[2])
            out.append(f"(?!/)[{'^' if found[1] else ''}{inner}]")
            at += len(found[0])
            continue
        if char == "\\" and at + 1 < len(part):
            at += 1
            out.append(re.escape(part[at]))
        elif char == "*":
            out.append("" if out and out[-1] == "[^/]*" else "[^/]*")
        else:
            out.append("[^/]" if char == "?" else re.escape(char))
        at += 1
    return "".join(out)


@lru_cache(maxsize=1024)
def _compiled(expression: str, flags: int) -> re.Pattern[str]:
    try:
        return re.compile(rf"(?:{expression})\Z", flags)
    except re.error:
        # A class such as `[z-a]` means nothing, in an ignore file as here.
        return re.compile(r"(?!)")
