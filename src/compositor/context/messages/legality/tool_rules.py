"""The rules of the `tools` array and of the top-level system prompt.

Decides over decoded JSON, entry by entry and then over the list. Never builds or repairs a schema: that is
`context/tools`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from .raw import has_lone_surrogate
from .rules import Violation
from .shape import check_text_shape, check_tool_shape
from .wire_context import WireContext

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
SAFE_NAME = 64
MAX_DEFERRED = 10_000
MAX_STRICT, MAX_OPTIONAL, MAX_UNIONS = 20, 24, 16
SERVERS_ALONE_BETA = "mcp-client-2025-04-04"
"""The oldest beta of the connector, which knows no toolsets."""
COMBINATORS = ("anyOf", "oneOf", "allOf")


def check_tools(tools: Sequence[Any], context: WireContext) -> Iterator[Violation]:
    """Every rule of the array. Entries may be of any type."""
    names: set[str] = set()
    deferred = 0
    for index, tool in enumerate(tools):
        path = f"tools[{index}]"
        yield from check_tool_shape(tool, path, context)
        if not isinstance(tool, dict):
            continue
        yield from _check_name(tool, names, path)
        if tool.get("type") in (None, "custom"):
            yield from _check_schema(tool, path)
        if tool.get("defer_loading") is True:
            deferred += 1
            yield from _check_deferred(tool, path)
    if tools and deferred == len(tools):
        yield Violation("L105", "tools", "every tool is deferred")
    if deferred > MAX_DEFERRED:
        yield Violation("L109", "tools", f"{deferred} deferred tools are above {MAX_DEFERRED}")
    yield from _check_strict(tools)


def check_servers(tools: object, servers: object, context: WireContext) -> Iterator[Violation]:
    """Each server of the connector has exactly one toolset, and each toolset its server (L111)."""
    entries = [*enumerate(tools)] if isinstance(tools, list) else []
    named = [(index, tool["mcp_server_name"]) for index, tool in entries if _is_toolset(tool)]
    declared = [*enumerate(servers)] if isinstance(servers, list) else []
    known = [(index, server["name"]) for index, server in declared if isinstance(server, dict) and "name" in server]
    if not named and SERVERS_ALONE_BETA in context.betas:
        return
    for index, name in named:
        if name not in [server for _, server in known]:
            yield Violation("L111", f"tools[{index}].mcp_server_name", f"no server {name!r} is declared")
    for index, name in known:
        count = [server for _, server in named].count(name)
        if count != 1:
            yield Violation("L111", f"mcp_servers[{index}].name", f"{count} toolsets name the server {name!r}, not one")


def tool_names(tools: object) -> frozenset[str] | None:
    """The names that the array declares; `None` where a toolset brings names that nobody here can know."""
    entries = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    if any(entry.get("type") == "mcp_toolset" for entry in entries):
        return None
    return frozenset(entry["name"] for entry in entries if isinstance(entry.get("name"), str))


def check_system(system: Sequence[Any], context: WireContext) -> Iterator[Violation]:
    """Every rule of the top-level prompt, given as blocks."""
    for index, block in enumerate(system):
        path = f"system[{index}]"
        yield from check_text_shape(block, path, context)
        text = block.get("text") if isinstance(block, dict) else None
        if not isinstance(text, str):
            continue
        if not text.strip():
            yield Violation("W09", f"{path}.text", "the text is empty or white space only")
        if not text.isascii() and has_lone_surrogate(text):
            yield Violation("W01", f"{path}.text", "the text holds a lone surrogate")


def _is_toolset(tool: object) -> bool:
    return isinstance(tool, dict) and tool.get("type") == "mcp_toolset" and "mcp_server_name" in tool


def _check_strict(tools: Sequence[Any]) -> Iterator[Violation]:
    """Numbers over all strict tools together (L104); what stands deeper than a tool's own parameters is not counted."""
    strict = [
        (index, tool) for index, tool in enumerate(tools) if isinstance(tool, dict) and tool.get("strict") is True
    ]
    for index, tool in strict:
        if "toolset" in str(tool.get("type")):
            yield Violation("L104", f"tools[{index}].strict", "a toolset cannot be strict")
    schemas = [tool["input_schema"] for _, tool in strict if isinstance(tool.get("input_schema"), dict)]
    parameters = [found for schema in schemas for found in _parameters(schema)]
    counts = (
        ("strict tools", len(schemas), MAX_STRICT),
        ("optional parameters", sum(not is_required for is_required, _ in parameters), MAX_OPTIONAL),
        ("parameters of several types", sum(_is_union(value) for _, value in parameters), MAX_UNIONS),
    )
    for what, count, most in counts:
        if count > most:
            yield Violation("L104", "tools", f"{count} {what} are above {most}")


