"""The names of spans, attributes and instruments: those of the OpenTelemetry GenAI conventions, and our own below `compositor.`.

A declared table. The conventions are in development, so their names stand here and not in a library that renames them.
"""

from __future__ import annotations

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION: Final = "gen_ai.conversation.id"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_VERSION: Final = "gen_ai.agent.version"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_STREAM: Final = "gen_ai.request.stream"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
WRITTEN_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
ERROR_TYPE: Final = "error.type"

TOKEN_USAGE: Final = "gen_ai.client.token.usage"  # noqa: S105
DURATION: Final = "gen_ai.client.operation.duration"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.client.operation.time_to_first_chunk"

COST: Final = "compositor.cost_usd"
REQUEST_NUMBER: Final = "compositor.request.number"
REQUEST_BYTES: Final = "compositor.request.bytes"
VIEW_DIGEST: Final = "compositor.request.view_digest"
HEAD_DIGEST: Final = "compositor.request.head_digest"
ASIDE: Final = "compositor.request.aside"
FORECAST_READ: Final = "compositor.forecast.read_tokens"
FORECAST_WRITTEN: Final = "compositor.forecast.written_tokens"
CACHE_VERDICT: Final = "compositor.cache.verdict"
CACHE_CAUSE: Final = "compositor.cache.cause"
CACHE_LOST: Final = "compositor.cache.lost_tokens"
TURN_REASON: Final = "compositor.turn.reason"
TURN_REQUESTS: Final = "compositor.turn.requests"
TURN_DENIED: Final = "compositor.turn.denied_calls"
VERDICT: Final = "compositor.gate.verdict"
VERDICT_REASON: Final = "compositor.gate.reason"
OUTCOME: Final = "compositor.tool.outcome"
BUCKET: Final = "compositor.cache.bucket"

SOURCE_KIND: Final = "compositor.source.kind"
SOURCE_NAME: Final = "compositor.source.name"
SOURCE_PATH: Final = "compositor.source.path"
SOURCE_LINE: Final = "compositor.source.line"
SOURCE_REGION: Final = "compositor.source.region"
SOURCE_LANE: Final = "compositor.source.lane"
SOURCE_LIFETIME: Final = "compositor.source.lifetime"
SOURCE_GATE: Final = "compositor.source.gate"
SOURCE_BYTES: Final = "compositor.source.bytes"
SOURCE_TOKENS: Final = "compositor.source.estimated_tokens"
SOURCE_WRITE_COST: Final = "compositor.source.write_cost_usd"
SOURCE_READ_COST: Final = "compositor.source.read_cost_usd"

COST_SUM: Final = "compositor.cost"
CACHE_TOKENS: Final = "compositor.cache.tokens"
TOOL_CALLS: Final = "compositor.tool.calls"
TURNS: Final = "compositor.turns"
