"""The one place that splits a shell line: is it one plain simple command, and which commands can be seen in it.

Two readers have to agree before a line counts as simple: the tree-sitter grammar and a small scanner for quotes and blanks.
Whatever is not understood is a `problem`, and a line with a problem is never allowed without a person. The commands found
anywhere in the tree are kept all the same, because deny rules must reach them (F32, F33). Never decides a verdict.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_LENGTH = 10_000
"""Longer lines are not analyzed (project-conventions 3.3)."""

RESERVED = frozenset(
    "! [ [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while".split()
)
# Commands that run another command, or change what later words mean: a rule about their name says nothing about their effect.
WRAPPERS = frozenset(
    ". alias ash bash builtin busybox bwrap chroot chrt command csh dash doas enable env eval exec export fakeroot fish "
    "flock gdb ionice ksh let ltrace mksh nice nocorrect noglob nohup nsenter parallel pkexec proot runuser script "
    "setarch setpriv setsid sh source ssh stdbuf strace su sudo systemd-run taskset tcsh time timeout torsocks trap "
    "unbuffer unshare watch xargs xvfb-run zsh".split()
)

_PLAIN_HEAD = re.compile(r"[A-Za-z0-9_./+][A-Za-z0-9_./+@:-]*\Z")
_ARGUMENTS = frozenset({"word", "number", "string", "raw_string", "concatenation", "brace_expression"})
_COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_TRANSPARENT = frozenset({
    "program", "command", "command_name", "list", "pipeline", "subshell", "compound_statement", "negated_command",
    "redirected_statement", "file_redirect", "file_descriptor", "if_statement", "elif_clause", "else_clause",
    "while_statement", "for_statement", "do_group", "case_statement", "case_item", "function_definition",
    "command_substitution", "process_substitution", "variable_assignment", "variable_assignments", "variable_name",
    "simple_expansion", "expansion", "special_variable_name", "string", "string_content", "raw_string", "word", "number",
    "concatenation", "brace_expression", "declaration_command", "unset_command", "test_command", "unary_expression",
    "binary_expression", "parenthesized_expression", "test_operator", "comment", "arithmetic_expansion",
})  # fmt: skip


class Word(Struct, frozen=True):
    """One word of a command. `literal`: the program is given exactly `text`; otherwise the shell puts something else there."""

    raw: str
    text: str
    literal: bool


class Redirect(Struct, frozen=True):
    target: Word
    writes: bool


class ShellLine(Struct, frozen=True):
    """What can be seen in a line.

    `problem` says why this is not one plain simple command; `None` means that it is, and `commands` then holds just it.
    `opaque`: there may be commands in it that `commands` does not show.
    """

    raw: str
    commands: tuple[tuple[Word, ...], ...]
    redirects: tuple[Redirect, ...]
    opaque: bool
    problem: str | None

    @property
    def simple(self) -> tuple[Word, ...] | None:
        return self.commands[0] if self.problem is None else None


@lru_cache(maxsize=256)
def parse_shell(text: str) -> ShellLine:
    """Analyze one command line as bash would be given it. Never raises for any string."""
    raw = text.strip(" \n")
    if len(raw) > MAX_LENGTH:
        return ShellLine(raw, (), (), opaque=True, problem=f"the command is longer than {MAX_LENGTH} characters")
    try:
        # A continued line is one line; it holds a control character, so that it can only be denied or asked about.
        source = raw.replace("\\\n", "").encode()
    except UnicodeEncodeError:
        return ShellLine(raw, (), (), opaque=True, problem="the command holds half of a character")
    root = _parser().parse(source).root_node
    nodes = tuple(_nodes(root))
    commands = tuple(dict.fromkeys(words for node in nodes for words in _readings(node) if words))
    redirects = tuple(found for node in nodes if node.type == "file_redirect" and (found := _redirect(node)))
    odd = _odd_character(raw)
    opaque = odd is not None or _is_opaque(root, nodes)
    problem = odd or _tree_problem(root, raw) or _word_problem(raw, commands)
    return ShellLine(raw, commands, redirects, opaque=opaque, problem=problem)


def scan_words(raw: str) -> tuple[Word, ...]:
    """Split at unquoted blanks and take the quotes off. Knows nothing of operators: whatever is not plain is not literal."""
    words: list[Word] = []
    start = 0
    while start < len(raw):
        if raw[start] in " \t":
            start += 1
            continue
        word = scan_word(raw, start)
        words.append(word)
        start += len(word.raw)
    return tuple(words)


def scan_word(raw: str, start: int = 0) -> Word:
    """The word that begins at `start`, up to the next unquoted blank."""
    text: list[str] = []
    literal = True
    at = start
    while at < len(raw) and raw[at] not in " \t":
        char = raw[at]
        if char == "'":
            end = raw.find("'", at + 1)
            piece, plain, at = (raw[at + 1 : end], True, end + 1) if end >= 0 else (raw[at:], False, len(raw))
        elif char == '"':
            piece, plain, at = _double_quoted(raw, at + 1)
        elif char == "\\":
            piece, plain, at = raw[at + 1 : at + 2], at + 1 < len(raw) and raw[at + 1] != "\n", at + 2
        else:
            piece, plain, at = char, _is_plain(char, raw[at - 1] if at > start else ""), at + 1
        text.append(piece)
        literal = literal and plain
    written = raw[start:at]
    return Word(written, "".join(text), literal or written == "{}")


def _double_quoted(raw: str, at: int) -> tuple[str, bool, int]:
    piece: list[str] = []
    plain = True
    while at < len(raw) and raw[at] != '"':
        if raw[at] == "\\" and raw[at + 1 : at + 2] in {"$", "`", '"', "\\"}:
            at += 1
        elif raw[at] in "$`" or raw[at : at + 2] == "\\\n":
            plain = False
        piece.append(raw[at])
        at += 1
    return "".join(piece), plain and at < len(raw), min(at + 1, len(raw))


def _is_plain(char: str, before: str) -> bool:
    if char == "~":
        return before not in {"", "=", ":"}
    return not (char in "$`*?[]{}|&;<>()\n\r" or (char == "#" and before == ""))


def _odd_character(raw: str) -> str | None:
    for char in raw:
        kind = unicodedata.category(char)
        if kind in {"Cc", "Cf", "Zl", "Zp", "Co", "Cn"} or (kind == "Zs" and char != " "):
            return f"the command holds the character {char!a}"
    return None


def _tree_problem(root: Node, raw: str) -> str | None:
    if root.has_error:
        return "the command cannot be parsed"
    if not root.children:
        return "the command is empty"
    first = root.children[0]
    if len(root.children) > 1 or first.type != "command":
        return f"the command is not one simple command ({_describe(root)})"
    if (first.start_byte, first.end_byte) != (0, len(raw.encode())):
        return "the command holds more than its parse shows"
    for child in (
        part for node in first.children for part in (node.children if node.type == "command_name" else [node])
    ):
        if child.type not in _ARGUMENTS:
            return f"the command holds a part that the shell replaces or redirects ({_label(child)})"
    return None


def _word_problem(raw: str, commands: tuple[tuple[Word, ...], ...]) -> str | None:
    if len(commands) != 1 or scan_words(raw) != commands[0]:
        return "the words of the command can be read in two ways"
    head = commands[0][0]
    if not head.literal or head.raw != head.text or _PLAIN_HEAD.match(head.raw) is None:
        return f"the command word {head.raw!r} is not plain"
    if head.text in RESERVED or head.text.rsplit("/", 1)[-1] in WRAPPERS:
        return f"{head.text!r} runs other commands or changes what words mean"
    for word in commands[0][1:]:
        if not word.literal and ("$" in word.raw or "`" in word.raw or set(word.raw) & set("|&;<>()")):
            return f"the word {word.raw!r} is replaced by the shell"
    return None


def _is_opaque(root: Node, nodes: tuple[Node, ...]) -> bool:
    if root.has_error or any(node.is_named and node.type not in _TRANSPARENT for node in nodes):
        return True
    texts = (_text(node) for node in nodes if node.type in {"command_substitution", "command_name"})
    return any("\\`" in text or text == "coproc" for text in texts)


def _readings(node: Node) -> tuple[tuple[Word, ...], ...]:
    """The words of the command that this node is, as the grammar and as the scanner read them; none for any other node."""
    if node.type == "redirected_statement":
        late = _late_words(node)
        body = node.child_by_field_name("body")
        return ((*(_words(body) if body is not None else ()), *late),) if late else ()
    return (_words(node), scan_words(_text(node))) if node.type in _COMMANDS else ()


def _words(node: Node) -> tuple[Word, ...]:
    parts = [
        part for part in node.children if part.type == "command_name" or part.type in _ARGUMENTS or _is_value(part)
    ]
    return tuple(_one_word(part) for part in parts) if node.type == "command" else ()


def _late_words(node: Node) -> tuple[Word, ...]:
    """Words of a command that stand behind a redirection; the grammar takes them for more targets of it."""
    found: list[Node] = []
    for redirect in node.children_by_field_name("redirect"):
        found += redirect.children_by_field_name("destination")[1:]
        found += redirect.children_by_field_name("argument")
    return tuple(_one_word(part) for part in found)


def _is_value(node: Node) -> bool:
    return node.is_named and node.type not in {"variable_assignment", "file_redirect", "herestring_redirect"}


def _one_word(node: Node) -> Word:
    raw = _text(node)
    word = scan_word(raw)
    return word if len(word.raw) == len(raw) else Word(raw, raw, literal=False)


def _redirect(node: Node) -> Redirect | None:
    target = node.child_by_field_name("destination")
    if target is None or _text(target) == "/dev/null":
        return None
    if target.type == "number" and any(child.type in {">&", "<&"} for child in node.children):
        return None
    # By the text and not by the operator's node: the grammar knows no `<>`, which writes too.
    operator = (node.text or b"")[: target.start_byte - node.start_byte]
    return Redirect(_one_word(target), writes=b">" in operator)


def _describe(root: Node) -> str:
    named = [_label(child) for child in root.children if child.is_named]
    return named[0] if len(named) == 1 else f"{len(named)} parts"


def _label(node: Node) -> str:
    return node.type.replace("_", " ")


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _nodes(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser  # heavy: only a shell line needs it

    return Parser(Language(tree_sitter_bash.language()))
