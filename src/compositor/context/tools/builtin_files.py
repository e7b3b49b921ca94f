"""The built-in tools for files: what each one promises the model, and the shape of its input (project-conventions 9.2).

Decides texts and schemas. Never performs a call.
"""

from __future__ import annotations

from compositor.types.tools import Concurrency, ToolDefinition

from .shapes import choice, count, flag, object_schema, text

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

NOTEBOOK_TEXT = """\
Changes one cell of a Jupyter notebook.

- Read the notebook first, as for Edit. `cell_id` is the id or number that Read shows.
- `replace` (default) gives the cell a new source and clears its outputs; `insert` puts a new cell behind it, or at the \
beginning without `cell_id`; `delete` takes it away."""

LSP_TEXT = """\
Asks a language server about code: exact where Grep guesses.

- `goToDefinition`, `goToImplementation`, `findReferences`, `hover`, `incomingCalls` and `outgoingCalls` are about the name at `line` and \
`character`, as Read and Grep show them.
- `documentSymbol` lists what a file defines, `workspaceSymbol` finds symbols of the whole project by `query`."""

LSP_OPERATIONS = (
    "goToDefinition",
    "goToImplementation",
    "findReferences",
    "hover",
    "documentSymbol",
    "workspaceSymbol",
    "incomingCalls",
    "outgoingCalls",
)

_FILE = "Absolute path of the file."

FILE_TOOLS: tuple[ToolDefinition, ...] = (
    ToolDefinition(
        name="Edit",
        description=EDIT_TEXT,
        input_schema=object_schema(
            ("file_path", "old_string", "new_string"),
            file_path=text(_FILE),
            old_string=text("The text to replace."),
            new_string=text("The text to put in its place; must differ from old_string."),
            replace_all=flag("Replace every occurrence (default false)."),
        ),
    ),
    ToolDefinition(
        name="Glob",
        description=GLOB_TEXT,
        concurrency=Concurrency.SHARED,
        read_only=True,
        input_schema=object_schema(
            ("pattern",),
            pattern=text("The pattern that file paths must match."),
            path=text("The folder to search (default: the working directory)."),
        ),
    ),
    ToolDefinition(
        name="Grep",
        description=GREP_TEXT,
        concurrency=Concurrency.SHARED,
        read_only=True,
        input_schema=object_schema(
            ("pattern",),
            pattern=text("The regular expression to look for."),
            path=text("File or folder to search (default: the working directory)."),
            glob=text("Only files whose path matches this pattern, as in `*.py` or `src/**/*.{ts,tsx}`."),
            output_mode=choice(
                ("content", "files_with_matches", "count"), "What to return (default files_with_matches)."
            ),
            **{
                "-A": count("Lines to show after each match; content mode.", minimum=0),
                "-B": count("Lines to show before each match; content mode.", minimum=0),
                "-C": count("Lines to show before and after each match; content mode.", minimum=0),
                "context": count("The same as -C.", minimum=0),
                "-n": flag("Show line numbers (default true); content mode."),
                "-i": flag("Ignore case (default false)."),
                "-o": flag("Show only the matching part of each line (default false); content mode."),
            },
            type=text("Only files of this type, as in `py`, `js`, `rust`."),
            head_limit=count("At most this many lines or entries (default 250, 0 for no limit).", minimum=0),
            offset=count("Leave out this many lines or entries first (default 0).", minimum=0),
            multiline=flag("Let the pattern span lines; `.` then matches a line end too (default false)."),
        ),
    ),
    ToolDefinition(
        name="LSP",
        description=LSP_TEXT,
        concurrency=Concurrency.SHARED,
        read_only=True,
        input_schema=object_schema(
            ("operation", "filePath"),
            operation=choice(LSP_OPERATIONS, "What to look up."),
            filePath=text("Absolute path of a file; for workspaceSymbol any file of the language."),
            line=count("Line of the name, counted from 1.", minimum=1),
            character=count("Column of the name, counted from 1.", minimum=1),
            query=text("Part of a symbol's name, for workspaceSymbol."),
        ),
    ),
    ToolDefinition(
        name="NotebookEdit",
        description=NOTEBOOK_TEXT,
        input_schema=object_schema(
            ("notebook_path", "new_source"),
            notebook_path=text("Absolute path of the notebook."),
            cell_id=text("The cell."),
            new_source=text("The new source; ignored by delete."),
            cell_type=choice(("code", "markdown"), "Needed for insert."),
            edit_mode=choice(("replace", "insert", "delete"), "What to do (default replace)."),
        ),
    ),
    ToolDefinition(
        name="Read",
        description=READ_TEXT,
        concurrency=Concurrency.SHARED,
        read_only=True,
        input_schema=object_schema(
            ("file_path",),
            file_path=text(_FILE),
            offset=count("Number of the first line to read, counted from 1.", minimum=1),
            limit=count("How many lines to read.", minimum=1),
            pages=text("Pages of a PDF, as in `3` or `1-5`; at most 20 at once."),
        ),
    ),
    ToolDefinition(
        name="Write",
        description=WRITE_TEXT,
        input_schema=object_schema(
            ("file_path", "content"),
            file_path=text(_FILE),
            content=text("The whole content of the file."),
        ),
    ),
)
