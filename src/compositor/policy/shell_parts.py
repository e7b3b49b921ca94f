"""Which simple commands a shell line runs, when all of it is understood; otherwise what is not.

Decides by allow-lists of grammar nodes. Each command has to be read alike by the grammar and by the scanner of `words`, and no byte
may lie outside of what was read. Lists, pipes, groups, `if`, `while`, `for`, substitutions, here-documents, redirections and
harmless assignments are understood; whatever is not listed is not. Never decides a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .runners import runs_unseen
from .shell_checks import (
    INPUTS,
    REPLACED,
    check_edges,
    check_gaps,
    check_here_end,
    check_redirect,
    has_sign,
    masked_text,
    node_text,
    unmasked,
)
from .words import Word, scan_word, scan_words
from .wrappers import RESERVED, SCRIPT_SHELLS, WRAPPERS, check_state, is_harmless_variable, peel_wrappers

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_PARTS = 60


class Part(Struct, frozen=True):
    """One simple command that the line runs, without harmless assignments and known wrappers.

    `wraps`: it runs another command that is not taken apart here, so only an exact rule can allow it. `open_ended`: further
    operands come from its input (`xargs`).
    """

    words: tuple[Word, ...]
    wraps: bool = False
    open_ended: bool = False

    @property
    def is_literal(self) -> bool:
        return not self.open_ended and all(word.literal for word in self.words)


def read_parts(root: Node, raw: str) -> tuple[Part, ...] | str:
    """Every command of the line, or one sentence about what is not understood."""
    if root.has_error:
        return "the command cannot be parsed"
    if "\\\n" in raw and re.search(r"['#]|<<", raw):
        return "a continued line holds a quote, a comment or a here-document"
    source = raw.replace("\\\n", "").encode()
    if (source[: root.start_byte] + source[root.end_byte :]).strip(b" \n"):
        return "the command holds more than its parse shows"
    try:
        parts = tuple(_statement(root))
        check_state([part.words for part in parts])
    except ValueError as problem:
        return str(problem)
    if len(parts) > MAX_PARTS:
        return f"the command holds more than {MAX_PARTS} commands"
    return parts or ("the command is empty" if not raw else ())


_GROUPS = frozenset({
    "program", "list", "pipeline", "subshell", "compound_statement", "negated_command", "do_group", "if_statement",
    "elif_clause", "else_clause", "while_statement",
})  # fmt: skip
_SIGNS = frozenset("&& || ; | |& & \n ( ) { } ! if then fi elif else while until do done for in".split(" "))
_WORDS = frozenset({"word", "number", "string", "raw_string", "concatenation", "brace_expression"})
_ARGUMENTS = _WORDS | REPLACED | {"command_name"}
_PLAIN_HEAD = re.compile(r"[A-Za-z0-9_./+\[:][A-Za-z0-9_./+@:-]*\Z")
# Other forms evaluate their contents, assign, or read the value of a variable as a name.
_EXPANSION = re.compile(r"\$\{#?[A-Za-z_][A-Za-z0-9_]*(?:(?::?[-+]|##?|%%?)[^$`\"'{}\\]*)?\}\Z")
_ARITHMETIC = re.compile(r"\$\(\([0-9 +*/%()-]*\)\)\Z")
# Builtins that take the name of a variable, and evaluate its subscript even inside of single quotes.
_SUBSCRIPTING = frozenset(
    "[ declare export getopts let local mapfile printf read readarray readonly test typeset unset wait".split()
)
_SUBSCRIPT = re.compile(r"[A-Za-z0-9_]\[.*[$`]", re.DOTALL)
_HERE_MARK = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*|'[A-Za-z_][A-Za-z0-9_]*'|\"[A-Za-z_][A-Za-z0-9_]*\")\Z")


def _statement(node: Node) -> Iterator[Part]:
    if node.type in _GROUPS:
        yield from _group(node)
    elif node.type == "comment":
        return
    elif node.type == "command":
        yield from _command(node)
    elif node.type == "test_command":
        yield from _test(node)
    elif node.type == "redirected_statement":
        yield from _redirected(node)
    elif node.type == "for_statement":
        yield from _for(node)
    elif node.type in {"variable_assignment", "variable_assignments", "declaration_command"}:
        yield from _assignments(node)
    else:
        raise ValueError(f"the command holds a part that is not taken apart ({node.type.replace('_', ' ')})")


def _group(node: Node) -> Iterator[Part]:
    check_gaps(node)
    kinds = [child.type for child in node.children if child.is_named]
    if (node.type == "pipeline" and "negated_command" in kinds[1:]) or (
        node.type == "compound_statement" and not kinds
    ):
        raise ValueError("the shell itself would not take the line")
    if node.type == "negated_command" and re.match(rb"! +[^\n#! ]", node.text or b"") is None:
        raise ValueError("an exclamation mark stands alone or in a word")
    if node.type == "compound_statement" and (node.text or b"")[1:2] not in {b" ", b"\n"}:
        raise ValueError("a brace stands where a command could begin")  # to the shell `{}` is the name of one
    for child in node.children:
        if child.is_named:
            yield from _statement(child)
        elif child.type not in _SIGNS:
            raise ValueError(f"the command holds {child.type!r}, which is not taken apart")


def _redirected(node: Node) -> Iterator[Part]:
    """A command with redirections. The grammar has no word for a `-` in front of a here-document (`python - <<E`)."""
    body, *others = node.children
    start = others[0].start_byte - node.start_byte if others else len(node.text or b"")
    gap = (node.text or b"")[body.end_byte - node.start_byte : start].strip(b" ")
    if gap != b"-" or body.type != "command":
        check_gaps(node)
        gap = b""
    for child in (body, *others):
        found = list(_input(child) if child.type in INPUTS else _statement(child))
        if child == body and gap:
            found[-1] = replace(found[-1], words=(*found[-1].words, Word("-", "-", literal=True)))
        yield from found


def _for(node: Node) -> Iterator[Part]:
    check_gaps(node)
    name = node.child_by_field_name("variable")
    if name is None or not is_harmless_variable(node_text(name)):
        raise ValueError("the loop sets a variable that programs may read")
    for child in node.children:
        if child.type in _WORDS | REPLACED:
            yield from _inside(child)
        elif child.type == "do_group":
            yield from _group(child)
        elif child.is_named and child.type != "variable_name":
            raise ValueError("the loop holds a part that is not taken apart")


def _assignments(node: Node) -> Iterator[Part]:
    """Assignments alone, or behind `export`: they set what later commands see."""
    check_gaps(node)
    for child in [node] if node.type == "variable_assignment" else node.children:
        if child.type == "variable_assignment":
            yield from _assignment(child, exported=node.type == "declaration_command")
        elif child.type != "export":
            raise ValueError(f"the command declares variables in a way that is not taken apart ({node_text(child)!r})")


def _assignment(node: Node, *, exported: bool) -> Iterator[Part]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or name.type != "variable_name" or not is_harmless_variable(node_text(name), exported=exported):
        raise ValueError(f"the assignment {node_text(node)!r} is not known to be harmless")
    if value is not None and value.type not in _WORDS | REPLACED:
        raise ValueError(f"the value of {node_text(name)!r} is not taken apart")
    if value is not None:
        yield from _inside(value)


def _test(node: Node) -> Iterator[Part]:
    masked = masked_text(node)
    words = scan_words(masked.decode())
    if len(words) < 2 or words[0].raw != "[" or words[-1].raw != "]" or any(has_sign(word) for word in words[1:-1]):
        raise ValueError("the test is not taken apart")
    yield from _inside(node)
    first, *middle, last = unmasked(words, node.text or b"", masked)
    # The brackets stand for themselves; the grammar says so.
    if any(_SUBSCRIPT.search(word.text) for word in middle):
        raise ValueError("the test would evaluate what stands in brackets")
    yield Part((replace(first, literal=True), *middle, replace(last, literal=True)))


def _command(node: Node) -> Iterator[Part]:
    masked = masked_text(node)
    text, base = bytearray(masked), node.start_byte
    read: list[str] = []
    assigned = 0
    for child in node.children:
        start, end = child.start_byte - base, child.end_byte - base
        if child.type in INPUTS:
            yield from _input(child)
            text[start:end] = b" " * (end - start)
        elif child.type == "variable_assignment" and len(read) == assigned:
            yield from _assignment(child, exported=True)
            assigned += 1
            read.append(masked[start:end].decode())
        elif child.type in _ARGUMENTS:
            yield from _inside(child)
            read.append(masked[start:end].decode())
        else:
            raise ValueError(f"the command holds a part that is not taken apart ({child.type.replace('_', ' ')})")
    words = scan_words(text.decode())
    if any(word.splits and "\n" in word.raw for word in words):
        raise ValueError("a line ends inside of a word")
    if [word.raw for word in words] != read or len(read) == assigned:
        raise ValueError("the words of the command can be read in two ways")
    yield _part(unmasked(words, node.text or b"", bytes(text))[assigned:])


def _part(words: tuple[Word, ...]) -> Part:
    """The command behind its wrappers, with a head that is plainly there."""
    inner = peel_wrappers(words)
    head = inner.words[0]
    if not head.literal or head.raw != head.text or _PLAIN_HEAD.match(head.raw) is None:
        raise ValueError(f"the command word {head.raw!r} is not plain")
    if head.text in RESERVED:
        raise ValueError(f"{head.text!r} changes what words mean")
    if head.text in _SUBSCRIPTING and any(_SUBSCRIPT.search(word.text) for word in inner.words[1:]):
        raise ValueError(f"{head.text!r} would evaluate what stands in brackets")
    part = Part(inner.words, open_ended=inner.open_ended)
    name = head.text.rsplit("/", 1)[-1]
    if name not in WRAPPERS or (name == "command" and not inner.wraps) or _runs_script(name, part):
        return replace(part, wraps=inner.wraps or runs_unseen(inner.words))
    if not part.is_literal:
        raise ValueError(f"{head.text!r} runs a command that the shell makes up")
    return replace(part, wraps=True)


def _runs_script(name: str, part: Part) -> bool:
    """`bash x.sh` runs a program like any other; `bash -c ...` is a command in a command."""
    return name in SCRIPT_SHELLS and len(part.words) > 1 and part.is_literal and part.words[1].text[:1] not in "-+"


def _input(node: Node) -> Iterator[Part]:
    """A redirection: its target is judged as a path by the caller, what is substituted in it as a command here."""
    check_edges(node)
    if node.type == "herestring_redirect":
        text = masked_text(node).decode().partition("<<<")[2].lstrip(" ")
        if scan_word(text).raw != text or text[:1] in {"", "\n"}:
            raise ValueError("a here-string can be read in two ways")
        yield from _inside(node)
    elif node.type == "heredoc_redirect":
        yield from _here_document(node)
    else:
        check_redirect(node)


def _here_document(node: Node) -> Iterator[Part]:
    marks = [child for child in node.children if child.type == "heredoc_start"]
    bodies = [child for child in node.children if child.type == "heredoc_body"]
    ends = [child for child in node.children if child.type == "heredoc_end"]
    if len(marks) != 1 or len(ends) != 1 or _HERE_MARK.match(node_text(marks[0])) is None:
        raise ValueError("a here-document can be read in two ways")
    check_here_end(marks[0], ends[0])
    for child in node.children:
        if child in bodies:
            yield from _inside(child)
        elif child.type in INPUTS:
            yield from _input(child)
        elif child.is_named and child not in marks and child not in ends:
            yield from _statement(child)
        elif not child.is_named and child.type not in _SIGNS | {"<<"}:
            raise ValueError("a here-document can be read in two ways")


def _inside(node: Node) -> Iterator[Part]:
    """The commands that are substituted somewhere in a word, and a check of everything else that is replaced there."""
    if node.type in {"command_substitution", "process_substitution"}:
        yield from _substitution(node)
    elif node.type == "expansion":
        if _EXPANSION.match(node_text(node)) is None:
            raise ValueError(f"the expansion {node_text(node)!r} is not taken apart")
    elif node.type == "arithmetic_expansion":
        if _ARITHMETIC.match(node_text(node)) is None:
            raise ValueError("an arithmetic expression may run a command")
    elif node.type in {"ansi_c_string", "translated_string"}:
        raise ValueError(f"the word {node_text(node)!r} is not taken apart")
    else:
        for child in node.children:
            yield from _inside(child)


def _substitution(node: Node) -> Iterator[Part]:
    if "\\`" in node_text(node) or (node_text(node)[0] == "`" and "`" in node_text(node)[1:-1]):
        raise ValueError("a substitution stands in a substitution")
    check_gaps(node)
    for child in node.children:
        if child.type == "file_redirect":
            check_redirect(child)
        elif child.is_named:
            yield from _statement(child)
        elif child.type not in _SIGNS | {"$(", "`", "<(", ">("}:
            raise ValueError(f"the command holds {child.type!r}, which is not taken apart")
