"""A second opinion about shell lines: the parser of shfmt, read from its JSON. Shares no code with the product."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_SHFMT = Path(sys.executable).with_name("shfmt")


class Call(NamedTuple):
    """Words as the program would be given them; `None` for a word that the shell makes up."""

    words: tuple[str | None, ...]
    assigns: int


class Reading(NamedTuple):
    """`plain`: the file is one statement, and the statement is nothing but one call."""

    calls: tuple[Call, ...]
    plain: bool


def read_shell(text: str) -> Reading | None:
    """What shfmt sees in the line; `None` when it cannot parse it."""
    program = str(_SHFMT) if _SHFMT.exists() else shutil.which("shfmt")
    assert program is not None, "shfmt is part of the test requirements"
    done = subprocess.run([program, "-ln=bash", "--to-json"], input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        return None
    tree = json.loads(done.stdout)
    calls = tuple(_call(node) for node in _nodes(tree) if node.get("Type") == "CallExpr" and node.get("Args"))
    return Reading(calls, _is_plain(tree))


def _is_plain(tree: dict[str, Any]) -> bool:
    statements = tree.get("Stmts", [])
    if len(statements) != 1 or tree.get("Last"):
        return False
    one = statements[0]
    extras = {"Redirs", "Negated", "Background", "Coprocess", "Disown", "Comments"}
    return one.get("Cmd", {}).get("Type") == "CallExpr" and not any(one.get(key) for key in extras)


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for child in value.values():
            yield from _nodes(child)
    elif isinstance(value, list):
        for child in value:
            yield from _nodes(child)


def _call(node: dict[str, Any]) -> Call:
    return Call(tuple(_word(argument["Parts"]) for argument in node["Args"]), len(node.get("Assigns") or ()))


def _word(parts: list[dict[str, Any]]) -> str | None:
    pieces = [_piece(part) for part in parts]
    return None if None in pieces else "".join(piece for piece in pieces if piece is not None)


def _piece(part: dict[str, Any]) -> str | None:
    if part["Type"] == "Lit":
        text = re.sub(r"\\\n", "", part["Value"])
        return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
    if part["Type"] == "SglQuoted":
        return None if part.get("Dollar") else str(part.get("Value", ""))
    if part["Type"] == "DblQuoted" and not part.get("Dollar"):
        inner = part.get("Parts") or []
        if all(piece["Type"] == "Lit" for piece in inner):
            return "".join(re.sub(r'\\([$`"\\])', r"\1", piece["Value"]) for piece in inner)
    return None
