"""WebFetch: one page of the web as text.

Decides what may be reached (public addresses only, the checked address and no other), which redirects are followed, and how much of a page
is shown. Whether the call may happen at all is decided by the gate.
"""

from __future__ import annotations

import codecs
import ipaddress
import socket
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

import anyio
from msgspec import Struct

from compositor.context.tools.builtin import BUILTIN
from compositor.context.tools.display import counted, display_call
from compositor.ports import ToolScope
from compositor.types.json import repair_text
from compositor.types.tools import ToolCall, ToolDefinition, ToolOutcome

from .output import clean_output
from .results import Problem, done, failed, read_input

if TYPE_CHECKING:
    import httpx2

PART_CHARACTERS: Final = 25_000
"""Of a page, so much at once."""

MAX_BYTES: Final = 10 * 1024 * 1024
SECONDS: Final = 30.0
MAX_REDIRECTS: Final = 5
CACHE_SECONDS: Final = 900.0
_MAX_CACHED: Final = 50
_MAX_URL: Final = 2_000
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_TEXTS: Final = ("text/", "application/json", "application/xml", "application/xhtml", "application/javascript")
_AGENT: Final = "compositor"


class FetchInput(Struct, frozen=True, forbid_unknown_fields=True):
    url: str
    prompt: str
    offset: int = 0


class Page(Struct, frozen=True, kw_only=True):
    """A page as text. `moved` is where it leads when that is another host; then there is no text."""

    url: str
    status: int
    kind: str
    size: int
    text: str = ""
    title: str = ""
    moved: str | None = None


class WebFetchTool:
    """`private` are hosts (`name` or `name:port`) that may be reached although they are not public, and without encryption."""

    definition: ToolDefinition = BUILTIN["WebFetch"]

    def __init__(self, private: frozenset[str] = frozenset()) -> None:
        self._private = private
        self._cache: dict[str, tuple[float, Page]] = {}

    def paths(self, call: ToolCall, scope: ToolScope) -> tuple[str, ...]:  # noqa: ARG002  # the port's signature
        return ()

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolOutcome:  # noqa: ARG002  # the port's signature
        wanted = read_input(call, FetchInput)
        if isinstance(wanted, Problem):
            return failed(call, wanted.message)
        page: Page | Problem = Problem(f"{wanted.url!r} did not answer within {SECONDS:g} s.")
        with anyio.move_on_after(SECONDS):
            page = await self._page(wanted.url)
        if isinstance(page, Problem):
            return failed(call, page.message)
        if page.moved is not None:
            text = f"{page.url} redirects to another host: {page.moved}\nFetch that address if it is what you want."
            return done(
                call, text, display=f"{display_call(call)}: redirects to {page.moved}", structured=_structured(page)
            )
        return _answer(call, page, wanted.offset)

    async def _page(self, address: str) -> Page | Problem:
        target = self._target(address)
        if isinstance(target, Problem):
            return target
        known = self._cache.get(urlunsplit(target))
        if known is not None and time.monotonic() - known[0] < CACHE_SECONDS:
            return known[1]
        page = await self._follow(target)
        if isinstance(page, Page) and page.status < 400:
            while len(self._cache) >= _MAX_CACHED:
                del self._cache[next(iter(self._cache))]
            self._cache[urlunsplit(target)] = (time.monotonic(), page)
        return page

    def _target(self, address: str) -> SplitResult | Problem:
        """The address to ask, encrypted unless it was allowed by name."""
        try:
            parts = urlsplit(address.strip())
            port = parts.port
        except ValueError:
            return Problem(f"{address[:200]!r} is no web address.")
        if parts.scheme not in {"http", "https"} or not parts.hostname or len(address) > _MAX_URL:
            return Problem(
                f"{address[:200]!r} is no web address that can be fetched (http or https, up to {_MAX_URL} characters)."
            )
        if parts.username is not None or parts.password is not None:
            return Problem("An address with a user name or password in it is not fetched.")
        if parts.scheme == "http" and not self._is_allowed(parts.hostname, port):
            parts = parts._replace(scheme="https", netloc=parts.hostname if port in {None, 80} else parts.netloc)
        return parts._replace(fragment="")

    def _is_allowed(self, host: str, port: int | None) -> bool:
        return host in self._private or f"{host}:{port}" in self._private

    async def _follow(self, target: SplitResult) -> Page | Problem:
        import httpx2

        first = target
        async with httpx2.AsyncClient(timeout=SECONDS, trust_env=False, headers={"user-agent": _AGENT}) as client:
            for _ in range(MAX_REDIRECTS + 1):
                try:
                    page = await self._ask(client, target)
                except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
                    return Problem(
                        f"{urlunsplit(target)} could not be fetched: {str(problem) or type(problem).__name__}."
                    )
                if isinstance(page, Problem) or page.moved is None:
                    return page
                following = self._target(page.moved)
                if isinstance(following, Problem):
                    return following
                if _site(following) != _site(first):
                    return page
                target = following
        return Problem(f"{urlunsplit(first)} redirects more than {MAX_REDIRECTS} times.")

    async def _ask(self, client: httpx2.AsyncClient, target: SplitResult) -> Page | Problem:
        host = target.hostname or ""
        port = target.port or (443 if target.scheme == "https" else 80)
        address = await self._checked_address(host, port, target.port)
        if isinstance(address, Problem):
            return address
        # The request goes to the address that was checked: a second look-up could give another one.
        shown = f"[{address}]" if ":" in address else address
        url = urlunsplit(target._replace(netloc=f"{shown}:{port}"))
        headers = {
            "host": target.netloc,
            "accept": "text/html, text/markdown, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
        }
        async with client.stream("GET", url, headers=headers, extensions={"sni_hostname": host}) as response:
            if response.status_code in _REDIRECTS and "location" in response.headers:
                moved = urljoin(urlunsplit(target), response.headers["location"])
                return Page(url=urlunsplit(target), status=response.status_code, kind="", size=0, moved=moved)
            kind = response.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
            if not kind.startswith(_TEXTS) and not kind.endswith(("+json", "+xml")):
                return Problem(f"{urlunsplit(target)} is of the type {kind!r}, which cannot be shown as text.")
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_BYTES:
                    return Problem(f"{urlunsplit(target)} is larger than {MAX_BYTES:,} bytes.")
            return _read(urlunsplit(target), response, kind, bytes(body))

    async def _checked_address(self, host: str, port: int, written_port: int | None) -> str | Problem:
        """One address of the host, all of which must be public unless the host was allowed by name."""
        try:
            found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as problem:
            return Problem(f"The host {host!r} is not known: {getattr(problem, 'strerror', None) or problem}.")
        addresses = [str(entry[4][0]) for entry in found]
        if not self._is_allowed(host, written_port):
            private = next((address for address in addresses if not is_public(address)), None)
            if private is not None:
                return Problem(f"The host {host!r} is at {private}, an address of this machine or a private network.")
        return addresses[0]


