"""Commands in a terminal of the editor, where the person can watch them.

Decides how a command is started, read and ended there. What may run was decided before, and the words are those of the sandbox where there is
one; a command that outlives its time or its turn is killed in the editor's terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
from acp import schema

from compositor.adapters.tools.process import Ending, ProcessEnd, Sink

OUTPUT_BYTES = 1_000_000
"""How much of its output the editor keeps for us."""


class EditorTerminals:
    """Those of one session; `send` puts an update in line. `hidden` variables are emptied: a terminal has the editor's own, and only adds ours."""

    def __init__(
        self, client: Any, session_id: str, send: Callable[[Any], None], hidden: frozenset[str] = frozenset()
    ) -> None:
        self._client = client
        self._session = session_id
        self._send = send
        self._hidden = hidden

    async def run(
        self, call_id: str, command: Sequence[str], *, cwd: str, env: Mapping[str, str], seconds: float, output: Sink
    ) -> ProcessEnd:
        """Run a command for a call. Raises `OSError` when the editor cannot start it."""
        variables = {**dict.fromkeys(self._hidden, ""), **env}
        try:
            made = await self._client.create_terminal(
                command=command[0],
                session_id=self._session,
                args=list(command[1:]),
                env=[schema.EnvVariable(name=name, value=value) for name, value in variables.items()],
                cwd=cwd,
                output_byte_limit=OUTPUT_BYTES,
            )
        except Exception as problem:
            raise OSError(f"the editor opened no terminal: {problem}") from problem
        shown = schema.TerminalToolCallContent(type="terminal", terminal_id=made.terminal_id)
        self._send(schema.ToolCallProgress(session_update="tool_call_update", tool_call_id=call_id, content=[shown]))
        try:
            return await self._attend(made.terminal_id, seconds, output)
        finally:
            with anyio.CancelScope(shield=True):
                await self._client.release_terminal(self._session, made.terminal_id)

    async def _attend(self, terminal: str, seconds: float, output: Sink) -> ProcessEnd:
        ending, code = Ending.TIMED_OUT, None
        try:
            with anyio.move_on_after(seconds):
                found = await self._client.wait_for_terminal_exit(self._session, terminal)
                ending, code = Ending.EXITED, found.exit_code if found.signal is None else -1
        finally:
            if ending is not Ending.EXITED:
                with anyio.CancelScope(shield=True):
                    await self._client.kill_terminal(self._session, terminal)
        said = await self._client.terminal_output(self._session, terminal)
        output(said.output.encode())
        return ProcessEnd(ending=ending, code=code)
