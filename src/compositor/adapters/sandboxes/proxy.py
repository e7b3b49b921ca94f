"""A proxy outside the sandbox that lets only allowed hosts through: CONNECT and plain HTTP, over a Unix socket.

Performs connections. Which host is allowed stands in `policy/sandbox.py`; whatever is not understood is refused.
"""

from __future__ import annotations

import contextlib
import select
import shutil
import socket
import socketserver
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlsplit

from compositor.policy.sandbox import SandboxPlan, may_reach_host

_HEAD_LIMIT = 64 * 1024
_SECONDS = 30.0
_CHUNK = 64 * 1024


class FilteringProxy:
    """Listens on a Unix socket from the first `start` to `close`."""

    def __init__(self, plan: SandboxPlan) -> None:
        self._plan = plan
        self._server: _Server | None = None
        self._folder = ""

    def start(self) -> str:
        """Begin to listen, unless it does already; gives the private folder that holds just `socket`."""
        if self._server is None:
            # Not in the session's folder: the name of a socket may have a hundred characters only.
            self._folder = tempfile.mkdtemp(prefix="compositor-")
            self._server = _Server(str(Path(self._folder, "socket")), self._plan)
            threading.Thread(target=self._server.serve_forever, name="sandbox-proxy", daemon=True).start()
        return self._folder

    def follow(self, plan: SandboxPlan) -> None:
        """Other hosts from the next connection on."""
        self._plan = plan
        if self._server is not None:
            self._server.plan = plan

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            shutil.rmtree(self._folder, ignore_errors=True)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: str, plan: SandboxPlan) -> None:
        self.plan = plan
        super().__init__(path, _Handler)


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        client: socket.socket = self.request
        client.settimeout(_SECONDS)
        with contextlib.suppress(OSError):
            head, rest = _read_head(client)
            self._serve(client, head, rest)

    def _serve(self, client: socket.socket, head: bytes, rest: bytes) -> None:
        method, _, tail = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
        target, _, _version = tail.rpartition(" ")
        place = _place(method, target)
        if place is None:
            client.sendall(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
            return
        host, port = place
        if not may_reach_host(host, self.server.plan):
            said = f"The sandbox does not allow the host {host!r}.\n".encode("utf-8", "replace")
            client.sendall(b"HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n" + said)
            return
        try:
            upstream = socket.create_connection((host, port), timeout=_SECONDS)
        except OSError:
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n")
            return
        with upstream:
            if method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                upstream.sendall(_for_origin(head, method, target))
            if rest:
                upstream.sendall(rest)
            _carry(client, upstream)


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(_CHUNK)
        if not more or len(data) > _HEAD_LIMIT:
            raise OSError("no request came")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _place(method: str, target: str) -> tuple[str, int] | None:
    """Host and port of a request; `None` for what names none."""
    try:
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = parts.hostname, parts.port or (443 if method == "CONNECT" else 80)
    except ValueError:
        return None
    if not host or (method != "CONNECT" and parts.scheme != "http") or "@" in parts.netloc:
        return None
    return host, port


def _for_origin(head: bytes, method: str, target: str) -> bytes:
    """The request as the server itself expects it. One request a connection: the next could go to another host."""
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    dropped = (b"proxy-", b"connection:", b"keep-alive:", b"host:")
    kept = [line for line in head.split(b"\r\n")[1:] if not line.lower().startswith(dropped)]
    first = f"{method} {path} HTTP/1.1\r\nhost: {parts.netloc}\r\nconnection: close".encode("latin-1")
    return b"\r\n".join((first, *kept)) + b"\r\n\r\n"


def _carry(one: socket.socket, other: socket.socket) -> None:
    """Bytes both ways until either side has ended."""
    pairs = {one: other, other: one}
    while True:
        ready, _, _ = select.select(list(pairs), [], [], _SECONDS * 4)
        if not ready:
            return
        for source in ready:
            data = source.recv(_CHUNK)
            if not data:
                return
            pairs[source].sendall(data)
