"""Whether the tools may be declared as they are: names, schemas, examples, deferral, strictness (wire page 3.5).

Decides the refusals of L100 to L111 and W06. Schemas are judged against JSON Schema 2020-12.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .grammar import Circumstances
from .refusal import Refusal

Tool = Mapping[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_SEARCH = "tool_search_tool_"
_TOP_LEVEL = ("anyOf", "oneOf", "allOf")
_MOST_DEFERRED = 10_000


def check_tools(body: Mapping[str, Any], given: Circumstances) -> Iterator[Refusal]:
    tools = body.get("tools") or []
    for index, tool in enumerate(tools):
        if tool.get("type") in (None, "custom"):
            yield from _check_tool(f"tools.{index}.custom", tool)
        elif tool["type"].startswith(_SEARCH) and tool.get("defer_loading"):
            said = f"tools.{index}: the tool search tool cannot have defer_loading=true"
            yield Refusal(message=said, rule="L108")
        elif "toolset" in tool["type"] and tool.get("strict"):
            yield Refusal(message=f"tools.{index}: strict is not supported on a toolset", rule="L104")
        elif "toolset" in tool["type"] and tool["type"] != "mcp_toolset" and "defer_loading" in tool:
            yield Refusal(message=f"tools.{index}: defer_loading belongs to the members of a toolset", rule="L110")
    names = [tool["name"] for tool in tools if isinstance(tool.get("name"), str)]
    if len(set(names)) != len(names):
        yield Refusal(message="tools: Tool names must be unique.", rule="L101")
    deferred = sum(bool(tool.get("defer_loading")) for tool in tools)
    if tools and deferred == len(tools):
        yield Refusal(message="tools: at least one tool must have defer_loading=false", rule="L105")
    if deferred > _MOST_DEFERRED:
        yield Refusal(message=f"tools: at most {_MOST_DEFERRED} tools may be deferred", rule="L109")
    yield from _check_strict(tools)
    yield from _check_servers(body, tools, given)


def _check_tool(at: str, tool: Tool) -> Iterator[Refusal]:
    if not _NAME.fullmatch(tool["name"]):
        yield Refusal(message=f"{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'", rule="L100")
    schema = tool["input_schema"]
    if schema.get("type") != "object":
        yield Refusal(message=f"{at}.input_schema.type: Input should be 'object'", rule="L102")
        return
    for key in _TOP_LEVEL:
        if key in schema:
            said = f"{at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
            yield Refusal(message=said, rule="W06")
            return
    text = json.dumps(schema)
    if not _is_schema(text):
        yield Refusal(
            message=f"{at}.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12", rule="L102"
        )
        return
    for number, example in enumerate(tool.get("input_examples") or ()):
        if not _fits(text, json.dumps(example)):
            yield Refusal(message=f"{at}.input_examples.{number}: does not match the input_schema", rule="L103")
    if tool.get("defer_loading") and tool.get("cache_control"):
        said = f"Tool '{tool['name']}' cannot have both defer_loading=true and cache_control set"
        yield Refusal(message=said, rule="L106")


@functools.lru_cache(maxsize=1024)
def _is_schema(text: str) -> bool:
    import jsonschema_rs  # heavy, and a request without tools does not need it

    schema = {key: value for key, value in json.loads(text).items() if key != "$schema"}
    try:
        jsonschema_rs.Draft202012Validator(schema, retriever=_nothing)
    except (ValueError, RecursionError):
        return False
    return True


@functools.lru_cache(maxsize=1024)
def _fits(text: str, example: str) -> bool:
    import jsonschema_rs  # heavy, see above

    schema = {key: value for key, value in json.loads(text).items() if key != "$schema"}
    return jsonschema_rs.Draft202012Validator(schema, retriever=_nothing).is_valid(json.loads(example))


def _nothing(_address: str) -> dict[str, Any]:
    """What stands at another address is not fetched, and says nothing."""
    return {}


def _check_strict(tools: list[Tool]) -> Iterator[Refusal]:
    """Numbers over all strict tools together: 20 tools, 24 optional parameters, 16 parameters of several types (L104)."""
    strict = [
        tool["input_schema"] for tool in tools if tool.get("strict") and isinstance(tool.get("input_schema"), dict)
    ]
    optional = unions = 0
    for schema in strict:
        properties = schema.get("properties")
        required = schema.get("required")
        for name, value in (properties if isinstance(properties, dict) else {}).items():
            optional += name not in (required if isinstance(required, list) else [])
            unions += isinstance(value, dict) and ("anyOf" in value or isinstance(value.get("type"), list))
    if len(strict) > 20 or optional > 24 or unions > 16:
        yield Refusal(message="tools: Schema is too complex for compilation", rule="L104")


def _check_servers(body: Mapping[str, Any], tools: list[Tool], given: Circumstances) -> Iterator[Refusal]:
    servers = [server.get("name") for server in body.get("mcp_servers") or ()]
    toolsets = [tool.get("mcp_server_name") for tool in tools if tool.get("type") == "mcp_toolset"]
    # The oldest of its betas knows no toolsets: a server stands alone there.
    if not toolsets and given.has(("mcp-client-2025-04-04",)):
        return
    if sorted(map(str, servers)) != sorted(map(str, toolsets)):
        yield Refusal(
            message="mcp_servers: each server needs exactly one mcp_toolset, and each toolset its server", rule="L111"
        )
