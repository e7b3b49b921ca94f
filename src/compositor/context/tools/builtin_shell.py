"""The built-in tools for commands: what each one promises the model, and the shape of its input (project-conventions 9.2).

Decides texts and schemas. Never performs a call.
"""

from __future__ import annotations

from compositor.types.tools import Concurrency, ToolDefinition

from .shapes import count, flag, object_schema, text

BASH_TEXT = """\
Runs a shell command with bash and returns its output.

- Each command runs in a new shell. The working directory carries over to the next command while it stays inside the \
project or an added directory; variables, functions and aliases do not.
- Standard input is empty: a command that asks a question fails or ends. Pass flags that answer in advance.
- Output and error output come back together in the order in which they were written. Above 30,000 characters you get \
the beginning and the end, and the path of a file that holds everything.
- The default time limit is 120,000 ms, the longest 600,000 ms. At the limit the command and all its children are \
killed. What a command leaves running is ended when it returns; for a server or a long job set `run_in_background` (limit \
1,800,000 ms, at most 7,200,000) and go on: you get an id for BashOutput, Monitor and TaskStop.
- Quote paths that hold spaces. Join dependent commands with `&&`.
- Prefer Read to `cat`, Grep to `grep` and `rg`, Glob to `find`, Edit and Write to `sed` and redirections: they are \
cheaper, safer and easier to follow."""

OUTPUT_TEXT = """\
Returns what a background command has written since the last look, and whether it still runs. `filter` keeps only lines that \
match a regular expression; the others are not shown again."""

MONITOR_TEXT = """\
Runs a command in the background and waits for its first output lines, to watch for an event: a log line, a file, a state.

- Returns as soon as a line was written or the command ended; call again with the `task_id` for the next lines.
- Filter in the command itself (`tail -f app.log | grep --line-buffered ERROR`): every line comes to you.
- `timeout_ms` is how long one call waits (default 300,000)."""

SHELL_TOOLS: tuple[ToolDefinition, ...] = (
    ToolDefinition(
        name="Bash",
        description=BASH_TEXT,
        input_schema=object_schema(
            ("command",),
            command=text("The command to run."),
            timeout=count("Time limit in milliseconds (default 120000).", minimum=1, maximum=7_200_000),
            description=text("What the command does, in five to ten words, for the person watching."),
            run_in_background=flag("Start it and return at once."),
        ),
    ),
    ToolDefinition(
        name="BashOutput",
        description=OUTPUT_TEXT,
        concurrency=Concurrency.SHARED,
        read_only=True,
        input_schema=object_schema(
            ("bash_id",), bash_id=text("The id of the background command."), filter=text("Regular expression.")
        ),
    ),
    ToolDefinition(
        name="Monitor",
        description=MONITOR_TEXT,
        input_schema=object_schema(
            (),
            command=text("The command to watch; leave it out with task_id."),
            task_id=text("A monitor that runs already."),
            description=text("What is watched, in a few words."),
            timeout_ms=count("How long to wait for a line.", minimum=1, maximum=3_600_000),
        ),
    ),
    ToolDefinition(
        name="TaskStop",
        description="Ends a background command and all its children.",
        input_schema=object_schema(
            (), task_id=text("The id of the background command."), shell_id=text("The older name of task_id.")
        ),
    ),
)
