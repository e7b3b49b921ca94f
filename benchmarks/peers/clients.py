"""The clients, each with its own ways: histories in its own types, its own loop, its caching switched on.

Decides how each is set up: as its documentation has it for this model family, nothing switched off. Every import is inside its client, so that a
process pays for its own only.
"""

from __future__ import annotations

import json
import os
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from benchmarks.peers.scenes import PROMPT

MODEL = "claude-sonnet-4-5"
KEY = "sk-none"
MAX_TOKENS = 8_000


class Client(Protocol):
    """Runs prompts to their end. `begin` takes a system prompt and a history in wire form; `submit` runs one prompt behind what it knows."""

    version: str

    def begin(self, url: str, system: str, history: list[dict[str, Any]]) -> None: ...

    def go_on(self, system: str) -> None:
        """The same conversation in a new session, under another system prompt."""

    def submit(self, turns: int) -> None:
        """One prompt, `turns` turns of calls and an end."""


MARKS: list[float] = []
"""CPU of the process, in seconds, at the first call of each turn."""


def mark(file_path: str) -> None:
    """Note the CPU so far when this is the first file of a turn."""
    if file_path.endswith("_0.py"):
        MARKS.append(time.process_time())


def read_file(file_path: str) -> str:
    """Read a file."""
    mark(file_path)
    return Path(file_path).read_text(encoding="utf-8")


READ = {
    "name": "Read",
    "description": "Read a file.",
    "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
}


class Bare:
    """The floor: one dict, `json.dumps`, one pool of connections."""

    version = "httpx2 and json"

    def begin(self, url: str, system: str, history: list[dict[str, Any]]) -> None:
        import httpx2

        self._client = httpx2.Client()
        self._url = f"{url}/v1/messages"
        self._system = system
        self._messages = list(history)

    def go_on(self, system: str) -> None:
        self._system = system

    def submit(self, turns: int) -> None:
        del turns
        self._messages.append({"role": "user", "content": PROMPT})
        while True:
            body = {
                "model": MODEL,
                "max_tokens": MAX_TOKENS,
                "tools": [READ],
                "system": self._system,
                "messages": self._messages,
                "cache_control": {"type": "ephemeral"},
            }
            data = json.dumps(body, ensure_ascii=False).encode()
            answer = self._client.post(self._url, content=data, headers={"x-api-key": KEY}).json()
            self._messages.append({"role": "assistant", "content": answer["content"]})
            calls = [block for block in answer["content"] if block["type"] == "tool_use"]
            if not calls:
                return
            results = [
                {"type": "tool_result", "tool_use_id": call["id"], "content": read_file(**call["input"])}
                for call in calls
            ]
            self._messages.append({"role": "user", "content": results})


class ToolRunner:
    """The official SDK's tool runner, with automatic caching. Without its threads: with them the service keeps the history, and nothing is built."""

    version = ""

    def begin(self, url: str, system: str, history: list[dict[str, Any]]) -> None:
        import anthropic

        self.version = f"anthropic {anthropic.__version__}"
        self._client = anthropic.Anthropic(base_url=url, api_key=KEY)
        self._tool = anthropic.beta_tool(read_file, name="Read")
        self._system = system
        self._messages = list(history)

    def go_on(self, system: str) -> None:
        self._system = system

    def submit(self, turns: int) -> None:
        del turns
        self._messages.append({"role": "user", "content": PROMPT})
        runner = self._client.beta.messages.tool_runner(
            model=MODEL,
            max_tokens=MAX_TOKENS,
            system=self._system,
            tools=[self._tool],
            messages=self._messages,
            cache_control={"type": "ephemeral"},
            thread=False,
        )
        for message in runner:
            self._messages.append({"role": "assistant", "content": message.content})
            results = runner.generate_tool_call_response()
            if results is not None:
                self._messages.append(results)


class PydanticAI:
    """Its agent, with its three cache switches."""

    version = ""

    def begin(self, url: str, system: str, history: list[dict[str, Any]]) -> None:
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        self.version = f"pydantic-ai {version('pydantic-ai-slim')}"
        os.environ.pop("ANTHROPIC_API_KEY", None)
        self._model = AnthropicModel(MODEL, provider=AnthropicProvider(api_key=KEY, base_url=url))
        self._history = self._messages_of(history)
        self.go_on(system)

    def go_on(self, system: str) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.models.anthropic import AnthropicModelSettings

        settings = AnthropicModelSettings(
            max_tokens=MAX_TOKENS,
            anthropic_cache_instructions=True,
            anthropic_cache_tool_definitions=True,
            anthropic_cache_messages=True,
        )
        self._agent = Agent(self._model, instructions=system, model_settings=settings)
        self._agent.tool_plain(read_file, name="Read")

    def submit(self, turns: int) -> None:
        from pydantic_ai.usage import UsageLimits

        limits = UsageLimits(request_limit=turns + 10)
        result = self._agent.run_sync(PROMPT, message_history=self._history, usage_limits=limits)
        self._history = result.all_messages()

    def _messages_of(self, history: list[dict[str, Any]]) -> list[Any]:
        from pydantic_ai import messages as own

        found: list[Any] = []
        for message in history:
            parts: list[Any] = []
            for block in message["content"]:
                if block["type"] == "tool_use":
                    parts.append(own.ToolCallPart(block["name"], block["input"], block["id"]))
                elif block["type"] == "tool_result":
                    parts.append(own.ToolReturnPart("Read", block["content"], block["tool_use_id"]))
                else:
                    is_user = message["role"] == "user"
                    parts.append(own.UserPromptPart(block["text"]) if is_user else own.TextPart(block["text"]))
            found.append(own.ModelRequest(parts) if message["role"] == "user" else own.ModelResponse(parts))
        return found


