"""The chain over whole trees: one text file a case, inputs and expected result together."""

from pathlib import Path

import pytest

from compositor.context.memory.facts import MemoryPlace
from tests.context.memory.disk import Disk, place, report

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"), key=lambda path: path.name)


def read_case(text: str, seed: int | None = None) -> tuple[Disk, MemoryPlace, str]:
    """A case: a title, settings, links, files, and behind `expect` what `report` must say."""
    body, expected = text.rstrip("\n").split("\nexpect\n")
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    settings: dict[str, str] = {}
    current = ""
    for line in body.split("\n")[1:]:
        word, _, rest = line.partition(" ")
        if word == "file" and rest.startswith("/"):
            current = rest
            files[current] = ""
        elif current:
            files[current] += f"{line}\n"
        elif word == "link":
            link, target = rest.split(" -> ")
            links[link] = target
        else:
            settings[word] = rest
    cwd = settings.get("cwd", "/repo")
    where = place(cwd, project_root=settings.get("root", cwd), main_checkout=settings.get("main"))
    return Disk(files, links, seed), where, expected


@pytest.mark.req("R111", "R112", "R113", "R115", "R116", "R126", "R127", "R128", "R131", "R133", "R134")
@pytest.mark.req("R135", "R136", "R137", "R138", "R140", "R141", "R143", "R146")
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    disk, where, expected = read_case(path.read_text())
    assert report(disk.load(where)) == expected


@pytest.mark.req("R147")
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_order_of_listings_and_answers_changes_nothing(path: Path) -> None:
    expected = read_case(path.read_text())[2]
    for seed in range(5):
        disk, where, _ = read_case(path.read_text(), seed)
        assert report(disk.load(where)) == expected
