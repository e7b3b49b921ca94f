"""The stand-in's rules over recorded requests: what the service took, it takes; what the service refused is not judged here."""

import json
import os
from pathlib import Path

import pytest
import yaml

from compositor.emulator.cache import positions_of
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.rules import check_request

pytestmark = pytest.mark.corpus

PROFILE = ServiceProfile(max_output=128_000, system_role=True, prefill=True)
# Most recordings dropped the header that names the betas.
BETAS = (
    "context-management-2025-06-27,compact-2026-01-12,mcp-client-2025-04-04,mcp-client-2025-11-20,task-budgets-2026-03-13,"
    "mid-conversation-tool-changes-2026-07-01"
)


def recorded_requests():
    """(name, body, headers) of every recorded request that the service answered with a success."""
    folder = Path(os.environ.get("COMPOSITOR_CORPUS", "../shared/corpus")) / "requests"
    assert folder.is_dir(), f"the corpus is not at {folder}; set COMPOSITOR_CORPUS"
    for path in sorted(folder.rglob("*.yaml")):
        for number, interaction in enumerate(yaml.safe_load(path.read_text())["interactions"]):
            request = interaction["request"]
            if "count_tokens" in request["uri"] or interaction["response"]["status"]["code"] != 200:
                continue
            body = request.get("parsed_body") or json.loads(request["body"])
            headers = {name.lower(): values for name, values in request["headers"].items()}
            first = {name: value[0] if isinstance(value, list) else value for name, value in headers.items()}
            yield f"{path.name}:{number}", body, {"anthropic-version": "2023-06-01", "anthropic-beta": BETAS, **first}


REQUESTS = {name: (body, headers) for name, body, headers in recorded_requests()}


def test_the_corpus_has_the_requests_that_were_recorded():
    assert len(REQUESTS) >= 50


@pytest.mark.parametrize("name", REQUESTS)
def test_what_the_service_took_the_stand_in_takes(name):
    body, headers = REQUESTS[name]
    found = check_request(body, headers, PROFILE)
    assert found is None
    positions = positions_of(body, bytes_per_token=4)
    assert [position.tokens for position in positions] == sorted(position.tokens for position in positions)
