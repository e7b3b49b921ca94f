"""What the stand-in says no with: status, type and message as the service documents them.

Decides the form of an error answer. Which request is refused is the business of the rules and of the script's faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Refusal(Struct, frozen=True, kw_only=True):
    """One error answer. `rule` is the wire rule's id where one was broken; it is not sent. `details` stands beside the code."""

    message: str
    status: int = 400
    type: str = "invalid_request_error"
    error_code: str | None = None
    details: Mapping[str, Any] = {}
    rule: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def envelope(self, request_id: str) -> dict[str, Any]:
        error: dict[str, Any] = {"type": self.type, "message": self.message}
        if self.error_code:
            error["details"] = {"error_code": self.error_code, **self.details}
        return {"type": "error", "error": error, "request_id": request_id}


TYPE_BY_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""The service's word for each status (wire page 8)."""
