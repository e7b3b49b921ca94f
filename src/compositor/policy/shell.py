"""The one place that splits a shell line: which commands can be seen in it, and whether all of it is understood.

Whatever is not understood (`shell_parts`) is a `problem`, and a line with a problem is never allowed without a person. The
commands found anywhere in the tree are kept all the same, because deny rules must reach them (F32, F33). Never decides a verdict.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from .shell_parts import Part, read_parts
from .words import Word, scan_word, scan_words

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_LENGTH = 10_000
"""Longer lines are not analyzed (project-conventions 3.3)."""
MAX_DEPTH = 60
"""Grammar nodes above one another; a deeper line is opaque."""
MAX_REDIRECTED = 8
"""Statements with redirections that are read a second time; a line with more of them is opaque."""

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


class Redirect(Struct, frozen=True):
    target: Word
    writes: bool


class ShellLine(Struct, frozen=True):
    """What can be seen in a line.

    `problem` says what in it is not understood; `None` means that all of it is, and `parts` then holds every simple command
    that may run. `commands` are the readings that deny rules are compared with, of any line. `opaque`: there may be commands
    in it that `commands` does not show. `here_texts` are here-documents and here-strings, which a shell would run.
    """

    raw: str
    commands: tuple[tuple[Word, ...], ...]
    redirects: tuple[Redirect, ...]
    opaque: bool
    problem: str | None
    parts: tuple[Part, ...] = ()
    here_texts: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def parse_shell(text: str) -> ShellLine:
    """Analyze one command line as bash would be given it. Never raises for any string."""
    raw = text.strip(" \n")
    if len(raw) > MAX_LENGTH:
        return ShellLine(raw, (), (), opaque=True, problem=f"the command is longer than {MAX_LENGTH} characters")
    try:
        # A continued line is one line; `shell_parts` refuses those that could be read otherwise.
        source = raw.replace("\\\n", "").encode()
    except UnicodeEncodeError:
        return ShellLine(raw, (), (), opaque=True, problem="the command holds half of a character")
    root = _parser().parse(source).root_node
    if _is_deep(root):
        return ShellLine(raw, (), (), opaque=True, problem=f"the command is nested more than {MAX_DEPTH} deep")
    nodes = tuple(_nodes(root))
    redirected = sum(node.type == "redirected_statement" for node in nodes)
    read = [node for node in nodes if redirected <= MAX_REDIRECTED or node.type != "redirected_statement"]
    commands = tuple(dict.fromkeys(words for node in read for words in _readings(node) if words))
    redirects = tuple(found for node in nodes if node.type == "file_redirect" and (found := _redirect(node)))
    odd = _odd_character(raw)
    # The grammar has no word for a `$` alone and joins it with what follows.
    opaque = (
        redirected > MAX_REDIRECTED
        or odd is not None
        or re.search(r"\$(?:\s|\Z)", raw) is not None
        or _is_opaque(root, nodes)
    )
    parts = odd or _refuse_bare_time(read_parts(root, raw))
    problem, understood = (parts, ()) if isinstance(parts, str) else (None, parts)
    here = tuple(_here_text(node) for node in nodes if node.type in {"heredoc_body", "herestring_redirect"})
    opaque = opaque and problem is not None
    return ShellLine(raw, commands, redirects, opaque=opaque, problem=problem, parts=understood, here_texts=here)


def _refuse_bare_time(parts: tuple[Part, ...] | str) -> tuple[Part, ...] | str:
    """`time` without a command is a reserved word of bash and a command of the grammar: it is neither here."""
    if isinstance(parts, str):
        return parts
    bare = any(part.words[0].text == "time" and all(w.text.startswith("-") for w in part.words[1:]) for part in parts)
    return "`time` stands there without a command" if bare else parts


def _odd_character(raw: str) -> str | None:
    for char in raw:
        if char == "\n":
            continue
        kind = unicodedata.category(char)
        if kind in {"Cc", "Cf", "Zl", "Zp", "Co", "Cn"} or (kind == "Zs" and char != " "):
            return f"the command holds the character {char!a}"
    return None


def _is_deep(root: Node) -> bool:
    depth, level = 0, [root]
    while level and depth <= MAX_DEPTH:
        depth, level = depth + 1, [child for node in level for child in node.children]
    return depth > MAX_DEPTH


def _is_opaque(root: Node, nodes: tuple[Node, ...]) -> bool:
    if root.has_error or any(node.is_named and node.type not in _TRANSPARENT for node in nodes):
        return True
    texts = (_text(node) for node in nodes if node.type in {"command_substitution", "command_name"})
    return any("\\`" in text or text == "coproc" for text in texts)


def _readings(node: Node) -> tuple[tuple[Word, ...], ...]:
    """The words of the command that this node is, as the grammar and as the scanner read them; none for any other node."""
    if node.type == "redirected_statement":
        text = _without_redirections(node)
        inner = _nodes(_parser().parse(text.encode()).root_node)
        return (scan_words(text), *(_words(one) for one in inner if one.type == "command"))
    return (_words(node), scan_words(_without_redirections(node))) if node.type in _COMMANDS else ()


def _words(node: Node) -> tuple[Word, ...]:
    parts = [
        part for part in node.children if part.type == "command_name" or part.type in _ARGUMENTS or _is_value(part)
    ]
    return tuple(_one_word(part) for part in parts) if node.type == "command" else ()


def _without_redirections(node: Node) -> str:
    """The text of a statement without its redirections: the grammar takes words behind one for more targets of it."""
    text = bytearray(node.text or b"")
    body = node.child_by_field_name("body")
    redirects = [*node.children_by_field_name("redirect"), *(body.children_by_field_name("redirect") if body else ())]
    for start, end in (span for redirect in redirects for span in _spans(redirect, text, node.start_byte)):
        text[start:end] = b" " * (end - start)
    return re.sub(r"\n\s*\Z", "", text.decode("utf-8", "replace"))


def _spans(redirect: Node, text: bytearray, base: int) -> Iterator[tuple[int, int]]:
    """Where the redirection itself stands: its operator with one target, or the mark and the text of a here-document."""
    start = redirect.start_byte - base
    descriptor = redirect.child_by_field_name("descriptor")
    glued = start > 0 and not text[:start].endswith(b" ")
    if descriptor is not None and (glued or not (descriptor.text or b"").isdigit()):
        # Digits count as a descriptor only when they stand alone; here they end the word before.
        start = descriptor.end_byte - base
    marks = [child for child in redirect.children if child.type in {"heredoc_start", "heredoc_body", "heredoc_end"}]
    target = redirect.child_by_field_name("destination")
    end = (marks[0] if marks else target or redirect).end_byte - base
    if target is not None:
        written = scan_word(text[target.start_byte - base :].decode("utf-8", "replace")).raw
        end = max(end, target.start_byte - base + len(written.encode()))
    yield start, end
    yield from ((mark.start_byte - base, mark.end_byte - base) for mark in marks[1:])


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


def _here_text(node: Node) -> str:
    return _text(node) if node.type == "heredoc_body" else scan_word(_text(node).removeprefix("<<<").strip()).text


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