def is_public(address: str) -> bool:
    """Whether an address belongs to the public net. What stands for an address of the other version is judged as that."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is not None:
            return inner.is_global and not inner.is_multicast
        # The well-known prefix that translators put before an IPv4 address.
        if found in ipaddress.ip_network("64:ff9b::/96"):
            return is_public(str(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)))
    return found.is_global and not found.is_multicast


def _site(parts: SplitResult) -> tuple[str, int | None]:
    return ((parts.hostname or "").removeprefix("www."), parts.port)


def _read(url: str, response: httpx2.Response, kind: str, body: bytes) -> Page:
    text = body.decode(_charset(response.headers), "replace")
    title = ""
    if "html" in kind:
        from compositor.context.tools.html_text import html_to_markdown  # its parser is for pages alone

        text, title = html_to_markdown(text, url)
    return Page(
        url=url,
        status=response.status_code,
        kind=kind,
        size=len(body),
        text=clean_output(repair_text(text)),
        title=title,
    )


def _charset(headers: Mapping[str, str]) -> str:
    name = headers.get("content-type", "").lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    try:
        return codecs.lookup(name or "utf-8").name
    except LookupError:
        return "utf-8"


def _answer(call: ToolCall, page: Page, offset: int) -> ToolOutcome:
    part = page.text[offset : offset + PART_CHARACTERS]
    rest = len(page.text) - offset - len(part)
    head = [f"{page.url} ({page.status}, {page.kind}, {counted(page.size, 'byte')})"]
    if page.title:
        head.append(f"# {page.title}")
    notes = (
        [f"[{rest:,} of {len(page.text):,} characters are left; go on with offset {offset + len(part)}.]"]
        if rest > 0
        else []
    )
    content = "\n".join((*head, "", part or "(no text)", *notes))
    shown = f"{display_call(call)}: {page.status}, {counted(page.size, 'byte')}"
    if page.status >= 400:
        return failed(call, content, display=shown, structured=_structured(page))
    return done(call, content, display=shown, structured=_structured(page))


def _structured(page: Page) -> dict[str, Any]:
    return {"url": page.url, "code": page.status, "bytes": page.size, "redirect": page.moved}
