"""The wire rules as one table: what is refused, how sure we are, and how we know.

Decides ids, severities and sources; the text of a finding and the finding itself belong to the modules beside this one.
Ids starting with L are those of the wire page; W ids are our own, for facts that page has no number for.
"""

from __future__ import annotations

from msgspec import Struct, structs

from compositor.types.diagnostics import Severity


class Violation(Struct, frozen=True):
    """One finding. `path` as in `messages[3].content[0].tool_use_id`; `body` for the whole."""

    rule: str
    path: str
    message: str

    @property
    def severity(self) -> Severity:
        return RULES[self.rule].severity


class WireRule(Struct, frozen=True, kw_only=True):
    """One rule of the wire.

    An error would be refused for certain, as far as the source goes; a warning is unverified, no longer seen, or legal and
    unwise. `date` is the source's own day or month, or the one it was last read in. `answer` is what the server says.
    """

    id: str
    severity: Severity
    title: str
    source: str
    date: str
    verified: bool
    scope: str
    answer: str


SDK, D8, D9, D10 = (
    ("SDK 2.14.0", "2026-11"),
    ("docs", "2026-08-21"),
    ("docs", "2026-09"),
    ("docs", "2026-10"),
)
THIRD_PARTY = ("third-party reports", "2026-10-06")


def _issue(*threads: str) -> tuple[str, str]:
    return "issue " + ", ".join(threads), "2026-11-30"


def _error(id: str, title: str, source: tuple[str, str], answer: str = "400") -> WireRule:
    return WireRule(
        id=id,
        severity=Severity.ERROR,
        title=title,
        source=source[0],
        date=source[1],
        verified=True,
        scope="",
        answer=answer,
    )


def _warn(id: str, title: str, source: tuple[str, str], answer: str = "unverified") -> WireRule:
    return WireRule(
        id=id,
        severity=Severity.WARNING,
        title=title,
        source=source[0],
        date=source[1],
        verified=False,
        scope="",
        answer=answer,
    )


EXTRA = "400 Extra inputs are not permitted"

