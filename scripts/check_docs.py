"""Checks the documentation: every link leads somewhere, every heading it names exists, every Python example runs.

Decides nothing about style. Examples of one page run in one process, in order, in an empty folder with no key; a fence marked
`python no-run` is shown and not run. Addresses on the web are not fetched.

    python -m scripts.check_docs [FILE ...]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^( *)(`{3,}|~{3,})[ ]*([^\n]*)\n(.*?)^\1\2[`~]*[ ]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
EXAMPLE_SECONDS = 60


def main(arguments: list[str]) -> int:
    pages = [Path(name).resolve() for name in arguments] or pages_of(ROOT)
    problems = [problem for page in pages for problem in (*check_links(page), *check_examples(page))]
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages, {len(problems)} problems")
    return 1 if problems else 0


def pages_of(root: Path) -> list[Path]:
    """The Markdown pages of the project: those at the top and all below docs/."""
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def check_links(page: Path) -> Iterator[str]:
    """Relative links whose file or heading does not exist."""
    for target in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            yield f"{_shown(page)}: the link {target!r} leads nowhere"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{_shown(page)}: the link {target!r} names a heading that {_shown(file)} does not have"


def check_examples(page: Path) -> Iterator[str]:
    """Runs the Python examples of a page as one program; yields what went wrong."""
    examples = list(python_examples(page.read_text(encoding="utf-8")))
    if not examples:
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "examples.py"
        program.write_text(_at_their_lines(examples), encoding="utf-8")
        try:
            done = subprocess.run(
                [sys.executable, "-W", "error", str(program)],
                cwd=folder,
                env=_bare_environment(folder),
                capture_output=True,
                text=True,
                check=False,
                timeout=EXAMPLE_SECONDS,
            )
        except subprocess.TimeoutExpired:
            yield f"{_shown(page)}: the examples did not end within {EXAMPLE_SECONDS} seconds"
            return
    if done.returncode != 0:
        # The program has the page's own line numbers, so that the traceback can be read against the page.
        yield f"{_shown(page)}: an example fails\n{done.stderr.replace(str(program), _shown(page)).rstrip()}"


def links(text: str) -> Iterator[str]:
    """Link and image targets of a page, without what stands in code."""
    prose = re.sub(r"`[^`\n]+`", "", FENCE.sub("", text))
    for match in LINK.finditer(prose):
        yield match.group(1) or match.group(2)


def python_examples(text: str) -> Iterator[tuple[int, str]]:
    """(line from 1 of its first line, code) of each Python fence that is to be run."""
    for match in FENCE.finditer(text):
        indent, _, info, code = match.groups()
        if info.split()[:1] == ["python"] and "no-run" not in info:
            yield text.count("\n", 0, match.start(4)) + 1, re.sub(f"^{indent}", "", code, flags=re.MULTILINE)


@cache
def anchors(page: Path) -> frozenset[str]:
    """The names by which the headings of a page can be linked to, as the common hosts make them; repeats get -1, -2."""
    seen: dict[str, int] = {}
    found = set()
    for heading in re.findall(
        r"^#{1,6} +(.+?)(?: +#+)?$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE
    ):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return frozenset(found)


def _at_their_lines(examples: list[tuple[int, str]]) -> str:
    program = ""
    for line, code in examples:
        program += "\n" * (line - 1 - program.count("\n")) + code
    return program


def _bare_environment(home: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG", "LC_ALL") if name in os.environ}
    return {**kept, "HOME": home, "COMPOSITOR_HOME": str(Path(home) / "state"), "PYTHONPATH": str(ROOT / "src")}


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