def _parameters(schema: dict[str, Any]) -> Iterator[tuple[bool, Any]]:
    """Whether each parameter is required, and its schema."""
    required = schema.get("required")
    properties = schema.get("properties")
    for name, value in (properties if isinstance(properties, dict) else {}).items():
        yield isinstance(required, list) and name in required, value


def _is_union(schema: Any) -> bool:
    return isinstance(schema, dict) and ("anyOf" in schema or isinstance(schema.get("type"), list))


def _check_name(tool: dict[str, Any], names: set[str], path: str) -> Iterator[Violation]:
    name = tool.get("name")
    if not isinstance(name, str):
        return
    if _NAME.fullmatch(name) is None:
        yield Violation("L100", f"{path}.name", f"{name[:80]!r} is not 1 to 128 letters, digits, _ and -")
    elif len(name) > SAFE_NAME:
        yield Violation("W10", f"{path}.name", f"{len(name)} characters are above {SAFE_NAME}")
    if name in names:
        yield Violation("L101", f"{path}.name", f"the name {name[:80]!r} was used before")
    names.add(name)


def _check_schema(tool: dict[str, Any], path: str) -> Iterator[Violation]:
    schema = tool.get("input_schema")
    if not isinstance(schema, dict):
        return
    place = f"{path}.input_schema"
    if schema.get("type") != "object":
        yield Violation("L102", f"{place}.type", "must be 'object'")
        return
    for word in COMBINATORS:
        if word in schema:
            yield Violation("W06", f"{place}.{word}", f"{word} stands at the top of the schema")
    problem = _schema_problem(msgspec.json.encode(schema))
    if problem is not None:
        yield Violation("L102", place, problem)
        return
    examples = tool.get("input_examples")
    for index, example in enumerate(examples if isinstance(examples, list) else ()):
        if not _fits(schema, example):
            yield Violation("L103", f"{path}.input_examples[{index}]", "the example does not fit the schema")


def _check_deferred(tool: dict[str, Any], path: str) -> Iterator[Violation]:
    if tool.get("cache_control") is not None:
        yield Violation("L106", f"{path}.cache_control", "a deferred tool has a cache marker")
    if str(tool.get("type")).startswith("tool_search_tool_"):
        yield Violation("L108", f"{path}.defer_loading", "the search tool is deferred")


@lru_cache(maxsize=2048)
def _schema_problem(schema: bytes) -> str | None:
    """What the meta-schema of 2020-12 says against `schema`. Pure, and kept: the same schemas come with every request."""
    import jsonschema_rs

    decoded = msgspec.json.decode(schema)
    # Whichever draft a schema claims, the service reads it as 2020-12; a foreign address would also be looked up.
    decoded.pop("$schema", None)
    try:
        jsonschema_rs.meta.validate(decoded)
    except jsonschema_rs.ValidationError as problem:
        place = "".join(f"[{step!r}]" for step in problem.instance_path)
        return f"no JSON Schema of 2020-12{f' at {place}' if place else ''}"
    except (ValueError, RecursionError):
        return "cannot be read as a JSON Schema"
    return None


def _fits(schema: dict[str, Any], example: object) -> bool:
    import jsonschema_rs

    local = {key: value for key, value in schema.items() if key != "$schema"}
    try:
        return bool(jsonschema_rs.Draft202012Validator(local, offline=True).is_valid(example))
    except (jsonschema_rs.ReferencingError, jsonschema_rs.ValidationError, ValueError, RecursionError):
        # A schema that cannot be used here says nothing about the example.
        return True
