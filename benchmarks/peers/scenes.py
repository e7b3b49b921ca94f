"""The sessions that every client plays: what the service answers, and the files that the tool reads.

Decides the three reference sessions and the long histories. Standard library only: the clients' environment holds nothing of the product.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

SYSTEM = "You are a careful agent. " * 400
PROMPT = "Fix the tests."
# Lines of the file that each call of a turn reads.
NARROW = random.Random(1).sample([80] * 12 + [6] * 6 + [200] * 8 + [25] * 4, 30)
LONG = [20] * 310


class Scene(NamedTuple):
    """The legs of a session: each is one prompt and the turns behind it, a turn the lengths of the files it reads.

    A new leg finds another state of version control in its system prompt.
    """

    name: str
    legs: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def answers(self) -> list[tuple[int, ...]]:
        """One a request: how many lines each call reads; none ends the turn."""
        return [turn for leg in self.legs for turn in (*leg, ())]


SCENES = {
    "narrow": Scene("narrow", (tuple((lines,) for lines in NARROW),)),
    "wide": Scene("wide", (((90,),) * 4 + ((40,) * 12,) * 4,)),
    "resume": Scene("resume", (tuple((lines,) for lines in NARROW), ((30,),) * 6)),
    "long": Scene("long", (tuple((lines,) for lines in LONG),)),
    "once": Scene("once", ((),)),
}


def system(leg: int) -> str:
    """The system prompt of a leg: the same rules, and what version control says now."""
    state = "clean" if leg == 0 else "3 files changed"
    return f"{SYSTEM}\n\nWorking directory: .\ngit_status: {state}"


def write_files(scene: Scene, folder: Path) -> None:
    """The files that the calls of a scene read: one for each call."""
    rng = random.Random(7)
    for request, turn in enumerate(scene.answers):
        for call, lines in enumerate(turn):
            text = "".join(f"{rng.randrange(10_000)}: value = compute({line})\n" for line in range(lines))
            (folder / file_name(request, call)).write_text(text, encoding="utf-8")


def file_name(request: int, call: int) -> str:
    return f"file_{request}_{call}.py"


def long_history(messages: int) -> list[dict[str, Any]]:
    """That many messages (an even number) as the wire spells them: prompts, calls, results, answers, 600 bytes each in the mean."""
    rng = random.Random(messages)
    words = ["alpha", "beta", "gamma", "delta", "\n", "def f(x):", "return", "{", "}", '"quoted"', "päth/tö/file.py"]
    history: list[dict[str, Any]] = []
    for number in range(0, messages, 4):
        text = [" ".join(rng.choice(words) for _ in range(rng.randrange(1, 240))) for _ in range(4)]
        call = {"type": "tool_use", "id": f"toolu_{number:08}", "name": "Read", "input": {"file_path": f"{number}.py"}}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text[2]}
        history += [
            {"role": "user", "content": [{"type": "text", "text": text[0]}]},
            {"role": "assistant", "content": [{"type": "text", "text": text[1]}, call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [{"type": "text", "text": text[3]}]},
        ]
    return history[:messages]
