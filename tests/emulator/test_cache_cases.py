"""Cache figures computed by hand: each file of tests/cases/cache is a sequence of requests with the sums written out.

A block is written as `LETTER TOKENS [5m|1h]`: a text that counts exactly so many tokens of four bytes, with a marker. Other kinds are
`call`, `result`, `think`, `image`, and `ref TOOL TOKENS`, a result that references a tool; `12x` repeats. Tools are `NAME TOKENS`,
with `deferred` or a marker. `figures` are read, written for five minutes, written for an hour, new. The figures are judged as the
usage of the answer says them.
"""

import json
from pathlib import Path

import pytest
import yaml

from compositor.emulator.core import Emulator, Request
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.script import Script, Turn

FOLDER = Path(__file__).parents[1] / "cases" / "cache"
CASES = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yaml"))}
BETAS = "mid-conversation-system-clear-at-2026-08-21,fast-mode-2026-02-01"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAA"


class Builder:
    """Blocks of an exact size, with ids that belong together."""

    def __init__(self):
        self.calls = 0
        self.results = 0

    def blocks(self, rows):
        return [block for row in rows for block in self.row(row.split())]

    def row(self, words):
        if words[0].endswith("x"):
            return [block for _ in range(int(words[0][:-1])) for block in self.row(words[1:])]
        kind, *rest = words
        name = rest.pop(0) if kind == "ref" else ""
        tokens, *marker = rest
        return [marked(filled(self.form(kind, name), int(tokens) * 4), marker)]

    def form(self, kind, name):
        if kind == "call":
            self.calls += 1
            return {"type": "tool_use", "id": f"t{self.calls}", "name": "T", "input": {"x": ""}}, ("input", "x"), "c"
        if kind in {"result", "ref"}:
            self.results += 1
            text = {"type": "text", "text": ""}
            inner = [text, {"type": "tool_reference", "tool_name": name}] if name else [text]
            return (
                {"type": "tool_result", "tool_use_id": f"t{self.results}", "content": inner},
                ("content", 0, "text"),
                "r",
            )
        if kind == "think":
            return {"type": "thinking", "thinking": "", "signature": "s"}, ("thinking",), "h"
        if kind == "image":
            source = {"type": "base64", "media_type": "image/png", "data": PNG}
            return {"type": "image", "source": source}, ("source", "data"), "A"
        return {"type": "text", "text": ""}, ("text",), kind


def filled(form, size):
    block, path, letter = form
    place = block
    for step in path[:-1]:
        place = place[step]
    missing = size - len(json.dumps(block, separators=(",", ":")))
    assert missing >= 0, f"{block} does not fit into {size} bytes"
    place[path[-1]] += letter * missing
    return block


def marked(block, marker):
    return {**block, "cache_control": {"type": "ephemeral", "ttl": marker[0]}} if marker else block


def tool(row):
    name, tokens, *rest = row.split()
    fields = {"defer_loading": True} if rest == ["deferred"] else {}
    form = {"name": name, "description": "", "input_schema": {"type": "object"}, **fields}
    return marked(filled((form, ("description",), "d"), int(tokens) * 4), [] if fields else rest)


def body_of(request, case):
    builder = Builder()
    rows = request.get("messages") or [{"user": request["user"]}]
    messages = []
    for ((role, blocks),) in (message.items() for message in rows):
        scoped = {"clear_at": "next_user_message"} if role == "once" else {}
        messages.append({"role": "system" if scoped else role, "content": builder.blocks(blocks), **scoped})
    body = {"model": request.get("model", "m-1"), "max_tokens": request.get("max_tokens", 100), "messages": messages}
    tools = request.get("tools") or case.get("tools")
    if tools:
        body["tools"] = [tool(row) for row in tools]
    if "system" in request:
        body["system"] = builder.blocks(request["system"])
    if "automatic" in request:
        body["cache_control"] = {"type": "ephemeral", "ttl": request["automatic"]}
    return body | {key: request[key] for key in ("speed", "tool_choice", "output_config", "thinking") if key in request}


def profile_of(case):
    minimums = case.get("minimums", {})

    def look_up(model):
        return ServiceProfile(
            cache_minimum=minimums.get(model, 1000), system_role=True, foreign_signatures=True,
            keeps_thinking=case.get("keeps_thinking", True), isolation=case.get("isolation", "workspace"),
        )  # fmt: skip

    return look_up


def figures_of(emulator, request, case):
    headers = {"anthropic-version": "2026-10-21", "anthropic-beta": BETAS, "x-api-key": request.get("key", "k-1")}
    if "workspace" in request:
        headers["anthropic-workspace-id"] = request["workspace"]
    emulator.now = float(request.get("at", emulator.now))
    body = json.dumps(body_of(request, case)).encode()
    reply = emulator.answer(Request(method="POST", path="/v1/messages", headers=headers, body=body))
    answer = json.loads(reply.steps[0].data)
    assert reply.status == 200, answer
    usage = answer["usage"]
    split = usage["cache_creation"]
    assert (
        split["ephemeral_5m_input_tokens"] + split["ephemeral_1h_input_tokens"] == usage["cache_creation_input_tokens"]
    )
    return [
        usage["cache_read_input_tokens"], split["ephemeral_5m_input_tokens"], split["ephemeral_1h_input_tokens"],
        usage["input_tokens"],
    ]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_figures_are_those_computed_by_hand(name):
    case = CASES[name]
    turn = Turn(say="ok", latency=float(case.get("latency", 0)))
    emulator = Emulator(Script(turns=(turn,), repeat=True), profile_of(case))
    for number, request in enumerate(case["requests"], start=1):
        assert figures_of(emulator, request, case) == request["figures"], f"request {number}: {request['sum']}"


def test_there_are_at_least_thirty_sequences_and_each_request_has_its_sum():
    assert len(CASES) >= 30
    assert all(request["sum"] for case in CASES.values() for request in case["requests"])
