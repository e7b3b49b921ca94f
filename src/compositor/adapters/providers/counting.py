"""Asks the service how many tokens a request has; it costs nothing and starts nothing.

Decides nothing: what is counted is decided by `context/wire/counting.py`, what a refusal means by `loop/retry.py`.
"""

from __future__ import annotations

import msgspec

from compositor.context.wire.counting import read_count, to_counting
from compositor.context.wire.failure import decode_error
from compositor.loop.retry import Failure
from compositor.types.request import Compiled

from .anthropic import AnthropicTransport
from .credentials import Endpoint
from .key_command import KeyCommand

_OK = 200


async def count_tokens(compiled: Compiled, endpoint: Endpoint, keys: KeyCommand | None = None) -> int:
    """Input tokens as the service counts them: an estimate of its own. Raises `ProviderError` when it does not answer."""
    counting = msgspec.structs.replace(endpoint, url=f"{endpoint.url}/count_tokens")
    body = to_counting(compiled.body)
    async with (
        AnthropicTransport(counting, keys=keys) as transport,
        transport.send(compiled.headers, [body], len(body)) as response,
    ):
        answer = b"".join([chunk async for chunk in response.chunks()])
    if response.status != _OK:
        raise Failure.of(decode_error(response.status, response.headers, answer)).error()
    return read_count(answer)
