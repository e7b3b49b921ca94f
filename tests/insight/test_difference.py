"""Bodies compared element by element: one random change is found in its place and named (R093, R270)."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from compositor.errors import UsageError
from compositor.insight.difference import body_elements, compare_bodies


def body() -> dict[str, Any]:
    tools = [{"name": f"tool{n}", "description": f"does {n}", "input_schema": {"type": "object"}} for n in range(8)]
    system = [{"type": "text", "text": "static " * 30}, {"type": "text", "text": "dynamic " * 10}]
    messages = [
        {"role": "user" if n % 2 == 0 else "assistant", "content": [{"type": "text", "text": f"message {n} " * 20}]}
        for n in range(12)
    ]
    return {"tools": tools, "system": system, "messages": messages, "model": "m", "max_tokens": 1}


def mutate(found: dict[str, Any], rng: random.Random) -> str:
    """Change one thing; the path of the first element that is different then."""
    region = rng.choice(["tools", "system", "messages"])
    index = rng.randrange(len(found[region]))
    if region == "tools":
        match rng.randrange(3):
            case 0:
                found["tools"][index]["description"] += "!"
            case 1:
                found["tools"][index]["name"] = "renamed"
            case _:
                del found["tools"][index]
        return f"tools[{index}]"
    if region == "system":
        text = found["system"][index]["text"]
        at = rng.randrange(len(text))
        found["system"][index]["text"] = f"{text[:at]}X{text[at + 1 :]}"
        return f"system[{index}]"
    found["messages"][index]["content"][0]["text"] += " more"
    return f"messages[{index}].content[0]"


@pytest.mark.req("R093", "R270")
def test_a_thousand_single_changes_are_each_found_in_their_place() -> None:
    rng = random.Random(7)
    earlier = body_elements(body())
    for _ in range(1_000):
        changed = body()
        path = mutate(changed, rng)
        found = compare_bodies(earlier, body_elements(changed))
        assert found is not None
        assert found.path == path
        assert found.lost > 0


def test_appending_and_moving_markers_is_no_difference() -> None:
    longer = copy.deepcopy(body())
    longer["messages"].append({"role": "user", "content": "and now?"})
    longer["system"][0]["cache_control"] = {"type": "ephemeral"}
    longer["max_tokens"] = 64_000
    assert compare_bodies(body_elements(body()), body_elements(longer)) is None


def test_text_content_and_one_text_block_are_the_same() -> None:
    one = {"messages": [{"role": "user", "content": "hi"}]}
    two = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}
    assert compare_bodies(body_elements(one), body_elements(two)) is None


def test_a_shorter_body_has_lost_its_end() -> None:
    shorter = copy.deepcopy(body())
    del shorter["messages"][-1]
    found = compare_bodies(body_elements(body()), body_elements(shorter))
    assert found is not None
    assert (found.path, found.cause) == ("messages[11].content[0]", "the text of the assistant is gone")


def test_what_is_no_body_is_said_so() -> None:
    with pytest.raises(UsageError, match="needs a list of 'messages'"):
        body_elements({"model": "m"})
