"""The models call: the product's own model rows in the service's form.

Decides the form only. What the rows do not know is left out or null; nothing here was read from a service.
"""

from __future__ import annotations

from typing import Any

from compositor.config.profile import Effort, ModelProfile, ThinkingKind, find_profile, known_profiles

from .refusal import Refusal


def models_page() -> dict[str, Any]:
    """All models, newest row first, as one page."""
    rows = [model_row(profile) for profile in known_profiles()]
    return {"data": rows, "has_more": False, "first_id": rows[0]["id"], "last_id": rows[-1]["id"]}


def one_model(name: str) -> dict[str, Any] | Refusal:
    profile = find_profile(name).profile
    return model_row(profile) if profile.is_known else unknown_model(name)


def unknown_model(name: str) -> Refusal:
    return Refusal(message=f"model: {name}", status=404, type="not_found_error")


def model_row(profile: ModelProfile) -> dict[str, Any]:
    return {
        "type": "model",
        "id": profile.id,
        "display_name": profile.name,
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
        "line": profile.family if profile.family in {"fable", "haiku", "opus", "sonnet"} else None,
        "max_input_tokens": profile.window,
        "max_tokens": profile.max_output,
        "capabilities": _capabilities(profile),
    }


def _capabilities(profile: ModelProfile) -> dict[str, Any]:
    kinds = (ThinkingKind.ADAPTIVE, ThinkingKind.ENABLED)
    return {
        "batch": _said(is_so=True),
        "citations": _said(is_so=True),
        "code_execution": _said(is_so=True),
        "context_management": {
            "supported": bool(profile.edits),
            **{name: _said(is_so=name in profile.edits) for name in _EDITS},
        },
        "effort": {
            "supported": bool(profile.efforts),
            **{effort.value: _said(is_so=effort in profile.efforts) for effort in Effort},
        },
        "image_input": _said(is_so=True),
        "pdf_input": _said(is_so=True),
        "server_tools": {"supported": True, "web_search": _said(is_so=True), "code_execution": _said(is_so=True)},
        "structured_outputs": _said(is_so=True),
        "thinking": {
            "supported": bool(profile.thinking.kinds),
            "types": {kind.value: _said(is_so=kind in profile.thinking.kinds) for kind in kinds},
        },
    }


_EDITS = ("clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112")


def _said(*, is_so: bool) -> dict[str, bool]:
    return {"supported": is_so}
