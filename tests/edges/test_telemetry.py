"""A turn as an OpenTelemetry trace: from the file over the request to usage and money, in memory and through a real collector's port."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from compositor.cli.running import run_agent, scripted_line
from compositor.config.flags import Flags
from compositor.config.price import priced
from compositor.emulator.script import parse_script
from compositor.opened import Opening, open_session
from compositor.telemetry.recorder import Recorder, RunFacts
from tests.cli.program import environment, run_program, script

pytestmark = pytest.mark.edges

READ: dict[str, Any] = {
    "say": "I look.",
    "do": [{"read": "greeter.py"}, {"write": {"path": "made.txt", "content": "secret words"}}],
}
HELLO: dict[str, Any] = {"say": "Hello."}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "greeter.py").write_text("print('Hello')\n")
    (folder / "CLAUDE.md").write_text("Speak plainly.\n" * 20)
    (tmp_path / "home").mkdir()
    return folder


class Recorded:
    """A run in this process with exporters in memory. `spans` in the order in which they ended."""

    def __init__(self, project: Path, *turns: dict[str, Any], flags: Flags | None = None) -> None:
        exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(exporter))
        environ = environment(project.parent / "home")
        opened = open_session(Opening(flags=flags or Flags(), project=str(project), environ=environ))
        facts = RunFacts(
            session_id=opened.header.session_id, version="1", provider="anthropic", address="localhost", port=None,
            price_of=lambda model: priced(model, {}),
        )  # fmt: skip
        meter = MeterProvider(metric_readers=[self.reader]).get_meter("test")
        self.recorder = Recorder(facts, tracers.get_tracer("test"), meter)
        line = scripted_line(parse_script(json.dumps({"turns": turns})), opened)
        self.result = run_agent(
            opened, line, self.recorder, lambda running: running.agent.submit("a secret prompt")
        ).result
        self.session_id = opened.header.session_id
        self.spans = exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name.startswith(name)]

    def below(self, span: ReadableSpan, name: str) -> list[ReadableSpan]:
        return [one for one in self.named(name) if one.parent and one.parent.span_id == span.context.span_id]

    def figures(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        return [
            point for scope in scopes for one in scope.metrics if one.name == name for point in one.data.data_points
        ]


def told(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_one_trace_leads_from_a_file_over_the_request_to_usage_and_money(project: Path) -> None:
    run = Recorded(project, READ, HELLO)
    (turn,) = run.named("invoke_agent compositor")
    assert {span.context.trace_id for span in run.spans} == {turn.context.trace_id}
    first, second = sorted(run.named("chat "), key=lambda span: span.start_time or 0)
    assert run.below(turn, "chat ") == [first, second]
    # The file: which section of which region it is, how large, and what it costs to write and to read.
    (memory,) = [
        one
        for one in run.below(first, "context memory")
        if told(one).get("compositor.source.path") == str(project / "CLAUDE.md")
    ]
    source = told(memory)
    assert source["compositor.source.bytes"] > len("Speak plainly.\n" * 20)
    assert source["compositor.source.estimated_tokens"] > 0
    assert source["compositor.source.write_cost_usd"] > source["compositor.source.read_cost_usd"] > 0
    assert source["compositor.source.lane"] == "user_context"
    # What the first request told is not told again: the second has the answer, the results, and what is new beside them.
    assert {"section", "tool", "memory"} <= {
        told(one)["compositor.source.kind"] for one in run.below(first, "context ")
    }
    assert {told(one)["compositor.source.kind"] for one in run.below(second, "context ")} <= {
        "entry",
        "attachment",
        "repair",
    }
    # The request, what was forecast, what was reported, and money, which add up.
    asked = told(second)
    assert (asked["gen_ai.operation.name"], asked["gen_ai.provider.name"]) == ("chat", "anthropic")
    assert asked["gen_ai.conversation.id"] == run.session_id
    assert asked["gen_ai.response.finish_reasons"] == ("end_turn",)
    assert asked["gen_ai.usage.cache_read.input_tokens"] > 0
    assert asked["gen_ai.usage.input_tokens"] == run.result.usages[1].total_input
    assert asked["compositor.cache.verdict"] == "as_forecast"
    assert asked["gen_ai.response.time_to_first_chunk"] >= 0
    dollars = [told(span)["compositor.cost_usd"] for span in (first, second)]
    assert told(turn)["compositor.cost_usd"] == pytest.approx(sum(dollars))
    assert min(dollars) > 0


def test_calls_are_spans_with_the_verdict_of_the_gate(project: Path) -> None:
    run = Recorded(project, READ, HELLO)
    (turn,) = run.named("invoke_agent")
    read, write = sorted(run.below(turn, "execute_tool"), key=lambda span: span.name)
    assert (read.name, told(read)["compositor.gate.verdict"], told(read)["compositor.tool.outcome"]) == (
        "execute_tool Read",
        "allow",
        "done",
    )
    assert (told(write)["compositor.gate.verdict"], told(write)["error.type"]) == ("deny", "denied")
    assert told(turn)["compositor.turn.denied_calls"] == 1


def test_nothing_that_was_said_is_recorded(project: Path) -> None:
    run = Recorded(project, READ, HELLO)
    everything = json.dumps([json.loads(span.to_json()) for span in run.spans])
    for words in ("a secret prompt", "secret words", "I look.", "Speak plainly", "print("):
        assert words not in everything


def test_figures_are_those_of_the_answers(project: Path) -> None:
    run = Recorded(project, READ, HELLO)
    tokens = {
        dict(point.attributes)["gen_ai.token.type"]: point.sum for point in run.figures("gen_ai.client.token.usage")
    }
    assert tokens == {"input": run.result.usage.total_input, "output": run.result.usage.output_tokens}
    cache = {
        dict(point.attributes)["compositor.cache.bucket"]: point.value
        for point in run.figures("compositor.cache.tokens")
    }
    assert (cache["read"], cache["written"], cache["lost"]) == (run.result.usage.read, run.result.usage.written, 0)
    assert [point.count for point in run.figures("gen_ai.client.operation.duration")] == [2]
    (spent,) = run.figures("compositor.cost")
    assert spent.value == pytest.approx(told(run.named("invoke_agent")[0])["compositor.cost_usd"])
    assert sorted(
        dict(point.attributes)["compositor.tool.outcome"] for point in run.figures("compositor.tool.calls")
    ) == ["denied", "done"]


def test_a_failure_and_a_retry_are_told_where_they_happened(project: Path) -> None:
    busy = {"say": "x", "faults": [{"status": 529, "message": "overloaded", "retry_after": 0.01}]}
    refused = {"say": "y", "faults": [{"status": 401, "message": "no"}]}
    (answered,) = Recorded(project, busy).named("chat ")
    assert [event.name for event in answered.events] == ["compositor.retry"]
    failed = Recorded(project, refused)
    (chat,), (turn,) = failed.named("chat "), failed.named("invoke_agent")
    assert (told(chat)["error.type"], told(turn)["error.type"], turn.status.is_ok) == ("api_error", "api_error", False)


def test_a_fault_of_the_recorder_costs_the_run_nothing(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = Recorded(project, HELLO)

    class Broken:
        def start_span(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("no room")

    run.recorder._tracer = Broken()  # type: ignore[assignment]
    from compositor.runtime.events import TurnStarted

    run.recorder(TurnStarted())
    run.recorder(TurnStarted())
    assert [record.message for record in caplog.records] == ["an event could not be recorded: no room"]


# ------------------------------------------------------------------------------------------------- the whole program


@pytest.fixture
def collector() -> Iterator[tuple[str, dict[str, list[bytes]]]]:
    """A server on this machine that takes what exporters post, by path."""
    taken: dict[str, list[bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            taken.setdefault(self.path, []).append(body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", taken
    server.shutdown()
    thread.join()
    server.server_close()


def run_with(project: Path, *words: str, **variables: str) -> Any:
    home = project.parent / "home"
    played = script(home, READ, HELLO)
    return run_program("run", "x", "--offline", played, *words, cwd=project, home=home, **variables)


def test_spans_and_metrics_reach_a_collector_inside_the_callers_trace(
    project: Path, collector: tuple[str, dict[str, list[bytes]]]
) -> None:
    url, taken = collector
    trace_id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    ran = run_with(
        project, COMPOSITOR_TELEMETRY="1", OTEL_EXPORTER_OTLP_ENDPOINT=url, TRACEPARENT=f"00-{trace_id}-{parent}-01",
        OTEL_EXPORTER_OTLP_COMPRESSION="none", OTEL_SERVICE_NAME="my-agents",
    )  # fmt: skip
    assert (ran.code, ran.out) == (0, "I look.\nHello.\n")
    requests = [ExportTraceServiceRequest.FromString(body) for body in taken["/v1/traces"]]
    resources = [resource for request in requests for resource in request.resource_spans]
    spans = [span for resource in resources for scope in resource.scope_spans for span in scope.spans]
    named = {attribute.key: attribute.value.string_value for attribute in resources[0].resource.attributes}
    assert named["service.name"] == "my-agents"
    assert {span.trace_id.hex() for span in spans} == {trace_id}
    (turn,) = [span for span in spans if span.name == "invoke_agent compositor"]
    assert turn.parent_span_id.hex() == parent
    figures = [ExportMetricsServiceRequest.FromString(body) for body in taken["/v1/metrics"]]
    names = {
        metric.name
        for one in figures
        for resource in one.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert {"gen_ai.client.token.usage", "gen_ai.client.operation.duration", "compositor.cost"} <= names


def test_it_is_off_unless_a_person_turns_it_on(project: Path, collector: tuple[str, dict[str, list[bytes]]]) -> None:
    url, taken = collector
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text('{"compositor": {"telemetry": true}}')
    assert run_with(project, OTEL_EXPORTER_OTLP_ENDPOINT=url).code == 0
    # A repository's file has no say; the person's own settings have, and the variable stands above them.
    assert taken == {}
    words = ("--settings", '{"compositor": {"telemetry": true}}')
    assert run_with(project, *words, OTEL_EXPORTER_OTLP_ENDPOINT=url, COMPOSITOR_TELEMETRY="0").code == 0
    assert taken == {}
    assert run_with(project, *words, OTEL_EXPORTER_OTLP_ENDPOINT=url).code == 0
    assert set(taken) == {"/v1/traces", "/v1/metrics"}


def test_a_collector_that_is_not_there_costs_no_run(project: Path) -> None:
    ran = run_with(project, COMPOSITOR_TELEMETRY="1", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert (ran.code, ran.out) == (0, "I look.\nHello.\n")


def test_on_the_console_the_answer_stays_alone_on_standard_output(project: Path) -> None:
    ran = run_with(project, COMPOSITOR_TELEMETRY="1", OTEL_TRACES_EXPORTER="console", OTEL_METRICS_EXPORTER="none")
    assert (ran.code, ran.out) == (0, "I look.\nHello.\n")
    assert '"name": "invoke_agent compositor"' in ran.err


def test_an_exporter_that_is_not_known_is_said(project: Path) -> None:
    ran = run_with(project, COMPOSITOR_TELEMETRY="1", OTEL_TRACES_EXPORTER="zipkin")
    assert ran.code == 2
    assert "OTEL_TRACES_EXPORTER is 'zipkin'" in ran.err
