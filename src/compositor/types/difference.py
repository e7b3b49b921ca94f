"""The first difference of two requests, as a value.

Decides its shape. Finding it is `context/explain.py`, judging what it cost `context/cache/attribution.py`.
"""

from __future__ import annotations

from msgspec import Struct

from .provenance import Attribution
from .request import CacheRegion


class Difference(Struct, frozen=True, kw_only=True):
    """Where the prefix of a request first departs from that of an earlier one (R093).

    `region` is tools, system or messages, `index` the element there; `before` and `after` the sources on both sides (`None` where one
    request has no such element); `cause` one sentence.
    """

    region: CacheRegion
    index: int
    before: Attribution | None
    after: Attribution | None
    cause: str
