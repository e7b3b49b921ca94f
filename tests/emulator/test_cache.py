"""The prompt cache of the stand-in. Every figure is computed by hand from wire page 4: 4 bytes are a token, 1,000 the minimum."""

import pytest

from compositor.emulator.cache import PromptCache, positions_of

FIVE = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def text(tokens, letter="a", marker=None):
    """A text block that counts exactly `tokens`: its bare form is 25 bytes and its text."""
    block = {"type": "text", "text": letter * (tokens * 4 - 25)}
    return {**block, "cache_control": marker} if marker else block


def tool(tokens, name="T", **fields):
    """A tool that counts exactly `tokens`: its bare form with a name of one letter is 62 bytes and its description."""
    return {"name": name, "description": "d" * (tokens * 4 - 62), "input_schema": {"type": "object"}, **fields}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def body(*messages, system=(), tools=(), **fields):
    return {
        "model": "m-1",
        "max_tokens": 10,
        "tools": list(tools),
        "system": list(system),
        "messages": list(messages),
        **fields,
    }


class Account:
    def __init__(self):
        self.cache = PromptCache()

    def send(self, request, now=0.0):
        """(read, written for five minutes, written for an hour, fresh)"""
        positions = positions_of(request, bytes_per_token=4)
        use, self.cache = self.cache.use(positions, minimum=1000, now=now)
        return use.read, use.written_5m, use.written_1h, use.fresh


def test_sequence_1_without_a_marker_nothing_is_kept():
    account = Account()
    request = body(user(text(1000)), system=[text(2000)], tools=[tool(3000)])
    assert account.send(request) == (0, 0, 0, 6000)
    assert account.send(request) == (0, 0, 0, 6000)


def test_sequence_2_a_marked_system_is_written_once_and_then_read():
    account = Account()
    request = body(user(text(500)), system=[text(2000, marker=FIVE)])
    assert account.send(request) == (0, 2000, 0, 500)
    assert account.send(request) == (2000, 0, 0, 500)
    assert account.send(body(user(text(700, "b")), system=[text(2000, marker=FIVE)])) == (2000, 0, 0, 700)


def test_sequence_3_a_prefix_below_the_minimum_is_not_kept_and_no_error():
    account = Account()
    request = body(user(text(500)), system=[text(999, marker=FIVE)])
    assert account.send(request) == (0, 0, 0, 1499)
    assert account.send(request) == (0, 0, 0, 1499)
    assert account.send(body(user(text(500)), system=[text(1000, marker=FIVE)])) == (0, 1000, 0, 500)


def test_sequence_4_a_growing_conversation_pays_for_what_is_new():
    account = Account()
    first = user(text(1000))
    assert account.send(body(user(text(1000, marker=FIVE)), system=[text(1000, marker=FIVE)])) == (0, 2000, 0, 0)
    second = body(first, assistant(text(200)), user(text(300, marker=FIVE)), system=[text(1000, marker=FIVE)])
    assert account.send(second) == (2000, 500, 0, 0)
    third = body(
        first, assistant(text(200)), user(text(300)), assistant(text(50)), user(text(100, marker=FIVE), text(25)),
        system=[text(1000, marker=FIVE)],
    )  # fmt: skip
    assert account.send(third) == (2500, 150, 0, 25)


@pytest.mark.parametrize(("appended", "figures"), [(19, (2000, 1900, 0, 0)), (20, (1000, 3000, 0, 0))])
def test_sequence_5_a_marker_looks_back_over_twenty_positions_itself_included(appended, figures):
    account = Account()
    system = [text(1000, marker=FIVE)]
    assert account.send(body(user(text(1000, marker=FIVE)), system=system)) == (0, 2000, 0, 0)
    more = [text(100, "b")] * (appended - 1) + [text(100, "b", FIVE)]
    assert account.send(body(user(text(1000), *more), system=system)) == figures


def test_sequence_6_a_second_marker_bridges_a_long_turn():
    account = Account()
    assert account.send(body(user(text(1000, marker=FIVE)))) == (0, 1000, 0, 0)
    more = [text(100, "b")] * 9 + [text(100, "b", FIVE)] + [text(100, "b")] * 14 + [text(100, "b", FIVE)]
    assert account.send(body(user(text(1000), *more))) == (1000, 2500, 0, 0)


def test_sequence_7_a_hit_renews_five_minutes_from_the_start_of_the_request():
    account = Account()
    request = body(user(text(500)), system=[text(2000, marker=FIVE)])
    assert account.send(request, now=0) == (0, 2000, 0, 500)
    assert account.send(request, now=299) == (2000, 0, 0, 500)
    assert account.send(request, now=598) == (2000, 0, 0, 500)
    assert account.send(request, now=898) == (0, 2000, 0, 500)


