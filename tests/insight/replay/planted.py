"""Twenty-two ways to break a cached prefix, each with the cause that the record gives evidence of, and twenty-two that only look like one."""

from collections.abc import Callable

from compositor.emulator.cache import PromptCache
from tests.insight.replay.recorder import Recorder, tool, words


def begun(ttl: str = "5m", turns: int = 4) -> Recorder:
    recorder = Recorder(ttl)
    for _ in range(turns):
        recorder.turn()
    return recorder


def pause(ttl: str, seconds: float) -> Recorder:
    recorder = begun(ttl)
    recorder.plant(seconds)
    return recorder


def compaction(trigger: str) -> Recorder:
    recorder = begun(turns=8)
    recorder.parent = None
    details = {"trigger": trigger, "preTokens": 20_000}
    recorder.record("system", subtype="compact_boundary", compactMetadata=details)
    recorder.messages = []
    recorder.plant(tokens=4_000)
    return recorder


def microcompaction() -> Recorder:
    recorder = begun(turns=6)
    recorder.record("system", subtype="microcompact_boundary", microcompactMetadata={"tokensSaved": 1_400})
    recorder.messages[0]["content"][0]["text"] = "[cleared]"
    recorder.plant()
    return recorder


def service_clears() -> Recorder:
    recorder = begun(turns=6)
    recorder.messages[0]["content"][0]["text"] = "[cleared]"
    recorder.clears = [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1, "cleared_input_tokens": 1_400}]
    recorder.plant()
    return recorder


def silent_clearing() -> Recorder:
    recorder = begun(turns=8)
    for at in (0, 2, 4, 6):
        recorder.messages[at]["content"][0]["text"] = "[cleared]"
    recorder.plant()
    return recorder


def changed(**fields: object) -> Callable[[], Recorder]:
    """Fields of the recorder that are other ones from the fifth request on; `records` change those of the records."""

    def play() -> Recorder:
        recorder = begun()
        recorder.fields.update(fields.get("records", {}))
        for name, value in fields.items():
            if name == "hook":
                recorder.attach(type="hook_success", hookName=value, hookEvent="SessionStart", content="")
            elif name != "records":
                setattr(recorder, name, value)
        recorder.plant()
        return recorder

    return play


def first_message_edited() -> Recorder:
    recorder = begun()
    recorder.messages[0]["content"][0]["text"] = words(1_500, "v")
    recorder.diagnosis = "messages_changed"
    recorder.plant()
    return recorder


def wide_turn() -> Recorder:
    recorder = Recorder()
    recorder.earlier_marker = False
    recorder.turn()
    recorder.turn()
    recorder.turn(pieces=30, tokens=6_000)
    recorder.plant()
    return recorder


def service_loses() -> Recorder:
    recorder = begun()
    recorder.cache = PromptCache()
    recorder.plant()
    return recorder


def subagent_pauses() -> Recorder:
    recorder = begun()
    trunk, recorder.messages = recorder.messages, []
    recorder.parent = None
    recorder.fields.update(isSidechain=True, agentId="a-1")
    recorder.turn()
    recorder.turn()
    recorder.plant(400)
    del trunk
    return recorder


NEW_SYSTEM = [{"type": "text", "text": words(3_000, "t")}]
HOOK = "SessionStart:resume"
BREAKS: dict[str, tuple[str, Callable[[], Recorder]]] = {
    "a pause of six minutes": ("expiry", lambda: pause("5m", 360)),
    "a pause of an hour behind an hour's writes": ("expiry", lambda: pause("1h", 3_700)),
    "a night": ("expiry", lambda: pause("1h", 40_000)),
    "automatic compaction": ("compaction", lambda: compaction("auto")),
    "compaction by hand": ("compaction", lambda: compaction("manual")),
    "older results cleared by the client": ("clearing", microcompaction),
    "older results cleared by the service": ("clearing", service_clears),
    "older content gone without a word": ("clearing", silent_clearing),
    "resumed by a newer client": ("resume", changed(system=NEW_SYSTEM, records={"version": "2.2.0"})),
    "resumed with another head": ("resume", changed(system=NEW_SYSTEM, hook=HOOK)),
    "gone on in another session": ("resume", changed(system=NEW_SYSTEM, records={"sessionId": "s-2"})),
    "another model": ("model_switch", changed(model="claude-opus-4-5")),
    "another model by a resume": ("model_switch", changed(model="claude-haiku-4-5", hook=HOOK)),
    "another effort": ("settings_change", changed(effort="low")),
    "a tool more": ("tool_change", changed(tools=[tool("A"), tool("B"), tool("C")], diagnosis="tools_changed")),
    "tools in another order": ("tool_change", changed(tools=[tool("B"), tool("A")], diagnosis="tools_changed")),
    "a tool's text, told by nobody": ("unknown", changed(tools=[tool("A", 2_001), tool("B")])),
    "a date in the system prompt": ("system_change", changed(system=NEW_SYSTEM, diagnosis="system_changed")),
    "another working directory": ("system_change", changed(system=NEW_SYSTEM, records={"cwd": "/q"})),
    "an instruction file edited": ("history_change", first_message_edited),
    "more blocks than a marker looks back over": ("wide_turn", wide_turn),
    "the service loses the entry": ("unknown", service_loses),
    "a subagent that waited": ("expiry", subagent_pauses),
}


