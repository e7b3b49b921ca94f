"""Where spans and metrics go: the application's own providers, or exporters as the standard variables say (extra `telemetry`).

Decides whether anything is recorded, and reads the `OTEL_` variables that name exporter and trace. Nothing of OpenTelemetry is imported while it
is off.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from compositor._version import __version__
from compositor.config.price import priced
from compositor.config.settings import Settings
from compositor.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from compositor.opened import Opened
    from compositor.runtime.events import AgentEvent, Watcher

VARIABLE = "COMPOSITOR_TELEMETRY"
"""Turns telemetry on (`1`) or off (`0`), over the setting `compositor.telemetry`."""
FLUSH_MILLISECONDS = 3_000
"""How long the end of a session waits for a collector."""

_EXPORTERS = ("otlp", "console", "none")
_PROVIDERS = {
    "claude-api": "anthropic",
    "bedrock": "aws.bedrock",
    "vertex": "gcp.vertex_ai",
    "foundry": "azure.ai.inference",
    "openai-compatible": "openai",
}


class Providers(Struct, frozen=True):
    """Who makes tracers and meters, and how what was recorded is sent."""

    tracers: Any
    meters: Any
    flush: Callable[[], None]


def is_wanted(variables: Mapping[str, str], settings: Settings) -> bool:
    """Whether a person turned it on."""
    said = variables.get(VARIABLE, "").strip().lower()
    if said:
        return said not in {"0", "false", "no", "off"}
    return settings.compositor.telemetry


def recorded(opened: Opened, watch: Watcher) -> tuple[Watcher, Callable[[], None]]:
    """The watcher of a session, with a recorder behind it where that is wanted, and what ends the recording: it sends everything, within its limit.

    Raises `ConfigError` when recording is wanted and cannot be done.
    """
    variables = opened.environment.variables
    if not is_wanted(variables, opened.contract.settings):
        return watch, lambda: None
    from .recorder import Recorder, RunFacts

    providers = find_providers(variables)
    address = urlsplit(opened.contract.base_url)
    prices = opened.contract.settings.compositor.prices
    facts = RunFacts(
        session_id=opened.header.session_id,
        version=__version__,
        provider=_PROVIDERS.get(opened.contract.platform.id, opened.contract.platform.id),
        address=address.hostname or "",
        port=address.port,
        price_of=lambda model: priced(model, prices),
    )
    tracer = providers.tracers.get_tracer("compositor", __version__)
    meter = providers.meters.get_meter("compositor", __version__)
    recorder = Recorder(facts, tracer, meter, _parent(variables))

    def close() -> None:
        recorder.close()
        providers.flush()

    def both(event: AgentEvent) -> None:
        watch(event)
        recorder(event)

    return both, close


def find_providers(variables: Mapping[str, str]) -> Providers:
    """The providers that an application has set up, else our own as the standard variables say."""
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.trace import TracerProvider
    except ImportError:
        raise ConfigError(
            "telemetry is on, and OpenTelemetry is not installed",
            hint=f"Install it with: pip install 'compositor[telemetry]', or turn it off with {VARIABLE}=0",
        ) from None
    found = trace.get_tracer_provider()
    if isinstance(found, TracerProvider):
        return Providers(found, metrics.get_meter_provider(), lambda: None)
    said = tuple(_exporter(variables, f"OTEL_{signal}_EXPORTER") for signal in ("TRACES", "METRICS"))
    return _own_providers(*said, variables.get("OTEL_SERVICE_NAME", ""))


def _exporter(variables: Mapping[str, str], name: str) -> str:
    said = variables.get(name, "").strip().lower() or "otlp"
    if said not in _EXPORTERS:
        raise ConfigError(
            f"{name} is {said!r}, which this program cannot export to",
            hint=f"Use one of: {', '.join(_EXPORTERS)}",
        )
    return said


@functools.cache
def _own_providers(traces: str, figures: str, service: str) -> Providers:
    """One pair for the process: every session sends through it."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    resource = Resource.create({"service.name": service or "compositor", "service.version": __version__})
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    for processor in _span_processors(traces):
        tracers.add_span_processor(processor)
    meters = MeterProvider(resource=resource, metric_readers=_readers(figures), shutdown_on_exit=False)

    def flush() -> None:
        tracers.force_flush(FLUSH_MILLISECONDS)
        meters.force_flush(FLUSH_MILLISECONDS)

    return Providers(tracers, meters, flush)


def _span_processors(exporter: str) -> list[Any]:
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

    match exporter:
        case "none":
            return []
        case "console":
            return [SimpleSpanProcessor(ConsoleSpanExporter(out=_standard_error()))]
        case _:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            return [BatchSpanProcessor(OTLPSpanExporter(timeout=FLUSH_MILLISECONDS // 1000))]


def _readers(exporter: str) -> list[Any]:
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader

    match exporter:
        case "none":
            return []
        case "console":
            return [PeriodicExportingMetricReader(ConsoleMetricExporter(out=_standard_error()))]
        case _:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

            return [PeriodicExportingMetricReader(OTLPMetricExporter(timeout=FLUSH_MILLISECONDS // 1000))]


def _standard_error() -> Any:
    # Standard output belongs to the answer and to the protocols.
    import sys

    return sys.stderr


def _parent(variables: Mapping[str, str]) -> Context | None:
    """The trace that whoever started this program is in (`TRACEPARENT`)."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = {name.lower(): value for name in ("TRACEPARENT", "TRACESTATE") if (value := variables.get(name))}
    return TraceContextTextMapPropagator().extract(carrier) if carrier else None
