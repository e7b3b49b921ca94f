"""One cell of a notebook: replaced, inserted, deleted; the others stay as they are."""

import json
from typing import Any

import pytest

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "id": "sum",
            "metadata": {"tags": ["x"]},
            "source": ["1 + 1"],
            "outputs": [{"output_type": "stream", "text": ["2"]}],
            "execution_count": 4,
        },
    ],
    "metadata": {"kernelspec": {"name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture
def path(session: Any) -> Any:
    return session.put("a.ipynb", json.dumps(NOTEBOOK, indent=1) + "\n")


def seen(session: Any, path: Any) -> None:
    session.text("Read", file_path=str(path), offset=1)


def cells(path: Any) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["cells"]


def test_a_new_source_clears_the_outputs_and_leaves_the_rest(session: Any, path: Any) -> None:
    seen(session, path)
    session.text("NotebookEdit", notebook_path=str(path), cell_id="sum", new_source="x = 2\nx")
    first, second = cells(path)
    assert first == NOTEBOOK["cells"][0]
    assert second == {
        "cell_type": "code",
        "id": "sum",
        "metadata": {"tags": ["x"]},
        "source": ["x = 2\n", "x"],
        "outputs": [],
        "execution_count": None,
    }
    assert json.loads(path.read_text())["metadata"] == NOTEBOOK["metadata"]
    session.text("NotebookEdit", notebook_path=str(path), cell_id="1", new_source="y", cell_type="markdown")
    assert "outputs" not in cells(path)[1]


def test_a_cell_is_inserted_behind_another_or_at_the_beginning(session: Any, path: Any) -> None:
    seen(session, path)
    add = {"notebook_path": str(path), "edit_mode": "insert", "cell_type": "code"}
    session.text("NotebookEdit", cell_id="intro", new_source="a", **add)
    session.text("NotebookEdit", new_source="b", **add)
    assert [cell["source"] for cell in cells(path)] == [["b"], ["# Title\n", "text"], ["a"], ["1 + 1"]]
    assert len({cell["id"] for cell in cells(path)}) == 4


def test_a_cell_is_deleted(session: Any, path: Any) -> None:
    seen(session, path)
    session.text("NotebookEdit", notebook_path=str(path), cell_id="intro", new_source="", edit_mode="delete")
    assert [cell["id"] for cell in cells(path)] == ["sum"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"cell_id": "none"}, "no cell 'none'"),
        ({"cell_id": "7"}, "no cell '7'"),
        ({}, "needs the cell_id"),
        ({"edit_mode": "insert"}, "needs the cell_type"),
    ],
)
def test_what_makes_no_sense_changes_nothing(session: Any, path: Any, fields: dict[str, str], words: str) -> None:
    seen(session, path)
    before = path.read_bytes()
    assert words in session.refusal("NotebookEdit", notebook_path=str(path), new_source="x", **fields)
    assert path.read_bytes() == before


def test_it_must_have_been_read(session: Any, path: Any) -> None:
    message = session.refusal("NotebookEdit", notebook_path=str(path), cell_id="sum", new_source="x")
    assert "has not been read yet" in message
    assert session.paths("NotebookEdit", notebook_path=str(path), new_source="") == (str(path),)
