"""Checks that the bytes of a shell line are read as the grammar's nodes say, and nothing lies between them.

Each raises `ValueError` with one sentence about what is not understood. Part of `shell_parts`, which decides what is taken apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from .words import Word, scan_word

if TYPE_CHECKING:
    from tree_sitter import Node


REPLACED = frozenset({
    "command_substitution", "process_substitution", "simple_expansion", "expansion", "arithmetic_expansion",
})  # fmt: skip
"""What the shell puts something else in place of."""
INPUTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_OPERATORS = frozenset({b"<", b">", b">>", b">|", b"&>", b"&>>", b">&", b"<&"})


def check_edges(node: Node) -> None:
    """What stands before the operator is a number that stands alone, and the target ends where a word ends."""
    written = re.match(rb"[^<>&]*", node.text or b"")
    before = written[0] if written is not None else b""
    root = node
    while root.parent is not None:
        root = root.parent
    at = node.start_byte - root.start_byte
    glued = at > 0 and (root.text or b"")[at - 1 : at] not in {b" ", b"\n", b";", b"|", b"(", b")", b"}"}
    if before and (not before.isdigit() or glued):
        raise ValueError("the end of a word stands before a redirection")
    ends = [child for child in node.children if child.type == "heredoc_start"] or [node]
    after = (root.text or b"")[ends[0].end_byte - root.start_byte :][:1]
    if after not in {b"", b" ", b"\n", b";", b"|", b"&", b")", b"`"}:
        raise ValueError("a word goes on behind the target of a redirection")


def check_redirect(node: Node) -> None:
    """One operator, one target, and the target says what it is."""
    target = node.child_by_field_name("destination")
    descriptor = node.child_by_field_name("descriptor")
    if target is None or len(node.children_by_field_name("destination")) != 1:
        raise ValueError("a redirection can be read in two ways")
    start = (descriptor.end_byte if descriptor is not None else node.start_byte) - node.start_byte
    operator = (node.text or b"")[start : target.start_byte - node.start_byte].strip(b" ")
    word = scan_word(node_text(target))
    if operator not in _OPERATORS or target.end_byte != node.end_byte or word.raw != node_text(target):
        raise ValueError("a redirection can be read in two ways")
    if not word.literal:
        raise ValueError(f"the target {word.raw!r} of a redirection is replaced by the shell")


def check_here_end(mark: Node, end: Node) -> None:
    """The text ends at the first line that is the mark, as the shell has it."""
    root = mark
    while root.parent is not None:
        root = root.parent
    text, base = root.text or b"", root.start_byte
    wanted = node_text(mark).strip("'\"").encode()
    at = text.find(b"\n", mark.end_byte - base)
    while at >= 0 and text[at + 1 :].split(b"\n", 1)[0] != wanted:
        at = text.find(b"\n", at + 1)
    if at < 0 or at + 1 != end.start_byte - base:
        raise ValueError("a here-document can be read in two ways")


def check_gaps(node: Node) -> None:
    """Between the parts of a group stand blanks and line ends, and nothing else."""
    text, at = node.text or b"", 0
    for child in [*node.children, None]:
        end = len(text) if child is None else child.start_byte - node.start_byte
        # A list may end in line ends that the grammar counts to nothing.
        if text[at:end].strip(b" \n"):
            raise ValueError("the command holds more than its parse shows")
        if child is not None and child.type == "comment" and text[:end][-1:] not in {b"", b" ", b"\n", b";"}:
            raise ValueError("a number sign stands in a word")
        at = end if child is None else child.end_byte - node.start_byte


def masked_text(node: Node) -> bytes:
    """The text of a command with `$___` in place of everything that the shell replaces: for the scanner one word is one word."""
    text = bytearray(node.text or b"")
    stack = list(node.children)
    while stack:
        child = stack.pop()
        if child.type in REPLACED:
            start, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
            text[start:end] = b"$" + b"_" * (end - start - 1)
        elif child.type not in INPUTS:
            stack.extend(child.children)
    return bytes(text)


def unmasked(words: tuple[Word, ...], original: bytes, masked: bytes) -> tuple[Word, ...]:
    """The words with the text that was written, so that a rule and a person see what stands there."""
    found: list[Word] = []
    at = 0
    for word in words:
        at = masked.index(word.raw.encode(), at)
        end = at + len(word.raw.encode())
        found.append(replace(word, raw=original[at:end].decode()))
        at = end
    return tuple(found)


def has_sign(word: Word) -> bool:
    """An operator of the shell stands in the word, unquoted."""
    return not word.literal and bool(set(word.raw) & set("|&;<>()"))


def node_text(node: Node) -> str:
    """The text of a node."""
    return (node.text or b"").decode("utf-8", "replace")
