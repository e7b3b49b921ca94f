"""Thinking bound to what stood before it: every change that wire rule L80 lists is refused, every one that L81 lists is taken.

A conversation is played with the stand-in itself, so that its thinking blocks carry real seals; then it is sent again, changed.
"""

import copy
import json

import pytest

from compositor.emulator.core import Data, Emulator, Request
from compositor.emulator.profile import ServiceProfile
from compositor.emulator.script import parse_script

CONTROLS = "thinking-binding-controls-2026-08-01"
BETAS = f"{CONTROLS},mid-conversation-system-clear-at-2026-08-21,compact-2026-09-04,context-management-2025-06-27"
BINDING = ServiceProfile(system_role=True, binds_thinking=True)
ADDRESS = "https://example.com/cat.png"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAAC"
READ = {"name": "Read", "description": "d", "input_schema": {"type": "object"}}
LATER = {"name": "Later", "description": "d", "input_schema": {"type": "object"}, "defer_loading": True}
FIND = {"name": "ToolSearch", "description": "d", "input_schema": {"type": "object", "properties": {"query": {}}}}
PLAY = """
urls: {"https://example.com/cat.png": ["one cat"]}
turns:
  - {think: first, do: [{call: {tool: Read}}]}
  - {think: second, do: [{find_tools: later}]}
  - {parts: [{think: third}, {say: between}, {think: fourth}, {say: done}]}
  - {think: fifth, say: end}
  - {say: taken}
summaries: [In short.]
"""


def text(value, **more):
    return {"type": "text", "text": value, **more}


def play(script=PLAY, profile=BINDING):
    return Emulator(parse_script(script), profile)


def send(emulator, body, betas=BETAS, key="k-1", path="/v1/messages"):
    headers = {"anthropic-version": "2026-10-21", "anthropic-beta": betas, "x-api-key": key}
    data = json.dumps(body).encode()
    reply = emulator.answer(Request(method="POST", path=path, headers=headers, body=data))
    return reply.status, json.loads(b"".join(step.data for step in reply.steps if isinstance(step, Data)))


def said(emulator, body, **more):
    status, answer = send(emulator, body, **more)
    assert status == 200, answer
    return {"role": "assistant", "content": answer["content"]}


def result(message, content):
    call = next(block["id"] for block in message["content"] if block["type"] == "tool_use")
    return {"type": "tool_result", "tool_use_id": call, "content": content}