def test_sequence_8_one_hour_outlives_five_minutes():
    account = Account()
    request = body(user(text(1000, marker=FIVE)), system=[text(2000, marker=HOUR)])
    assert account.send(request, now=0) == (0, 1000, 2000, 0)
    assert account.send(request, now=400) == (2000, 1000, 0, 0)
    assert account.send(request, now=3999) == (2000, 1000, 0, 0)
    assert account.send(request, now=7599) == (0, 1000, 2000, 0)


def test_sequence_9_mixed_lifetimes_are_billed_between_hit_hour_and_last_marker():
    account = Account()
    tools = [tool(1000, cache_control=HOUR)]
    assert account.send(body(user(text(500)), tools=tools)) == (0, 0, 1000, 500)
    request = body(user(text(750, marker=FIVE), text(40)), system=[text(2000, marker=HOUR)], tools=tools)
    assert account.send(request) == (1000, 750, 2000, 40)


SAME = {"system": [text(1000, marker=FIVE)], "tools": [tool(1000, cache_control=FIVE)]}


@pytest.mark.parametrize(
    ("change", "figures"),
    [
        ({}, (3000, 0, 0, 0)),
        ({"model": "m-2"}, (0, 3000, 0, 0)),
        ({"tools": [tool(1000, "U", cache_control=FIVE)]}, (0, 3000, 0, 0)),
        ({"system": [text(1000, "s", FIVE)]}, (1000, 2000, 0, 0)),
        ({"speed": "fast"}, (1000, 2000, 0, 0)),
        ({"speed": "standard"}, (3000, 0, 0, 0)),
        ({"tool_choice": {"type": "any"}}, (2000, 1000, 0, 0)),
        ({"tool_choice": {"type": "auto"}}, (3000, 0, 0, 0)),
        ({"thinking": {"type": "adaptive"}}, (2000, 1000, 0, 0)),
        ({"metadata": {"user_id": "u"}}, (3000, 0, 0, 0)),
        ({"tools": [*SAME["tools"], tool(500, "D", defer_loading=True)]}, (3000, 0, 0, 0)),
        ({"tools": [tool(1000)]}, (3000, 0, 0, 0)),
        ({"system": [text(1000, marker=HOUR)]}, (3000, 0, 0, 0)),
    ],
)
def test_sequence_10_what_a_change_loses(change, figures):
    account = Account()
    message = user(text(1000, marker=FIVE))
    assert account.send(body(message, **SAME)) == (0, 3000, 0, 0)
    assert account.send(body(message, **{**SAME, **change})) == figures


def test_automatic_caching_marks_the_last_block_that_can_carry_a_marker():
    account = Account()
    thought = {"type": "thinking", "thinking": "x", "signature": "y"}
    first = body(user(text(1000)), cache_control=FIVE)
    assert account.send(first) == (0, 1000, 0, 0)
    positions = positions_of(
        body(user(text(1000)), assistant(text(100), thought), cache_control=HOUR), bytes_per_token=4
    )
    assert [position.ttl for position in positions] == [None, "1h", None]
    nothing = positions_of(body(assistant(thought), cache_control=HOUR), bytes_per_token=4)
    assert [position.ttl for position in nothing] == [None]


def test_a_marker_inside_a_tool_result_is_no_marker_and_no_text():
    def request(**marker):
        result = {
            "type": "tool_result",
            "tool_use_id": "t",
            "content": [{**text(1000), **marker}],
            "cache_control": FIVE,
        }
        return body(user(result))

    account = Account()
    account.send(request())
    assert account.send(request(cache_control=FIVE))[0] > 1000


def test_the_order_of_keys_in_a_tool_input_is_part_of_the_prefix():
    def request(given):
        call = {"type": "tool_use", "id": "t", "name": "T", "input": given, "cache_control": FIVE}
        return body(user(text(1000)), assistant(call))

    account = Account()
    account.send(request({"a": 1, "b": 2}))
    assert account.send(request({"a": 1, "b": 2}))[0] > 1000
    assert account.send(request({"b": 2, "a": 1}))[0] == 0


def test_a_string_and_one_text_block_are_the_same_content():
    account = Account()
    long = "a" * 3975
    assert account.send(body({"role": "user", "content": long}, cache_control=FIVE)) == (0, 1000, 0, 0)
    assert account.send(body(user({"type": "text", "text": long, "cache_control": FIVE}))) == (1000, 0, 0, 0)


def test_using_a_cache_changes_no_earlier_value():
    empty = PromptCache()
    positions = positions_of(body(user(text(1000, marker=FIVE))), bytes_per_token=4)
    _, after = empty.use(positions, minimum=1000, now=0)
    assert (len(empty.entries), len(after.entries)) == (0, 1)
