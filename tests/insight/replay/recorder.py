"""A client that records as the Claude Code family does, against the stand-in's own cache: the truth about every break is known.

The figures come from `compositor.emulator.cache`, which shares nothing with the replay: 4 bytes are a token, 1,000 the minimum.
"""

import json
from copy import deepcopy
from datetime import UTC, datetime, timedelta

from compositor.emulator.cache import PromptCache, positions_of
from compositor.insight.replay.breaks import find_breaks
from compositor.insight.replay.foreign import ForeignReplay
from compositor.insight.replay.rows import Session

START = datetime(2026, 1, 31, 12, tzinfo=UTC)


def words(tokens: int, letter: str = "w") -> str:
    return letter * (tokens * 4)


def tool(name: str, tokens: int = 2_000) -> dict:
    return {"name": name, "description": words(tokens, "d"), "input_schema": {"type": "object"}}


class Recorder:
    """Call `turn` for each request; change the public fields between them to plant something."""

    def __init__(self, ttl: str = "5m") -> None:
        self.ttl = ttl
        self.cache = PromptCache()
        self.now = 0.0
        self.model = "claude-sonnet-4-5"
        self.effort = "high"
        self.tools = [tool("A"), tool("B")]
        self.system = [{"type": "text", "text": words(3_000, "s")}]
        self.messages: list[dict] = []
        self.lines: list[bytes] = []
        self.fields = {"sessionId": "s-1", "cwd": "/p", "version": "2.1.0", "isSidechain": False}
        self.parent: str | None = None
        self.earlier_marker = True
        self.caching = True
        self.diagnosis: str | None = None
        self.clears: list[dict] = []
        self.hides_usage = False
        self.planted: list[str] = []
        self._count = 0

    # ------------------------------------------------------------------------------------------------------- records

    def record(self, kind: str, **fields) -> str:
        self._count += 1
        uuid = f"u-{self._count}"
        time = (START + timedelta(seconds=self.now)).isoformat().replace("+00:00", "Z")
        whole = {"type": kind, "uuid": uuid, "parentUuid": self.parent, "timestamp": time, **self.fields, **fields}
        self.lines.append(json.dumps(whole).encode() + b"\n")
        self.parent = uuid
        return uuid

    def attach(self, **attachment) -> None:
        self.record("attachment", attachment=attachment)

    def replay(self) -> Session:
        replay = ForeignReplay()
        for line in self.lines:
            replay.add(line)
        return replay.finish("planted.jsonl")

    # -------------------------------------------------------------------------------------------------------- sending

    def say(self, tokens: int = 1_500) -> None:
        content = [{"type": "text", "text": words(tokens, "u")}]
        self.messages.append({"role": "user", "content": content})
        self.record("user", message={"role": "user", "content": content})

    def answer(self, tokens: int = 400, *, pieces: int = 1, calls: int = 0) -> str:
        usage = self._usage()
        self._count += 1
        name = f"msg-{self._count}"
        blocks = [{"type": "text", "text": words(tokens // pieces, "a")} for _ in range(pieces)]
        blocks += [{"type": "tool_use", "id": f"t-{self._count}-{at}", "name": "A", "input": {}} for at in range(calls)]
        self.messages.append({"role": "assistant", "content": blocks})
        for at, block in enumerate(blocks):
            stored = {**usage, "output_tokens": at + 1} if usage else usage
            message = {"id": name, "role": "assistant", "model": self.model, "content": [block], "stop_reason": None}
            if not self.hides_usage:
                message["usage"] = stored
            if self.diagnosis:
                message["diagnostics"] = {"cache_miss_reason": {"type": self.diagnosis}}
            if self.clears:
                message["context_management"] = {"applied_edits": self.clears}
            self.record("assistant", message=message, effort=self.effort)
        return name

    def results(self, tokens: int = 500) -> None:
        """Results of the calls of the newest answer, each below the record of its own call, as clients store them."""
        calls = [block for block in self.messages[-1]["content"] if block["type"] == "tool_use"]
        contents = []
        last = self.parent
        for at, call in enumerate(calls):
            block = {"type": "tool_result", "tool_use_id": call["id"], "content": words(tokens, "r")}
            contents.append(block)
            self.parent = f"u-{int(last.removeprefix('u-')) - len(calls) + 1 + at}"
            self.record("user", message={"role": "user", "content": [block]})
        self.messages.append({"role": "user", "content": contents})

    def turn(self, wait: float = 20.0, *, tokens: int = 1_500, **how) -> None:
        self.now += wait
        self.say(tokens)
        self.answer(**how)

    def plant(self, wait: float = 20.0, **how) -> None:
        """A turn that truly breaks."""
        self.turn(wait, **how)
        self.planted.append(json.loads(self.lines[-1])["message"]["id"])

    def _usage(self) -> dict:
        body = deepcopy({"model": self.model, "max_tokens": 10, "tools": self.tools, "system": self.system})
        body["messages"] = deepcopy(self.messages)
        body["output_config"] = {"effort": self.effort}
        if self.caching:
            marker = {"type": "ephemeral", "ttl": self.ttl}
            body["system"][-1]["cache_control"] = marker
            body["messages"][-1]["content"][-1]["cache_control"] = marker
            if self.earlier_marker and len(body["messages"]) > 2:
                body["messages"][-3]["content"][-1]["cache_control"] = marker
        use, self.cache = self.cache.use(positions_of(body, bytes_per_token=4), minimum=1000, now=self.now)
        return {
            "input_tokens": use.fresh,
            "cache_read_input_tokens": use.read,
            "cache_creation_input_tokens": use.written_5m + use.written_1h,
            "cache_creation": {
                "ephemeral_5m_input_tokens": use.written_5m,
                "ephemeral_1h_input_tokens": use.written_1h,
            },
            "output_tokens": 1,
        }


def found_in(recorder: Recorder) -> list[tuple[str, str]]:
    """(message, cause) of every break that is found."""
    session = recorder.replay()
    names = [json.loads(recorder.lines[request.line - 1])["message"]["id"] for request in session.requests]
    return [(names[one.request], one.cause.value) for one in find_breaks(session.requests)]
