"""A server of the chat-completions interface behind the port that speaks the Messages API.

Decides nothing: bytes are translated by `context/wire/openai_compatible.py` and `openai_answers.py`, and sent by the same transport as any other.
Implements `ports.ModelTransport`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType

from compositor.context.wire.openai_answers import ChatDecoder, to_messages_answer
from compositor.context.wire.openai_compatible import to_chat
from compositor.types.diagnostics import Diagnostic

from .anthropic import AnthropicResponse, AnthropicTransport


class ChatResponse:
    """An answer whose headers have arrived. A refusal is passed on as it is: both interfaces word it alike."""

    def __init__(self, response: AnthropicResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as the Messages API would send it."""
        if self.status != 200:
            async for chunk in self._response.chunks():
                yield chunk
        elif "application/json" in self.headers.get("content-type", ""):
            yield to_messages_answer(b"".join([chunk async for chunk in self._response.chunks()]))
        else:
            decoder = ChatDecoder()
            async for chunk in self._response.chunks():
                if events := decoder.feed(chunk):
                    yield events
            if events := decoder.flush():
                yield events


class OpenAICompatibleTransport:
    """`inner` sends; its endpoint is the server's chat-completions address. `tell` is told once of each thing that cannot be said there."""

    def __init__(self, inner: AnthropicTransport, tell: Callable[[Diagnostic], None]) -> None:
        self._inner = inner
        self._tell = tell
        self._told: set[str] = set()

    @asynccontextmanager
    async def send(
        self, headers: Sequence[tuple[str, str]], body: Iterable[bytes], size: int
    ) -> AsyncIterator[ChatResponse]:
        """Post `body` in the other interface. Raises `ProviderUnavailableError` when no answer came."""
        del size  # the translated body has a size of its own
        chat = to_chat(b"".join(body))
        for diagnostic in chat.diagnostics:
            kind = diagnostic.message.partition("; ")[0]
            if kind not in self._told:
                self._told.add(kind)
                self._tell(diagnostic)
        kept = [(name, value) for name, value in headers if not name.lower().startswith("anthropic-")]
        async with self._inner.send(kept, [chat.body], len(chat.body)) as response:
            yield ChatResponse(response)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> OpenAICompatibleTransport:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
