"""The stand-in on a port of this machine, in the foreground or in a thread. Needs the extra `serve`.

Decides nothing about requests: it opens a socket and hands the application to the server.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compositor.errors import UsageError


class EmulatorServer:
    """A socket that is already bound, so that `url` is known before anything runs. `port` 0 takes any free one."""

    def __init__(self, app: Any, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://{host}:{self.port}"
        self._server = _server(app)

    def run(self) -> None:
        """Serve until the process is interrupted."""
        self._server.run(sockets=[self._socket])

    @contextmanager
    def background(self) -> Iterator[str]:
        """Serve in a thread; the address, until the block ends."""
        thread = threading.Thread(target=self.run, name="emulator", daemon=True)
        thread.start()
        try:
            yield self.url
        finally:
            self._server.should_exit = True
            # Open connections are not waited for: a stalled answer would never end.
            self._server.force_exit = True
            thread.join(timeout=10)
            self._socket.close()


def _listen(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as problem:
        listening.close()
        raise UsageError(
            f"the port {port} of {host!r} cannot be used: {problem.strerror}", hint="Give another --port"
        ) from problem
    listening.listen(128)
    return listening


def _server(app: Any) -> Any:
    try:
        import uvicorn  # an extra, and heavy
    except ImportError as problem:
        raise UsageError(
            "serving the emulator on a port needs the package 'uvicorn'", hint="Install compositor[serve]"
        ) from problem
    return uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", ws="none"))
