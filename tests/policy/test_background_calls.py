"""Calls about commands that run already: looking at one or ending it needs no second permission, starting one does."""

import pytest

from tests.policy.judge import judge, make_call, make_policy


@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        (make_call("Monitor", task_id="bash_1"), "allow"),
        (make_call("BashOutput", bash_id="bash_1"), "allow"),
        (make_call("TaskStop", task_id="bash_1"), "allow"),
        (make_call("Monitor", command="make"), "ask"),
        (make_call("Monitor", command="make", task_id="bash_1"), "ask"),
        (make_call("Bash", command="make", run_in_background=True), "ask"),
    ],
)
def test_only_starting_a_command_asks(call, verdict):
    assert judge(call, make_policy()) == verdict
