"""The built-in tools as data: what each one promises the model, and the shape of its input (project-conventions 9.2).

Decides texts and schemas. Never decides which tools are offered (`catalog.py`) and never performs a call.
"""

from __future__ import annotations

from typing import Any

from compositor.types.json import raw_json
from compositor.types.tools import Concurrency, ToolDefinition


def _object(required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _count(description: str, **limits: int) -> dict[str, Any]:
    return {"type": "integer", "description": description, **limits}


def _flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


BASH_TEXT = """\
Runs a shell command with bash and returns its output.

- Each command runs in a new shell. The working directory carries over to the next command while it stays inside the \
project or an added directory; variables, functions and aliases do not.
- Standard input is empty: a command that asks a question fails or ends. Pass flags that answer in advance.
- Output and error output come back together in the order in which they were written. Above 30,000 characters you get \
the beginning and the end, and the path of a file that holds everything.
- The default time limit is 120,000 ms, the longest 600,000 ms. At the limit the command and all its children are \
killed. What a command leaves running in the background is ended when it returns.
- Quote paths that hold spaces. Join dependent commands with `&&`.
- Prefer Read to `cat`, Grep to `grep` and `rg`, Glob to `find`, Edit and Write to `sed` and redirections: they are \
cheaper, safer and easier to follow."""

EDIT_TEXT = """\
Replaces text in a file.

- Read the whole file first; the call is refused when the file was not read or has changed since.
- `old_string` must match the file exactly, blanks included, without the line numbers that Read puts before each line.
- It must occur exactly once: add neighboring lines to make it unique, or set `replace_all` to change every occurrence.
- Encoding, line endings and permissions of the file are kept. Write `\\n` for a line end, whatever the file uses."""

GLOB_TEXT = """\
Finds files by name.

- Patterns as in `src/**/*.ts` or `*.{md,txt}`: `*` stays within one folder, `**` spans folders. A pattern without a \
slash matches names at any depth.
- Hidden files and files that git ignores are found too; `.git` is left out.
- Up to 100 paths come back, the most recently changed first, relative to the working directory where possible."""

GREP_TEXT = """\
Searches file contents with a regular expression (ripgrep syntax: literal braces need a backslash).

- `output_mode` is `files_with_matches` (default, paths only), `content` (matching lines) or `count` (matching lines for \
each file).
- Narrow the search with `path`, `glob` or `type`. Files that git ignores are skipped unless `path` names one directly.
- A pattern matches within one line; set `multiline` to let it span lines.
- Results are sorted by path. `head_limit` cuts them (default 250, 0 for all) and `offset` continues after a cut."""

READ_TEXT = """\
Reads a file.

- Text comes back with a line number and a tab before each line; they are not part of the file. Up to 2,000 lines are \
read at once, and lines over 2,000 characters are cut where it says so.
- A file that is too large for one read comes back as its first part with a notice; go on with `offset` and `limit`.
- Images are shown to you. A PDF of up to 10 pages can be read whole, a longer one with `pages`. A notebook is shown as \
cells with their outputs; with `offset` or `limit` you get its raw text.
- Reads files only: list a folder with Glob, or with `ls` in Bash."""

WRITE_TEXT = """\
Writes a whole file, creating it and its folders or replacing what was there.

- An existing file must have been read completely and be unchanged since, else the call is refused.
- The content is written exactly as given, in UTF-8.
- Prefer Edit for a change of an existing file: it sends only what changes."""

_FILE = "Absolute path of the file."

BUILTIN_TOOLS: tuple[ToolDefinition, ...] = (
    ToolDefinition(
        name="Bash",
        description=BASH_TEXT,
        input_schema=raw_json(
            _object(
                ("command",),
                command=_text("The command to run."),
                timeout=_count("Time limit in milliseconds (default 120000).", minimum=1, maximum=600_000),
                description=_text("What the command does, in five to ten words, for the person watching."),
            )
        ),
    ),
    ToolDefinition(
        name="Edit",
        description=EDIT_TEXT,
        input_schema=raw_json(
            _object(
                ("file_path", "old_string", "new_string"),
                file_path=_text(_FILE),
                old_string=_text("The text to replace."),
                new_string=_text("The text to put in its place; must differ from old_string."),
                replace_all=_flag("Replace every occurrence (default false)."),
            )
        ),
    ),
    ToolDefinition(
        name="Glob",
        description=GLOB_TEXT,
        concurrency=Concurrency.SHARED,
        read_only=True,
        input_schema=raw_json(
            _object(
                ("pattern",),
                pattern=_text("The pattern that file paths must match."),
                path=_text("The folder to search (default: the working directory)."),
            )
        ),
    ),
    ToolDefinition(
        name="Grep",
        description=GREP_TEXT,
        concurrency=Concurrency.SHARED,
        read_only=True,
        input_schema=raw_json(
            _object(
                ("pattern",),
                pattern=_text("The regular expression to look for."),
                path=_text("File or folder to search (default: the working directory)."),
                glob=_text("Only files whose path matches this pattern, as in `*.py` or `src/**/*.{ts,tsx}`."),
                output_mode={
                    "type": "string",
                    "enum": ["content", "files_with_matches", "count"],
                    "description": "What to return (default files_with_matches).",
                },
                **{
                    "-A": _count("Lines to show after each match; content mode.", minimum=0),
                    "-B": _count("Lines to show before each match; content mode.", minimum=0),
                    "-C": _count("Lines to show before and after each match; content mode.", minimum=0),
                    "context": _count("The same as -C.", minimum=0),
                    "-n": _flag("Show line numbers (default true); content mode."),
                    "-i": _flag("Ignore case (default false)."),
                    "-o": _flag("Show only the matching part of each line (default false); content mode."),
                },
                type=_text("Only files of this type, as in `py`, `js`, `rust`."),
                head_limit=_count("At most this many lines or entries (default 250, 0 for no limit).", minimum=0),
                offset=_count("Leave out this many lines or entries first (default 0).", minimum=0),
                multiline=_flag("Let the pattern span lines; `.` then matches a line end too (default false)."),
            )
        ),
    ),
    ToolDefinition(
        name="Read",
        description=READ_TEXT,
        concurrency=Concurrency.SHARED,
        read_only=True,
        input_schema=raw_json(
            _object(
                ("file_path",),
                file_path=_text(_FILE),
                offset=_count("Number of the first line to read, counted from 1.", minimum=1),
                limit=_count("How many lines to read.", minimum=1),
                pages=_text("Pages of a PDF, as in `3` or `1-5`; at most 20 at once."),
            )
        ),
    ),
    ToolDefinition(
        name="Write",
        description=WRITE_TEXT,
        input_schema=raw_json(
            _object(
                ("file_path", "content"),
                file_path=_text(_FILE),
                content=_text("The whole content of the file."),
            )
        ),
    ),
)
"""Every built-in tool, sorted by name."""

BUILTIN: dict[str, ToolDefinition] = {tool.name: tool for tool in BUILTIN_TOOLS}
