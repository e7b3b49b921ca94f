"""Inside a sandbox: carries connections to a local port over to a Unix socket, beside the command that is run.

A program of its own, started without site packages: `bridge.py SOCKET PORT COMMAND...`. Decides nothing.
"""

import os
import select
import socket
import sys
import threading


def serve(path: str, listener: socket.socket) -> None:
    """Accept until the process ends; it dies with the command."""
    while True:
        client, _ = listener.accept()
        threading.Thread(target=carry, args=(client, path), daemon=True).start()


def carry(client: socket.socket, path: str) -> None:
    """Bytes both ways until either side has ended."""
    with client, socket.socket(socket.AF_UNIX) as out:
        out.connect(path)
        pairs = {client: out, out: client}
        while True:
            for source in select.select(list(pairs), [], [])[0]:
                data = source.recv(65536)
                if not data:
                    return
                pairs[source].sendall(data)


def main() -> None:
    """Listen, fork, and become the command; the child carries until its parent is gone."""
    path, port, *command = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", int(port)))
    if os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        serve(path, listener)
    listener.close()
    os.execvp(command[0], command)  # noqa: S606  # what runs was decided by the gate


if __name__ == "__main__":
    main()