def after(act: Callable[[Recorder], None], ttl: str = "5m") -> Callable[[], Recorder]:
    """A session in which something happens that breaks nothing, and two turns behind it."""

    def play() -> Recorder:
        recorder = begun(ttl)
        act(recorder)
        recorder.turn()
        recorder.turn()
        return recorder

    return play


def rewound(recorder: Recorder) -> None:
    recorder.messages = recorder.messages[:4]
    recorder.parent = "u-5"


def beside(recorder: Recorder, turns: int = 3, **fields: object) -> None:
    """Another conversation in the same file, small and cold."""
    kept = recorder.messages, recorder.parent, dict(recorder.fields), recorder.model
    recorder.messages, recorder.parent = [], None
    recorder.model = str(fields.pop("model", recorder.model))
    recorder.fields.update(fields)
    for _ in range(turns):
        recorder.turn()
    recorder.messages, recorder.parent, recorder.fields, recorder.model = kept


def two_terminals(recorder: Recorder) -> None:
    messages, parent = list(recorder.messages), recorder.parent
    recorder.turn()
    recorder.messages, recorder.parent = messages, parent


def kept_warm(recorder: Recorder) -> None:
    messages, parent = list(recorder.messages), recorder.parent
    recorder.turn(200)
    recorder.messages, recorder.parent = messages, parent
    recorder.now += 200


def without(name: str, value: object) -> Callable[[Recorder], None]:
    def act(recorder: Recorder) -> None:
        before = getattr(recorder, name)
        setattr(recorder, name, value)
        recorder.turn()
        setattr(recorder, name, before)

    return act


def small(recorder: Recorder) -> None:
    recorder.system, recorder.tools, recorder.messages, recorder.parent = (
        [{"type": "text", "text": "hi"}],
        [tool("A", 20)],
        [],
        None,
    )
    recorder.turn(tokens=50, wait=400)


def error_answer(recorder: Recorder) -> None:
    blocks = [{"type": "text", "text": "API Error: 529"}]
    zero = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    message = {"id": "e-1", "role": "assistant", "model": "<synthetic>", "content": blocks, "usage": zero}
    recorder.record("assistant", message=message)
    recorder.record("assistant", message={**message, "id": "e-2"}, isApiErrorMessage=True)


def parallel_calls(recorder: Recorder) -> None:
    recorder.say()
    recorder.answer(calls=3)
    recorder.results()
    recorder.answer()


HARMLESS: dict[str, Callable[[], Recorder]] = {
    "plain growth": after(lambda _recorder: None),
    "a pause of four minutes": after(lambda recorder: setattr(recorder, "now", recorder.now + 240)),
    "fifty minutes behind an hour's writes": after(
        lambda recorder: setattr(recorder, "now", recorder.now + 3_000), "1h"
    ),
    "a rewind: less is read because less is sent": after(rewound),
    "a subagent inside the file": after(lambda recorder: beside(recorder, isSidechain=True, agentId="a-1")),
    "an old client's unnamed sidechain": after(lambda recorder: beside(recorder, isSidechain=True)),
    "a subagent on another model": after(
        lambda recorder: beside(recorder, isSidechain=True, agentId="a-2", model="claude-haiku-4-5")
    ),
    "two terminals on one session": after(two_terminals),
    "another terminal kept the prefix warm": after(kept_warm),
    "an answer stored in pieces, each with its usage": after(lambda recorder: recorder.turn(pieces=5)),
    "parallel calls: the links fork": after(parallel_calls),
    "a request without markers": after(without("caching", False)),
    "an answer without usage": after(without("hides_usage", True)),
    "a prompt below the minimum": after(small),
    "an error shown as an answer": after(error_answer),
    "a damaged line": after(lambda recorder: recorder.lines.append(b'{"type":"user","uui\n')),
    "deferred tools announced at the end": after(
        lambda recorder: recorder.attach(type="deferred_tools_delta", addedNames=["mcp__x__y"], removedNames=[])
    ),
    "what hooks said": after(lambda recorder: recorder.attach(type="hook_success", hookName="Stop", content="ok")),
    "records that are no messages": after(
        lambda recorder: (
            recorder.record("progress", data={"x": 1}),
            recorder.record("system", subtype="turn_duration"),
        )
    ),
    "a newer client that sends the same bytes": after(lambda recorder: recorder.fields.update(version="2.2.0")),
    "a resume that sends the same bytes": after(
        lambda recorder: recorder.attach(type="hook_success", hookName=HOOK, content="")
    ),
    "another directory that the prompt does not name": after(lambda recorder: recorder.fields.update(cwd="/p/q")),
    "a new conversation in the same file": after(
        lambda recorder: (recorder.messages.clear(), setattr(recorder, "parent", None))
    ),
    "records without a time": after(lambda recorder: recorder.fields.update(timestamp="soon")),
}
