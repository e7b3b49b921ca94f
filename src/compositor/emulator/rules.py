"""Whether the documented service would take a request: the order in which everything is judged.

Decides the first refusal. Written from the wire page alone, apart from the product's own rules, so that one checks the other.
Only what the wire page can tell is refused. Signatures are `binding.py`: a body alone does not show what they were made over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .call_rules import check_calls
from .conversation import as_blocks
from .grammar import Circumstances
from .marker_rules import check_markers
from .media_rules import check_media
from .message_rules import check_messages
from .option_rules import check_compaction, check_options
from .profile import ServiceProfile
from .refusal import Refusal
from .shapes import check_shapes
from .tool_rules import check_tools

VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")
"""API versions that exist."""
BODY_VERSIONS = (*VERSIONS, "bedrock-2023-05-31", "vertex-2023-10-16")
"""What may stand in a body, where the version travels there (wire page 10)."""


def check_request(
    body: object, headers: Mapping[str, str], profile: ServiceProfile, *, counting: bool = False
) -> Refusal | None:
    """The refusal of a parsed body, or `None` when it would be taken. `headers` has lower-case names."""
    if not isinstance(body, dict):
        return Refusal(message="Input should be a valid dictionary", rule="W02")
    given = circumstances(body, headers, profile, counting=counting)
    return next(_refusals(body, headers, given), None)


def circumstances(
    body: Mapping[str, Any], headers: Mapping[str, str], profile: ServiceProfile, *, counting: bool = False
) -> Circumstances:
    """Version and betas from the headers, and from the body where they travel there."""
    sent = headers.get("anthropic-beta", "").split(",")
    version = headers.get("anthropic-version", "")
    if profile.version_in_body:
        extra = body.get("anthropic_beta")
        sent += [name for name in extra if isinstance(name, str)] if isinstance(extra, list) else []
        version = str(body.get("anthropic_version") or version)
    betas = frozenset(name.strip() for name in sent if name.strip())
    return Circumstances(betas=betas, version=version, profile=profile, counting=counting)


def _refusals(body: dict[str, Any], headers: Mapping[str, str], given: Circumstances) -> Iterator[Refusal]:
    yield from _check_headers(headers, given)
    yield from _check_strings(body)
    # The form of the whole body comes first: what follows may count on it.
    yield from check_shapes(body, given)
    yield from check_tools(body, given)
    yield from _check_system(body)
    yield from check_compaction(body, given)
    yield from check_messages(body, given)
    yield from check_calls(body)
    yield from check_markers(body, given)
    yield from check_options(body, given)
    yield from check_media(body, given)


def _check_headers(headers: Mapping[str, str], given: Circumstances) -> Iterator[Refusal]:
    profile = given.profile
    if profile.keys is not None:
        sent = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if sent not in profile.keys:
            yield Refusal(message="invalid x-api-key", status=401, type="authentication_error")
    if profile.workspace_header and "anthropic-workspace-id" not in headers:
        yield Refusal(message="anthropic-workspace-id: header is required")
    where = "anthropic_version" if profile.version_in_body else "anthropic-version"
    if not given.version:
        yield Refusal(
            message=f"{where}: header is required" if where == "anthropic-version" else f"{where}: Field required"
        )
    elif given.version not in (BODY_VERSIONS if profile.version_in_body else VERSIONS):
        yield Refusal(message=f'{where}: "{given.version}" is not a valid version')
    if profile.betas is not None and given.betas - profile.betas:
        names = ", ".join(f"`{name}`" for name in sorted(given.betas - profile.betas))
        yield Refusal(message=f"Unexpected value(s) {names} for the `anthropic-beta` header")


def _check_strings(value: object) -> Iterator[Refusal]:
    """Half a surrogate pair is no text (W01)."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not item.isascii() and any("\ud800" <= letter <= "\udfff" for letter in item):
                yield Refusal(message="The request body is not valid JSON: no low surrogate in string", rule="W01")
                return
        elif isinstance(item, dict):
            stack += [*item, *item.values()]
        elif isinstance(item, list):
            stack += item


def _check_system(body: Mapping[str, Any]) -> Iterator[Refusal]:
    for block in as_blocks(body.get("system") or []):
        # Whether empty text is refused here was never seen (wire page 11.7); the marker on it was.
        if not block["text"] and block.get("cache_control"):
            yield Refusal(message="system: cache_control cannot be set for empty text blocks", rule="L122")
