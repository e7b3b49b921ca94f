"""What exists has a heading in the reference, and the reference has no heading for what does not exist."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import click
import pytest

from compositor import errors
from tests.house.tree import PACKAGE, ROOT

REFERENCE = ROOT / "docs" / "reference"


def error_codes() -> Iterable[str]:
    return [
        value.code
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.CompositorError)
    ]


def command_names() -> Iterable[str]:
    """`run`, `cache forecast`, ...: every command the program lists, nested ones with their group."""
    if not (PACKAGE / "cli" / "main.py").exists():
        return []
    from compositor.cli import main as module

    group = next(value for value in vars(module).values() if isinstance(value, click.Group))
    return list(walk_commands(group, click.Context(group, info_name="compositor"), ()))


def walk_commands(command: click.Command, context: click.Context, path: tuple[str, ...]) -> Iterable[str]:
    if path:
        yield " ".join(path)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from walk_commands(child, click.Context(child, info_name=name, parent=context), (*path, name))


def hook_events() -> Iterable[str]:
    from compositor.policy.hook_table import EVENTS

    return [name for name, row in EVENTS.items() if row.fired]


# (page of the reference, what must have a heading there)
PAGES: list[tuple[str, Callable[[], Iterable[str]]]] = [
    ("errors.md", error_codes),
    ("commands.md", command_names),
    ("hooks.md", hook_events),
]


@pytest.mark.parametrize(("page", "names"), PAGES, ids=[page for page, _ in PAGES])
def test_everything_has_its_heading(page: str, names: Callable[[], Iterable[str]]) -> None:
    assert set(names()) - headings(REFERENCE / page) == set()


@pytest.mark.parametrize(("page", "names"), PAGES, ids=[page for page, _ in PAGES])
def test_no_heading_describes_what_is_gone(page: str, names: Callable[[], Iterable[str]]) -> None:
    assert headings(REFERENCE / page) - set(names()) == set()


def test_every_exit_code_stands_in_the_error_page() -> None:
    rows = re.findall(r"^\| (\d+) \|", (REFERENCE / "errors.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(row) for row in rows] == [code.value for code in errors.ExitCode]


def test_the_error_page_gives_each_code_its_exit_code() -> None:
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^#+ `([^`]+)`\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL))
    wrong = [
        value.code
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.CompositorError)
        if f"`{value.__name__}`" not in sections[value.code]
        or f"exit {value.exit_code.value}" not in sections[value.code]
    ]
    assert wrong == []


def headings(path: Path) -> set[str]:
    """Names in code form at the start of a heading; one that begins with a hyphen is an option of the command above it."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return set(re.findall(r"^#{2,} `(?:compositor )?([^-`][^`]*)`", text, re.MULTILINE))