_BODY = (
    _error("L01", "at most 100,000 messages", SDK),
    _error("L02", "messages must not be empty", D9),
    _error("L03", "roles are user, assistant and system", _issue("ianarawjo/ChainForge#271"), "400 Unexpected role"),
    _error("L09", "no key beyond the schema of its place", _issue("anthropics/claude-code#4378"), EXTRA),
    _error("L23", "the body has a size limit", D8, "413 request_too_large"),
    _error("W01", "no lone surrogate in any string", _issue("anthropics/claude-code#3277"), "400 no low surrogate"),
    _error("W02", "the body is one JSON object in UTF-8", SDK, "400 not valid JSON"),
    _error("W03", "fields are there, of their type and in their place", SDK, "400 Field required; Input should be"),
    _error("W04", "a beta block needs its beta header", D9, "400 not an expected type"),
    _warn("W05", "a type or name that this table does not know", SDK),
)
_MESSAGES = (
    _warn("L05", "the first message is from the user", _issue("lobehub/lobehub#1601"), "400 in 2024, not seen since"),
    _error(
        "L06",
        "every message but a final assistant one has content",
        _issue("anthropics/claude-code#6774"),
        "400 all messages must have non-empty content",
    ),
    _error(
        "L07",
        "no empty text block",
        _issue("anthropics/claude-code#59812"),
        "400 text content blocks must be non-empty",
    ),
    _error(
        "L08",
        "no text block of white space only",
        _issue("anthropics/claude-code#23369"),
        "400 text content blocks must contain non-whitespace text",
    ),
    _error("L11", "no document directly in an assistant message (from version 2026-10-21)", D10),
    _error("L12", "no citations in text that the user sends (from version 2026-10-21)", D10),
    _error("L13", "the model takes no prefilled answer", D8, "400 does not support assistant message prefill"),
    _error("L14", "no prefilled answer while thinking is on", D8),
    _error(
        "L16",
        "a prefilled answer does not end in white space",
        _issue("tailcallhq/forgecode#1872"),
        "400 final assistant content cannot end with trailing whitespace",
    ),
    _warn("W07", "white space only, beside other blocks or inside a result", ("recorded request", "2025-10"), "200"),
    _warn("W09", "empty text in the top-level system prompt", D8),
)
_SYSTEM = (
    _error(
        "L30",
        "the model knows the system role inside messages",
        _issue("anthropics/claude-code#61412"),
        "400 role 'system' is not supported on this model",
    ),
    _error("L31", "a system message with content is not the first one", D9, "400 use the top-level system"),
    _error(
        "L32",
        "a system message follows a user message or a server tool's result",
        D9,
        "400 must follow a 'user' message or an 'assistant' message ending in a server tool result",
    ),
    _error(
        "L33",
        "a system message precedes an assistant message or ends the list",
        _issue("anthropics/claude-code#73821"),
        "400 must precede an 'assistant' message or end the array",
    ),
    _error("L34", "no system message between a call and its result", D9),
    _error("L35", "system messages side by side are judged as one", D9),
    _error("L36", "a system message has content or an effort", SDK),
    _error("L37", "output_config in a message: only effort, on system, with its beta and model", D9),
    _error("L38", "clear_at needs its beta", D9, EXTRA),
    _error("L39", "clear_at stands on system messages only", D9, "400 only permitted on role 'system'"),
    _error("L40", "clear_at is never or next_user_message", D9),
    _error("L41", "a turn-scoped message holds text only", D9, "400 supports text blocks only"),
    _error("L42", "a turn-scoped message has no output_config", D9, "400 not permitted"),
    _error("L43", "a turn-scoped message has no cache marker", D9, "400 cache_control is not permitted"),
    _error("L45", "tool changes stand in system messages, not after a paused turn", D9),
    _error("L46", "a tool change names a declared tool", SDK, "400 tool_reference_unresolved"),
)
_CALLS = (
    _error(
        "L55",
        "every call is answered in the next message",
        _issue("anthropics/claude-code#5060"),
        "400 tool_use ids were found without tool_result blocks immediately after",
    ),
    _error(
        "L56",
        "every result answers a call of the previous message",
        _issue("anthropics/claude-code#13460"),
        "400 unexpected tool_use_id found in tool_result blocks",
    ),
    _error(
        "L57",
        "call ids are unique in the request",
        _issue("anthropics/claude-code#20901"),
        "400 tool_use ids must be unique",
    ),
    _error("L58", "one result for each call", THIRD_PARTY, "400 each tool_use must have a single result"),
    _error("L59", "results come first in their message", D8, "400 as for L55"),
    _error(
        "L61",
        "call ids are letters, digits, _ and -",
        _issue("QwenLM/qwen-code#8160"),
        "400 String should match pattern",
    ),
    _error("L62", "a call's input is an object", SDK),
    _error(
        "L63",
        "an error result holds text only",
        _issue("vellum-ai/vellum-assistant#18387"),
        "400 all content must be type 'text' if 'is_error' is true",
    ),
    _error("L64", "a result holds text, image, document, search_result or tool_reference", SDK),
    _error("L65", "calls belong to the assistant, results to the user", D8),
    _warn("L66", "a history with tool blocks needs tools", THIRD_PARTY, "400 must define tools"),
    _error("L67", "a result repeats the toolset name of its call", D8),
    _error(
        "L68", "beside a pending server tool the answer holds results only", D8, "400 without a corresponding result"
    ),
    _error("L69", "a turn goes on with the server tool that it waits for", D8, "400 but no such tool was provided"),
    _error(
        "L70",
        "a server tool's result follows its call",
        _issue("anthropics/claude-code#64383"),
        "400 unexpected tool_use_id found",
    ),
    _error("L71", "the client does not answer a server tool", D8),
    _error("L73", "before a fallback to another model stand no thinking and no open call", D8),
)
_THINKING = (
    _error(
        "L76",
        "a thinking block has its signature",
        _issue("anthropics/anthropic-sdk-python#1598"),
        "400 Invalid signature",
    ),
    _error(
        "L77",
        "a thinking block has its text, if only an empty one",
        _issue("LibreChat-AI/agents#279"),
        "400 Field required",
    ),
    _error("L82", "block_binding needs its beta", D9, EXTRA),
    _error(
        "L85",
        "with manual thinking an open tool turn starts with its thinking",
        _issue("mastra-ai/mastra#7799"),
        "400 Expected thinking or redacted_thinking",
    ),
    _warn(
        "L86", "thinking comes first in its message", _issue("lbjlaq/Antigravity-Manager#653"), "400 on older models"
    ),
    _warn(
        "L87",
        "the last answer holds no thinking while thinking is disabled",
        _issue("tailcallhq/forgecode#1853"),
        "400 in 2025, ignored since",
    ),
    _error("L89", "no cache marker on thinking", _issue("Wei-Shaw/sub2api#225"), EXTRA),
    _error(
        "L90",
        "a thinking budget is at least 1024 and below max_tokens",
        _issue("themaximalist/llm.js#30"),
        "400 greater than or equal to 1024",
    ),
    _error("L91", "the model takes this kind of thinking", D8, "400 is not supported for this model"),
    _error("L92", "thinking that is not on excludes the two highest efforts", D8),
    _error(
        "L93", "manual thinking excludes a forced tool", D8, "400 Thinking may not be enabled when tool_choice forces"
    ),
    _error("L94", "the model takes no forced tool", D10, "400 not supported for this model"),
    _error("L95", "no display setting when thinking is disabled", D8),
)
_TOOLS = (
    _error(
        "L100",
        "tool names are letters, digits, _ and -, at most 128",
        _issue("modelcontextprotocol/modelcontextprotocol#1345"),
        "400 String should match pattern",
    ),
    _error("L101", "tool names are unique", _issue("microsoft/vscode#278073"), "400 Tool names must be unique"),
    _error(
        "L102",
        "a tool's schema is an object schema of JSON Schema 2020-12",
        _issue("anthropics/claude-code#86664"),
        "400 JSON schema is invalid",
    ),
    _error("L103", "an input example fits the schema", D8),
    _error("L104", "strict tools stay within their limits", D8, "400 Schema is too complex for compilation"),
    _error("L105", "not every tool is deferred", D8, "400 at least one tool must have defer_loading=false"),
    _error("L106", "a deferred tool has no cache marker", D8, "400 cannot have both"),
    _error("L107", "a referenced tool is declared", D8, "400 not found in available tools"),
    _error("L108", "the search tool itself is not deferred", D8),
    _error("L109", "at most 10,000 deferred tools", D8),
    _error("L111", "each MCP server has exactly one toolset, each toolset its server", D8),
    _error(
        "W06",
        "no anyOf, oneOf or allOf at the top of a tool's schema",
        _issue("anthropics/claude-code#45106"),
        "400 not supported at the top level",
    ),
    _warn("W10", "a tool name of 65 to 128 characters", D8, "400 in early 2025, not seen since"),
)
_MARKERS = (
    _error(
        "L120",
        "at most four cache markers",
        _issue("tghamm/Anthropic.SDK#50"),
        "400 A maximum of 4 blocks with cache_control may be provided",
    ),
    _error(
        "L121",
        "no 1h marker after a 5m one",
        _issue("cnighswonger/claude-code-cache-fix#44"),
        "400 a ttl='1h' cache_control block must not come after a ttl='5m'",
    ),
    _error(
        "L122",
        "no cache marker on empty text",
        _issue("anthropics/claude-code#50082"),
        "400 cache_control cannot be set for empty text blocks",
    ),
    _error("L126", "automatic caching and the last block's marker agree in ttl", D8, "400 already has"),
    _error("L128", "automatic caching leaves room for three markers", D8),
    _error("L130", "a marker is ephemeral, 5m or 1h", SDK),
    _error("L131", "a marker has no scope", _issue("anthropics/claude-code#25597"), EXTRA),
    _error("L132", "no marker inside a citation", D8),
    _error("L135", "no automatic caching on the legacy platform", D8),
)
_MEDIA = (
    _error(
        "L140",
        "an image side is at most 8000 pixels",
        _issue("anthropics/claude-code#4778"),
        "400 exceed max allowed size",
    ),
    _error(
        "L141",
        "with more than 20 images each side is at most 2000 pixels",
        _issue("charmbracelet/crush#3810"),
        "400 many-image requests: 2000 pixels",
    ),
    _error("L142", "an image has at most 10 MB of base64, 5 MB on Bedrock and Google", D8),
    _error("L143", "at most 600 images, 100 in a window of 200k", D8),
    _error("L144", "an image is jpeg, png, gif or webp and its type says which", SDK),
)
_OPTIONS = (
    _error("L10", "no sampling parameters (from version 2026-10-21)", D10),
    _error(
        "L18",
        "max_tokens is within the model's output",
        _issue("anomalyco/opencode#2055"),
        "400 maximum allowed number",
    ),
    _error("L21", "max_tokens 0 excludes stream, manual thinking, format and forced tools", D8),
    _warn(
        "L22",
        "metadata.user_id is opaque and at most 256 characters",
        _issue("vercel/ai#12419"),
        "400, text unverified",
    ),
    _error(
        "W08",
        "the model knows this effort",
        ("recorded request", "2026-04"),
        "400 This model does not support effort level",
    ),
)
_COMPACTION = (
    _error("L150", "context_management needs its beta", _issue("Wei-Shaw/sub2api#2726"), EXTRA),
    _error("L151", "clear_thinking comes first among the edits", D8),
    _error(
        "L152",
        "clear_thinking needs thinking",
        _issue("anthropics/claude-code#11971"),
        "400 strategy requires thinking to be enabled or adaptive",
    ),
    _error("L153", "clear_thinking keeps at least one turn, or all", D8),
    _error("L154", "compaction triggers on input_tokens, at 50,000 or more", D8),
    _error("L155", "a compaction block's text is not empty", SDK),
    _error("L156", "compaction on demand excludes edits, stops, format, forced tools and a remaining budget", SDK),
    _error("L157", "no summary while a call is open", SDK, "400 compaction_incomplete_turn"),
    _error("L158", "a signed compaction block comes first", SDK, "400 compaction_block_misplaced"),
    _error("L159", "one signed compaction block", SDK, "400 compaction_block_ambiguous"),
    _error("L164", "a signed compaction block needs its beta", D9, "400 not an expected content type"),
)

_SCOPES: tuple[tuple[str, tuple[WireRule, ...]], ...] = (
    ("body", _BODY),
    ("messages", _MESSAGES),
    ("system role", _SYSTEM),
    ("calls and results", _CALLS),
    ("thinking", _THINKING),
    ("tools", _TOOLS),
    ("cache markers", _MARKERS),
    ("media", _MEDIA),
    ("options", _OPTIONS),
    ("compaction", _COMPACTION),
)

RULES: dict[str, WireRule] = {rule.id: structs.replace(rule, scope=scope) for scope, rules in _SCOPES for rule in rules}
"""Every rule by its id, in reading order."""
