"""Ten cheap calls to the real service that ask what no document answers, and what of it differs from our tables (make live).

For whoever has a key: it is read from ANTHROPIC_API_KEY and never shown. Refused calls cost nothing, the others ask for one token
of a small model. Never part of an automatic run: it needs a key and the answer may change from day to day.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import httpx2
import msgspec
from msgspec import Struct

URL = "https://api.anthropic.com/v1/messages"
VERSION = "2026-10-21"
SMALL = "claude-haiku-4-5"
HI = {"role": "user", "content": "hi"}
TOOL = {"name": "Read", "input_schema": {"type": "object"}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}
# About 700 tokens by any count: above 512, below 1,024.
LONG = " ".join(f"word{number}" for number in range(350))


class Probe(Struct, frozen=True, kw_only=True):
    """One call. `asks`: what is open; `status` and `phrase` are what our tables say. `shows`: a counter to print."""

    asks: str
    body: dict[str, Any]
    status: int
    phrase: str = ""
    shows: str = ""


def _probe(asks: str, status: int, phrase: str = "", *, shows: str = "", **fields: Any) -> Probe:
    body = {"model": SMALL, "max_tokens": 1, "messages": [HI], **fields}
    return Probe(asks=asks, body=body, status=status, phrase=phrase, shows=shows)


PROBES: tuple[Probe, ...] = (
    _probe("L02: the text for no message at all", 400, "at least one message", messages=[]),
    _probe("L05: is a first message of the assistant still refused", 400, "first message", messages=[
        {"role": "assistant", "content": "a"}, HI]),
    _probe("L14: the text for a prefilled answer while thinking is on", 400, "thinking", max_tokens=2000,
           thinking={"type": "enabled", "budget_tokens": 1024}, messages=[HI, {"role": "assistant", "content": "a"}]),
    _probe("L22: is an address refused as user id", 400, "metadata.user_id", metadata={"user_id": "someone@example.com"}),
    _probe("L62: the text for an input that is a string", 400, "dictionary", tools=[TOOL], messages=[
        HI, {"role": "assistant", "content": [{**CALL, "input": "{}"}]}, {"role": "user", "content": [RESULT]}]),
    _probe("L66: must a history with calls define tools", 400, "must define tools", messages=[
        HI, {"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]}]),
    _probe("L100: is a tool name of 100 letters taken", 200, tools=[{**TOOL, "name": "a" * 100}]),
    _probe("2.1: is a system message refused on Sonnet 5", 400, "'system'", model="claude-sonnet-5", messages=[
        HI, {"role": "system", "content": "Be brief."}]),
    _probe("6: may a reference stand beside text in one result", 200, tools=[TOOL, {**TOOL, "name": "B", "defer_loading": True}],
           messages=[HI, {"role": "assistant", "content": [CALL]}, {"role": "user", "content": [
               {**RESULT, "content": [{"type": "text", "text": "x"}, {"type": "tool_reference", "tool_name": "B"}]}]}]),
    _probe("4.3: does Haiku 5.5 cache about 700 tokens", 200, model="claude-haiku-5-5", max_tokens=0,
           system=[{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}],
           shows="cache_creation_input_tokens"),
)  # fmt: skip


def verdict(probe: Probe, status: int, answer: dict[str, Any]) -> tuple[bool, str]:
    """Whether the service said what our tables say, and what it said, in one line."""
    error = answer.get("error") or {}
    said = f"{status} {error.get('type', '')} {error.get('message', '')}".strip()
    if probe.shows:
        said += f" {probe.shows}={answer.get('usage', {}).get(probe.shows)}"
    return status == probe.status and probe.phrase in str(error.get("message", "")), said[:300]


async def run_probes(client: httpx2.AsyncClient, url: str, key: str) -> int:
    """Send all of them, print one line each; the number of differences."""
    headers = {"x-api-key": key, "anthropic-version": VERSION, "content-type": "application/json"}
    differences = 0
    for probe in PROBES:
        response = await client.post(url, content=msgspec.json.encode(probe.body), headers=headers)
        same, said = verdict(probe, response.status_code, response.json())
        differences += not same
        print(f"{'same   ' if same else 'DIFFERS'}  {probe.asks}\n         {said}")
        if not same:
            print(f"         our tables: {probe.status} {probe.phrase}")
    return differences


async def _main(key: str) -> int:
    async with httpx2.AsyncClient(timeout=60.0) as client:
        differences = await run_probes(client, URL, key)
    print(f"\n{len(PROBES)} calls, {differences} that differ from our tables.")
    return 1 if differences else 0


if __name__ == "__main__":
    secret = os.environ.get("ANTHROPIC_API_KEY", "")
    if not secret:
        print("make live needs a key in ANTHROPIC_API_KEY. Nothing was sent.", file=sys.stderr)
        sys.exit(3)
    sys.exit(asyncio.run(_main(secret)))
