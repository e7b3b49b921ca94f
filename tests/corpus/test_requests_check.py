"""Recorded requests against the rules: what the service accepted is clean, what it refused is found where a body shows it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import yaml

from compositor.cli.check import Choices, circumstances
from compositor.cli.check_files import Found, find_bodies
from compositor.context.messages.legality import WireContext, check_body

CORPUS = Path(os.environ.get("COMPOSITOR_CORPUS", "../shared/corpus")).resolve() / "requests"
pytestmark = pytest.mark.corpus

# The version all recordings were made with: one recorder kept the header, the others ran client libraries of that time.
VERSION = "2023-06-01"

# Beta headers are not part of these recordings; each body shows by its fields which ones it must have been sent with.
BETAS: dict[str, tuple[str, ...]] = {
    "pydantic-ai/test_anthropic_compaction_round_trip": ("compact-2026-01-12",),
    "pydantic-ai/test_anthropic_compaction_usage_with_cache_streaming": ("compact-2026-01-12",),
    "pydantic-ai/test_anthropic_live_delta_preserves_the_warmed_cache_prefix": (
        "mid-conversation-tool-changes-2026-07-01",
    ),
    "pydantic-ai/test_anthropic_mcp_servers_stream": ("mcp-client-2025-04-04",),
    "pydantic-ai/test_anthropic_task_budget_adds_output_config_and_beta": ("task-budgets-2026-03-13",),
    "pydantic-ai/test_native_tool_availability_delta": ("mid-conversation-tool-changes-2026-07-01",),
}

# What is found in a body nevertheless, with the reason.
EXPECTED: dict[str, set[tuple[str, str]]] = {
    # Refused with 400: the model does not support effort level 'xhigh'.
    "pydantic-ai/test_anthropic_explicit_effort_xhigh_unsupported_model_errors#0": {("W08", "output_config.effort")},
    # Accepted although an answer begins with a text of one space: why W07 is a warning and not L08.
    "llm-anthropic/test_tools#1": {("W07", "messages[1].content[0].text")},
}

# 404: a model name that does not exist; no rule of the body is broken. The rest of `errors/` are client records of 500 and
# 529 answers without a request body.


class Request(NamedTuple):
    name: str
    file: str
    data: bytes
    counting: bool
    status: int


def _requests() -> Iterator[Request]:
    for path in sorted(CORPUS.glob("*/*.yaml")):
        file = f"{path.parent.name}/{path.stem}"
        for number, interaction in enumerate(yaml.safe_load(path.read_text(encoding="utf-8"))["interactions"]):
            request = interaction["request"]
            body = request.get("body") or request.get("parsed_body")
            yield Request(
                f"{file}#{number}",
                file,
                _data(body),
                "count_tokens" in request["uri"],
                interaction["response"]["status"]["code"],
            )


def _data(body: Any) -> bytes:
    if isinstance(body, str):
        return body.encode()
    return body if isinstance(body, bytes) else msgspec.json.encode(body)


REQUESTS = list(_requests())
every_request = pytest.mark.parametrize("request_", REQUESTS, ids=[request.name for request in REQUESTS])


def test_the_corpus_is_there() -> None:
    assert len(REQUESTS) >= 50
    assert {request.status for request in REQUESTS} == {200, 400, 404}
    assert EXPECTED.keys() <= {request.name for request in REQUESTS}


def test_the_command_finds_every_request_of_the_recordings() -> None:
    found = [body for path in sorted(CORPUS.glob("*/*.yaml")) for body in find_bodies(path.name, path.read_bytes())]
    assert [body.counting for body in found] == [request.counting for request in REQUESTS]
    assert [json.loads(body.data) for body in found] == [json.loads(request.data) for request in REQUESTS]


@every_request
def test_a_recorded_request_is_judged_as_the_service_judged_it(request_: Request) -> None:
    chosen = Choices(
        model=None,
        betas=BETAS.get(request_.file, ()),
        platform="claude-api",
        api_version=VERSION,
        counting=request_.counting,
    )
    context = circumstances(Found(file=request_.name, line=None, data=request_.data, headers={}), chosen)
    assert _found(request_.data, context) == EXPECTED.get(request_.name, set())


@every_request
def test_without_a_profile_no_accepted_request_is_an_error(request_: Request) -> None:
    context = WireContext(api_version=VERSION, betas=BETAS.get(request_.file, ()), counting=request_.counting)
    assert _found(request_.data, context) <= {("W07", "messages[1].content[0].text")}


@every_request
def test_without_its_betas_a_request_that_needs_them_is_refused(request_: Request) -> None:
    rules = {rule for rule, _ in _found(request_.data, WireContext(api_version=VERSION, counting=request_.counting))}
    is_needed = (
        request_.file in BETAS
        and request_.name != "pydantic-ai/test_anthropic_live_delta_preserves_the_warmed_cache_prefix#0"
    )
    assert bool(rules & {"L09", "L150", "W04"}) is is_needed


def _found(data: bytes, context: WireContext) -> set[tuple[str, str]]:
    assert isinstance(json.loads(data), dict)
    return {(violation.rule, violation.path) for violation in check_body(data, context)}
