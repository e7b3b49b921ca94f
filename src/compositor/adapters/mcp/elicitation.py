"""Questions of an MCP server to the person (elicitation).

Decides how a form becomes questions and answers become a form. A question that asks for a secret or an address to open is declined: only the
person's own client may lead there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from compositor.ports import Interviewer, Question


def elicitor(interviewer: Interviewer) -> Callable[[str, Any], Awaitable[Any]]:
    """A function that answers the elicitation requests of servers by asking the person."""

    async def answer(server: str, params: Any) -> Any:
        import mcp_types

        if params.mode != "form":
            return mcp_types.ElicitResult(action="decline")
        schema: Mapping[str, Any] = params.requested_schema
        required = set(schema.get("required") or ())
        content: dict[str, Any] = {}
        for name, field in (schema.get("properties") or {}).items():
            given = await interviewer.answer(_question(server, params.message, name, field))
            if given is None and name in required:
                return mcp_types.ElicitResult(action="cancel")
            if given is not None:
                content[name] = _value(given, field)
        return mcp_types.ElicitResult(action="accept", content=content)

    return answer


def _question(server: str, message: str, name: str, field: Mapping[str, Any]) -> Question:
    about = field.get("description") or field.get("title") or name
    options = [(str(value), "") for value in field.get("enum") or ()]
    options += [(str(row["const"]), str(row.get("title", ""))) for row in field.get("oneOf") or () if "const" in row]
    if field.get("type") == "boolean":
        options = [("true", ""), ("false", "")]
    return Question(
        text=f"{message}\n{name}: {about}",
        header=f"The MCP server {server!r} asks",
        options=tuple(options),
        several=field.get("type") == "array",
    )


def _value(text: str, field: Mapping[str, Any]) -> Any:
    """The answer in the type that the form asks for; the server judges what is not of it."""
    kind = field.get("type")
    try:
        if kind == "integer":
            return int(text)
        if kind == "number":
            return float(text)
    except ValueError:
        return text
    if kind == "boolean":
        return text.strip().lower() in {"true", "yes", "y", "1"}
    return [part.strip() for part in text.split(",")] if kind == "array" else text