def conversation(emulator):
    """Messages: 0 question, 1 note for one turn, 2 thinking and call, 3 result, 4 thinking and search, 5 reference, 6 two thoughts, 7 text."""
    body = {
        "model": "m-1",
        "max_tokens": 1000,
        "system": [text("be good")],
        "tools": [READ, FIND, LATER],
        "messages": [
            {"role": "user", "content": [
                text("look"), text("closely"),
                {"type": "image", "source": {"type": "url", "url": ADDRESS}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            ]},
            {"role": "system", "content": [text("a note")], "clear_at": "next_user_message"},
        ],
    }  # fmt: skip
    messages = body["messages"]
    messages.append(said(emulator, body))
    messages.append({"role": "user", "content": [result(messages[-1], "a long result")]})
    messages.append(said(emulator, body))
    messages.append(
        {"role": "user", "content": [result(messages[-1], [{"type": "tool_reference", "tool_name": "Later"}])]}
    )
    messages.append(said(emulator, body))
    messages.append({"role": "user", "content": [text("and then?")]})
    return body


def put(*path_and_value):
    *path, value = path_and_value

    def change(body):
        place = body
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def drop(*path):
    def change(body):
        place = body
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


def swap(body):
    content = body["messages"][0]["content"]
    content[0], content[1] = content[1], content[0]


def insert_text(body):
    body["messages"][0]["content"].insert(1, text("more"))


def without_thinking(*places):
    def change(body):
        for number, index in sorted(places, reverse=True):
            assert body["messages"][number]["content"][index]["type"] == "thinking"
            del body["messages"][number]["content"][index]

    return change


def append_tool(tool):
    return lambda body: body["tools"].append(tool)


# What L80 lists, and what the refusal names.
BREAKS = {
    "a change of the system": (put("system", 0, "text", "be bad"), "`system` has changed"),
    "a system that is gone": (drop("system"), "`system` has changed"),
    "a tool more": (append_tool({**READ, "name": "Write"}), "`tools` have changed"),
    "a tool less": (drop("tools", 1), "`tools` have changed"),
    "an edited tool": (put("tools", 0, "description", "e"), "`tools` have changed"),
    "an edited tool that was referenced": (put("tools", 2, "description", "e"), "`messages` before it have changed"),
    "an edited message": (put("messages", 0, "content", 0, "text", "look!"), "`messages` before it have changed"),
    "blocks in another order": (swap, "`messages` before it have changed"),
    "a deleted block": (drop("messages", 0, "content", 1), "`messages` before it have changed"),
    "a cleared result": (put("messages", 3, "content", 0, "content", ""), "`messages` before it have changed"),
    "a shortened result": (put("messages", 3, "content", 0, "content", "a long"), "`messages` before it have changed"),
    "an image encoded anew": (put("messages", 0, "content", 3, "source", "data", PNG + "AAAA"), "`messages` before it"),
    "text added to an earlier turn": (insert_text, "`messages` before it have changed"),
    "a note for one turn that is gone": (drop("messages", 1), "`messages` before it have changed"),
    "a note for one turn in other words": (put("messages", 1, "content", 0, "text", "a hint"), "`messages` before it"),
    "thinking removed from the middle": (without_thinking((4, 0)), "a thinking block before it is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_the_binding_is_refused_and_named(name):
    change, named = BREAKS[name]
    emulator = play()
    body = conversation(emulator)
    change(body)
    status, answer = send(emulator, body)
    assert status == 400
    assert (
        "Invalid `signature` in `thinking` block: block is bound to a different conversation"
        in answer["error"]["message"]
    )
    assert named in answer["error"]["message"]
    assert emulator.requests[-1].refusal.rule == "L78"


def test_an_address_that_brings_other_bytes_breaks_the_binding():
    # Three requests see the first picture, the fourth another one; the body is the same.
    emulator = play(PLAY.replace('["one cat"]', '["one cat", "one cat", "one cat", "another cat"]'))
    body = conversation(emulator)
    assert send(emulator, body)[0] == 400
    assert emulator.requests[-1].refusal.rule == "L78"
    assert send(play(), conversation(play()))[0] == 200


def test_thinking_that_is_put_back_breaks_the_binding():
    emulator = play()
    body = conversation(emulator)
    all_of_it = copy.deepcopy(body["messages"])
    # Removed from the start: legal. The next answer is made without it.
    without_thinking((2, 0))(body)
    made_without = said(emulator, body)
    question = {"role": "user", "content": "go on"}
    assert send(emulator, {**body, "messages": [*body["messages"], made_without, question]})[0] == 200
    put_back = {**body, "messages": [*all_of_it, made_without, question]}
    status, answer = send(emulator, put_back)
    assert status == 400
    assert "put back" in answer["error"]["message"]


def mark(body):
    body["messages"][0]["content"][0]["cache_control"] = {"type": "ephemeral"}
    body["system"][0]["cache_control"] = {"type": "ephemeral"}


def steer(body):
    body.update(
        max_tokens=2000,
        tool_choice={"type": "none"},
        output_config={"effort": "low"},
        metadata={"user_id": "u"},
        thinking={"type": "adaptive", "display": "omitted"},
    )


def edit_on_the_server(body):
    body["context_management"] = {"edits": [{"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 1},
                                             "keep": {"type": "tool_uses", "value": 0}}]}  # fmt: skip


# What L81 lists.
KEEPS = {
    "nothing": lambda body: None,
    "appending": lambda body: body["messages"].append({"role": "user", "content": "more"}),
    "an unreferenced deferred tool": append_tool({**LATER, "name": "Other"}),
    "markers that move": mark,
    "effort, limits, choice, metadata, display": steer,
    "thinking removed from the start": without_thinking((2, 0)),
    "more thinking removed from the start": without_thinking((2, 0), (4, 0)),
    "thinking removed from the end": without_thinking((6, 0), (6, 2)),
    "all thinking removed": without_thinking((2, 0), (4, 0), (6, 0), (6, 2)),
    "edits of the service": edit_on_the_server,
}


@pytest.mark.parametrize("name", KEEPS)
def test_what_does_not_break_the_binding_is_taken(name):
    emulator = play()
    body = conversation(emulator)
    KEEPS[name](body)
    status, answer = send(emulator, body)
    assert status == 200, answer
    assert answer["input_transformations"] == []


def test_a_signed_summary_stands_for_what_it_summarized():
    emulator = play()
    body = conversation(emulator)
    # Cut where no call is open: behind message 6 stands the question that is kept.
    asked = {**body, "messages": body["messages"][:4], "compaction": {"type": "summarize"}}
    summary = said(emulator, asked)
    assert summary["content"][0]["content"] == "In short."
    kept = {**body, "messages": [summary, *body["messages"][4:]]}
    status, answer = send(emulator, kept)
    assert status == 200, answer
    for change, code in (("content", "compaction_content_mismatch"), ("signature", "compaction_signature_invalid")):
        forged = copy.deepcopy(kept)
        forged["messages"][0]["content"][0][change] = "eA=="
        status, answer = send(emulator, forged)
        assert (status, answer["error"]["details"]["error_code"]) == (400, code)
    changed = copy.deepcopy(kept)
    changed["messages"][0]["content"][0]["tool_changes"] = [
        {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "Later"}}
    ]
    assert send(emulator, changed)[1]["error"]["details"]["error_code"] == "compaction_tool_changes_mismatch"


BROKEN = BREAKS["an edited message"][0]


def test_a_model_without_binding_takes_a_changed_prefix():
    emulator = play(profile=ServiceProfile(system_role=True))
    body = conversation(emulator)
    BROKEN(body)
    assert send(emulator, body)[0] == 200


def test_drop_block_leaves_the_thinking_out_and_says_so():
    emulator = play()
    body = conversation(emulator)
    BROKEN(body)
    body["thinking"] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    status, answer = send(emulator, body)
    assert status == 200
    reports = answer["input_transformations"]
    assert [report["path"] for report in reports] == [
        "messages.2.content.0", "messages.4.content.0", "messages.6.content.0", "messages.6.content.2",
    ]  # fmt: skip
    assert {(report["type"], report["reason"]) for report in reports} == {
        ("thinking_dropped", "prefix_binding_mismatch")
    }
    assert (
        "input_transformations"
        not in send(play(), conversation(play()), betas="mid-conversation-system-clear-at-2026-08-21")[1]
    )


def test_an_older_account_is_only_told_unless_it_asks():
    emulator = play(profile=ServiceProfile(system_role=True, binds_thinking=True, new_account=False))
    body = conversation(emulator)
    BROKEN(body)
    status, answer = send(emulator, body)
    assert status == 200
    assert {report["type"] for report in answer["input_transformations"]} == {"thinking_mismatch_allowed"}
    body["thinking"] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
    assert send(emulator, body)[0] == 400


def test_counting_runs_the_same_check():
    emulator = play()
    body = conversation(emulator)
    del body["max_tokens"]
    path = "/v1/messages/count_tokens"
    assert send(emulator, body, path=path)[0] == 200
    BROKEN(body)
    assert send(emulator, body, path=path)[0] == 400


def test_thinking_of_another_model_is_left_out_silently():
    emulator = play()
    body = {**conversation(emulator), "model": "m-2"}
    status, answer = send(emulator, body)
    assert (status, {report["reason"] for report in answer["input_transformations"]}) == (
        200,
        {"model_binding_mismatch"},
    )


def test_thinking_of_another_account_is_left_out_where_it_is_bound_to_one():
    for profile, reasons in (
        (BINDING, set()),
        (ServiceProfile(system_role=True, binds_account=True), {"organization_binding_mismatch"}),
    ):
        emulator = play(profile=profile)
        body = conversation(emulator)
        status, answer = send(emulator, body, key="k-2")
        assert (status, {report["reason"] for report in answer["input_transformations"]}) == (200, reasons)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (put("messages", 6, "content", 0, "thinking", "thirds"), "L75"),
        (put("messages", 2, "content", 0, "thinking", "firsts"), "L76"),
        (put("messages", 2, "content", 0, "signature", "c2ln"), "L76"),
        (put("messages", 2, "content", 0, "signature", "no base64"), "L76"),
        (without_thinking((6, 0)), "L75"),
        (without_thinking((6, 2)), "L75"),
        (lambda body: body["messages"][6]["content"].reverse(), "L75"),
        (lambda body: body["messages"][6]["content"].insert(0, body["messages"][2]["content"][0]), "L78"),
    ],
)  # fmt: skip
def test_what_is_not_as_it_came(change, rule):
    emulator = play()
    body = conversation(emulator)
    change(body)
    status, _ = send(emulator, body)
    assert (status, emulator.requests[-1].refusal.rule) == (400, rule)


def test_signatures_made_elsewhere_are_taken_only_when_that_is_wanted():
    body = {"model": "m-1", "max_tokens": 10, "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "EqoBCkgIARAB"}, text("b")]},
        {"role": "user", "content": "c"},
    ]}  # fmt: skip
    assert send(play("turns: [{say: ok}]"), body)[0] == 400
    open_profile = ServiceProfile(binds_thinking=True, foreign_signatures=True)
    assert send(play("turns: [{say: ok}]", open_profile), body)[0] == 200


def test_hidden_thinking_is_sealed_like_any_other():
    emulator = play("turns: [{parts: [{redact: true, say: a}]}, {say: b}, {say: c}]")
    body = {"model": "m-1", "max_tokens": 10, "messages": [{"role": "user", "content": "a"}]}
    answer = said(emulator, body)
    assert [block["type"] for block in answer["content"]] == ["redacted_thinking", "text"]
    body["messages"] += [answer, {"role": "user", "content": "b"}]
    assert send(emulator, body)[0] == 200
    body["messages"][0]["content"] = "z"
    assert send(emulator, body)[0] == 400