class LangChain:
    """Its agent with its caching middleware."""

    version = ""

    def begin(self, url: str, system: str, history: list[dict[str, Any]]) -> None:
        from langchain_anthropic import ChatAnthropic

        self.version = f"langchain {version('langchain')}, langchain-anthropic {version('langchain-anthropic')}"
        self._model = ChatAnthropic(model_name=MODEL, base_url=url, api_key=KEY, max_tokens_to_sample=MAX_TOKENS)
        self._history = self._messages_of(history)
        self.go_on(system)

    def go_on(self, system: str) -> None:
        from langchain.agents import create_agent
        from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
        from langchain_core.tools import tool

        self._agent = create_agent(
            self._model,
            [tool("Read")(read_file)],
            system_prompt=system,
            middleware=[AnthropicPromptCachingMiddleware()],
        )

    def submit(self, turns: int) -> None:
        from langchain_core.messages import HumanMessage

        state = {"messages": [*self._history, HumanMessage(PROMPT)]}
        self._history = self._agent.invoke(state, {"recursion_limit": 4 * turns + 50})["messages"]

    def _messages_of(self, history: list[dict[str, Any]]) -> list[Any]:
        from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

        found: list[Any] = []
        for message in history:
            first = message["content"][0]
            if first["type"] == "tool_result":
                found.append(ToolMessage(first["content"], tool_call_id=first["tool_use_id"]))
            elif message["role"] == "user":
                found.append(HumanMessage(first["text"]))
            else:
                calls = [
                    {"name": block["name"], "args": block["input"], "id": block["id"], "type": "tool_call"}
                    for block in message["content"][1:]
                ]
                found.append(AIMessage(message["content"], tool_calls=calls))
        return found


class _Files:
    """An environment that answers `cat FILE` without a shell, so that no child process is measured."""

    config = None

    def execute(self, action: dict[str, Any], cwd: str = "") -> dict[str, Any]:
        del cwd
        return {"output": read_file(action["command"].removeprefix("cat ")), "returncode": 0, "exception_info": ""}

    def get_template_vars(self, **_kwargs: Any) -> dict[str, Any]:
        return {}

    def serialize(self) -> dict[str, Any]:
        return {}


class MiniSweAgent:
    """Its agent over litellm, with its cache markers."""

    version = ""

    def begin(self, url: str, system: str, history: list[dict[str, Any]]) -> None:
        from minisweagent.agents.default import DefaultAgent
        from minisweagent.models.litellm_model import LitellmModel

        self.version = f"mini-swe-agent {version('mini-swe-agent')}, litellm {version('litellm')}"
        model = LitellmModel(
            model_name=f"anthropic/{MODEL}",
            model_kwargs={"api_base": url, "api_key": KEY, "max_tokens": MAX_TOKENS},
            set_cache_control="default_end",
            cost_tracking="ignore_errors",
        )
        self._agent = DefaultAgent(model, _Files(), system_template=system, instance_template=PROMPT, cost_limit=0)
        said = [message for one in history for message in self._messages_of(one)]
        self._agent.messages = [{"role": "system", "content": system}, *said]

    def go_on(self, system: str) -> None:
        self._agent.messages[0] = {"role": "system", "content": system}

    def submit(self, turns: int) -> None:
        from minisweagent.exceptions import FormatError

        self._agent.add_messages({"role": "user", "content": PROMPT})
        for _ in range(turns):
            self._agent.step()
        try:
            self._agent.step()
        except FormatError as ended:
            # It takes an answer without a call for a mistake; the request is made all the same.
            self._agent.add_messages(ended.messages[0])

    def _messages_of(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        first = message["content"][0]
        if first["type"] == "tool_result":
            return [{"role": "tool", "tool_call_id": first["tool_use_id"], "content": first["content"]}]
        said: dict[str, Any] = {"role": message["role"], "content": first["text"]}
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": "bash", "arguments": json.dumps({"command": f"cat {call['input']['file_path']}"})},
            }
            for call in message["content"][1:]
        ]
        return [{**said, "tool_calls": calls} if calls else said]


CLIENTS: dict[str, type[Any]] = {
    "bare": Bare,
    "anthropic": ToolRunner,
    "pydantic-ai": PydanticAI,
    "langchain": LangChain,
    "mini-swe-agent": MiniSweAgent,
}
