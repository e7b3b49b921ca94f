"""Questions on the board: one at a time, and nobody is an answer too."""

import anyio
import pytest

from compositor.interactive.board import LIVE_LINES, Board, Choice

pytestmark = pytest.mark.anyio
YES_NO = Choice(lines=("?",), keys={"y": "yes", "n": "no"}, otherwise="n")


async def test_questions_wait_for_each_other() -> None:
    board, answers = Board(), []

    async def ask() -> None:
        answers.append(await board.choose(YES_NO))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        board.answer("y")
        await anyio.wait_all_tasks_blocked()
        assert answers == ["y"]
        assert board.choice is YES_NO
        board.close()
    assert answers == ["y", "n"]
    assert board.choice is None


async def test_a_cancelled_question_leaves_nothing_open() -> None:
    board = Board()
    with anyio.move_on_after(0):
        await board.read()
    assert (board.asks_text, board.choice) == (False, None)


def test_only_the_end_of_an_answer_is_shown() -> None:
    board = Board()
    board.shows("\n".join(map(str, range(100))) + "\n")
    assert board.live.split("\n") == [str(number) for number in range(100 - LIVE_LINES, 100)]
