"""The same request in the form of a cloud's own address: where version, betas and model travel (wire page 10).

Decides that by the platform's data. Tools, system and messages keep their bytes and their order; only keys behind them come or go. Never signs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from compositor.config.platforms import Platform
from compositor.errors import UsageError

from .canonical import encode_json

_VERSION = "anthropic-version"
_BETAS = "anthropic-beta"


class CloudRequest(Struct, frozen=True, kw_only=True):
    """`path` stands behind the base address of the service. `headers` have lower-case names."""

    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


def to_cloud(
    body: bytes, headers: Sequence[tuple[str, str]], platform: Platform, place: Mapping[str, str]
) -> CloudRequest:
    """The request for `platform`. `place` fills its path: `project` and `location`, where it has them."""
    given = {name.lower(): value for name, value in headers}
    if platform.version_in == platform.betas_in == "header" and platform.model_in == "body":
        return CloudRequest(path=platform.path, headers=tuple(given.items()), body=body)
    fields = msgspec.json.decode(body, type=dict[str, Raw])
    path = platform.path
    if platform.model_in == "path":
        model = msgspec.json.decode(fields.pop("model"), type=str)
        path = path.replace("{model}", _segment(model))
    if platform.stream == "aws":
        fields.pop("stream", None)  # the address says it
    if platform.version_in == "body" and _VERSION in given:
        fields["anthropic_version"] = Raw(encode_json(given.pop(_VERSION)))
    if platform.betas_in == "body" and _BETAS in given:
        fields["anthropic_beta"] = Raw(encode_json([name.strip() for name in given.pop(_BETAS).split(",")]))
    for name, value in place.items():
        path = path.replace("{" + name + "}", _segment(value))
    joined = b",".join(b'"%b":%b' % (name.encode(), bytes(value)) for name, value in fields.items())
    return CloudRequest(path=path, headers=tuple(given.items()), body=b"{" + joined + b"}")


def _segment(text: str) -> str:
    """One segment of a path. A server may drop what stands behind a semicolon, and no name may lead out of its folder."""
    if not text.partition(";")[0] or text in {".", ".."}:
        raise UsageError(f"the name {text!r} cannot stand in the address of the model service")
    return quote(text, safe=":")
