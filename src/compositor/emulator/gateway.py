"""A gateway between client and service that does not leave things alone, as the script wishes (wire page 10, notes).

Decides what is changed on the way in and out. Never judges the result: that is the service behind it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from .refusal import Refusal

_MARKER = {"type": "ephemeral"}


class Gateway(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What is changed.

    `strip_betas`: the beta header is lost. `reject_fields`: these keys of the body are answered with 400. `rewrite_ids`: calls
    reach the client under other ids, which come back as they are. `inject_markers`: so many cache markers more, on the last
    messages. `hide_details`: an error loses its `details`.
    """

    strip_betas: bool = False
    reject_fields: tuple[str, ...] = ()
    rewrite_ids: bool = False
    inject_markers: int = 0
    hide_details: bool = False

    def headers_in(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in headers.items() if not (self.strip_betas and name == "anthropic-beta")}

    def check(self, body: Mapping[str, Any]) -> Refusal | None:
        """The gateway's own refusal, in its own words."""
        found = next((name for name in self.reject_fields if name in body), None)
        return None if found is None else Refusal(message=f"Unknown parameter: '{found}'")

    def body_in(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body with markers that nobody asked for."""
        if not self.inject_markers or not isinstance(body.get("messages"), list):
            return body
        messages = json.loads(json.dumps(body["messages"]))
        left = self.inject_markers
        for message in reversed(messages):
            content = message.get("content") if isinstance(message, dict) else None
            if left and isinstance(content, str) and content:
                message["content"] = [{"type": "text", "text": content, "cache_control": _MARKER}]
                left -= 1
            elif left and isinstance(content, list) and content and isinstance(content[-1], dict):
                content[-1]["cache_control"] = _MARKER
                left -= 1
        return {**body, "messages": messages}

    def block_out(self, block: Mapping[str, Any], number: int) -> dict[str, Any]:
        if self.rewrite_ids and block["type"] == "tool_use":
            # As gateways were seen to do it: a form that the service itself would not take back (L61).
            return {**block, "id": f"call.{block['name']}:{number}"}
        return dict(block)
