"""WebFetch against a server on this machine: Markdown, parts, redirects, limits, and addresses that are not public."""

import http.server
import threading
from typing import Any, ClassVar

import anyio
import pytest

from compositor.adapters.tools.web_fetch import MAX_BYTES, PART_CHARACTERS, WebFetchTool, is_public
from compositor.types.json import raw_json
from compositor.types.tools import OutcomeKind, ToolCall

PAGE = """<html><head><title>A page</title><script>evil()</script></head><body><nav>menu</nav>
<h1>Heading</h1><p>Some <b>bold</b> text and a <a href="/next?x=1">link</a>.</p>
<ul><li>one</li><li>two</li></ul><pre>a  b
c</pre><table><tr><th>k</th><td>v</td></tr></table></body></html>"""


class Handler(http.server.BaseHTTPRequestHandler):
    hits: ClassVar[list[str]] = []

    def do_GET(self):
        self.hits.append(self.path)
        if self.path == "/moved":
            self.answer(302, "", b"", location="/page")
        elif self.path == "/away":
            self.answer(301, "", b"", location="https://other.example/x")
        elif self.path == "/loop":
            self.answer(302, "", b"", location="/loop")
        elif self.path == "/page":
            self.answer(200, "text/html; charset=utf-8", PAGE.encode())
        elif self.path == "/latin":
            self.answer(200, "text/plain; charset=latin-1", "na\xefve".encode("latin-1"))
        elif self.path == "/long":
            self.answer(200, "text/plain", b"x" * (PART_CHARACTERS + 10))
        elif self.path == "/huge":
            self.answer(200, "text/plain", b"x" * (MAX_BYTES + 1))
        elif self.path == "/zip":
            self.answer(200, "application/zip", b"PK")
        else:
            self.answer(404, "text/plain", b"not here")

    def answer(self, status, kind, body, **headers):
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        pass


@pytest.fixture
def site():
    Handler.hits = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def fetch(site: str, session: Any):
    tool = WebFetchTool(frozenset({site}))

    def run(path: str, **fields: Any):
        url = path if "://" in path else f"http://{site}{path}"
        call = ToolCall(id="t", name="WebFetch", input=raw_json({"url": url, "prompt": "all", **fields}))
        return anyio.run(tool.run, call, session.scope)

    return run


def test_html_comes_as_markdown(fetch, site: str) -> None:
    text = fetch("/page").content
    assert text == (
        f"http://{site}/page (200, text/html, {len(PAGE.encode())} bytes)\n# A page\n\n# Heading\n\n"
        f"Some **bold** text and a [link](http://{site}/next?x=1).\n\n- one\n- two\n\n```\na  b\nc\n```\n\n| k | v |"
    )


def test_a_redirect_inside_the_site_is_followed_and_one_to_another_is_told(fetch) -> None:
    assert "# Heading" in fetch("/moved").content
    away = fetch("/away")
    assert away.kind is OutcomeKind.DONE
    assert "https://other.example/x" in away.content
    assert "redirects more than" in fetch("/loop").content


def test_a_page_comes_in_parts_and_is_asked_for_once(fetch) -> None:
    first = fetch("/long").content
    assert f"[10 of {PART_CHARACTERS + 10:,} characters are left; go on with offset {PART_CHARACTERS}.]" in first
    assert fetch("/long", offset=PART_CHARACTERS).content.endswith("x" * 10)
    assert Handler.hits == ["/long"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/huge", "is larger than"),
        ("/zip", "'application/zip', which cannot be shown"),
        ("/none", "not here"),
        ("ftp://example.com/x", "no web address"),
        ("http://user:pw@example.com/", "user name or password"),
        ("https://[::1]:1/", "is at ::1"),
        ("https://127.0.0.1:1/", "is at 127.0.0.1"),
        ("https://localhost:1/", "of this machine or a private network"),
        ("https://no-such-host.invalid/", "is not known"),
    ],
)
def test_what_cannot_be_fetched_is_refused(fetch, path: str, words: str) -> None:
    outcome = fetch(path)
    assert outcome.kind is OutcomeKind.FAILED
    assert words in outcome.content


def test_a_redirect_never_reaches_what_may_not_be_reached(site: str, session: Any) -> None:
    """The host is allowed on one port; the same host on another is not."""
    tool = WebFetchTool(frozenset({site}))
    call = ToolCall(id="t", name="WebFetch", input=raw_json({"url": "http://127.0.0.1:9/x", "prompt": ""}))
    outcome = anyio.run(tool.run, call, session.scope)
    assert "private network" in outcome.content
    assert Handler.hits == []


def test_the_declared_character_set_is_used(fetch) -> None:
    assert fetch("/latin").content.endswith("na\xefve")


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:4700::1111", True),
        ("10.0.0.1", False),
        ("172.16.3.4", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("127.0.0.1", False),
        ("0.0.0.0", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("nonsense", False),
    ],
)
def test_only_addresses_of_the_public_net_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public
