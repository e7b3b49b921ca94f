"""Wire rules without a case file of their own: the smallest illegal body, and its nearest legal neighbor."""

import base64
import copy

import pytest

from compositor.emulator.profile import ServiceProfile
from compositor.emulator.rules import check_request

PROFILE = ServiceProfile(system_role=True, prefill=True)
INLINE = "inline-tools-2026-09-15"
CHANGES = "mid-conversation-tool-changes-2026-07-01"
FALLBACK = "server-side-fallback-2026-07-01"
MCP = "mcp-client-2026-09-15"
SUMMARY = "compact-2026-09-04"
HI = {"role": "user", "content": "hi"}
SCHEMA = {"type": "object"}
READ = {"name": "Read", "input_schema": SCHEMA}
MARK = {"type": "ephemeral"}
CALL = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
WEB = {"type": "web_search_20250305", "name": "web_search"}
THOUGHT = {"type": "thinking", "thinking": "x", "signature": "s"}
PDF = base64.b64encode(b"%PDF-1.7 trailer <<>>").decode()
LOCKED = base64.b64encode(b"%PDF-1.7 trailer <</Encrypt 1 0 R>>").decode()
# The head of a PNG of 3,000 by 10 pixels.
WIDE = base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x0b\xb8\x00\x00\x00\x0a").decode()


def body(*messages, **fields):
    return {"model": "m", "max_tokens": 100, "messages": list(messages or [HI]), **fields}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def addition(tool, **more):
    return {"role": "system", "content": [{"type": "tool_addition", "tool": tool, **more}]}


def definition(**fields):
    return {"type": "tool_definition", "definition": {"name": "New", "input_schema": SCHEMA, **fields}}


def reference(name):
    return {"type": "tool_reference", "name": name}


def strict(optional):
    return {**READ, "strict": True, "input_schema": {**SCHEMA, "properties": {f"p{n}": {} for n in range(optional)}}}


def pdf(data):
    return user({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}})


def image(**more):
    return user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": WIDE}, **more})


SERVERS = [{"type": "url", "name": "docs", "url": "https://example.com"}]
TOOLSET = {"type": "mcp_toolset", "mcp_server_name": "docs"}
LATER = {**READ, "name": "docs_find", "defer_loading": True}

# rule, illegal, legal, betas
CASES = [
    ("L17", body(HI, assistant(), HI), body(HI, assistant({"type": "text", "text": "a"}), HI), ""),
    ("L47", body(HI, addition(reference("docs_find")), tools=[READ, TOOLSET], mcp_servers=SERVERS),
     body(HI, addition({"type": "mcp_tool_reference", "server_name": "docs", "name": "find"}), tools=[READ, TOOLSET],
          mcp_servers=SERVERS), f"{CHANGES},{MCP}"),
    ("L48", body(HI, addition(definition(name="bash")), tools=[{"type": "bash_20250124", "name": "bash"}]),
     body(HI, addition(definition(name="bash", type="bash_20260301")), tools=[{"type": "bash_20250124", "name": "bash"}]), INLINE),
    ("L49", body(HI, addition(definition()), tools=[READ]), body(HI, addition(reference("Read")), tools=[READ]), CHANGES),
    ("L50", body(HI, addition(definition(cache_control=MARK), cache_control=MARK), tools=[READ]),
     body(HI, addition(definition(cache_control=MARK)), tools=[READ]), INLINE),
    ("L50", body(HI, addition(definition(cache_control=MARK, defer_loading=True)), tools=[READ]),
     body(HI, addition(definition(defer_loading=True)), tools=[READ]), INLINE),
    ("L51", body(HI, addition(definition(description="d" * 4_194_304)), tools=[READ]),
     body(HI, addition(definition(description="d" * 4_194_000)), tools=[READ]), INLINE),
    ("L69", body(HI, assistant(SEARCH), tools=[READ]), body(HI, assistant(SEARCH), tools=[READ, WEB]), ""),
    ("L73", body(HI, assistant(THOUGHT, {"type": "fallback"}, {"type": "text", "text": "a"}), HI),
     body(HI, assistant({"type": "fallback"}, THOUGHT, {"type": "text", "text": "a"}), HI), FALLBACK),
    ("L73", body(HI, assistant(SEARCH, {"type": "fallback"}, {"type": "text", "text": "a"}), HI, tools=[WEB]),
     body(HI, assistant(SEARCH, FOUND, {"type": "fallback"}, {"type": "text", "text": "a"}), HI, tools=[WEB]), FALLBACK),
    ("L09", body(assistant({"type": "compaction", "content": "s", "signature": "x", "citations": None}), HI),
     body(assistant({"type": "compaction", "content": "s", "signature": "x", "encrypted_content": None}), HI), SUMMARY),
    ("L104", body(tools=[strict(25)]), body(tools=[strict(24)]), ""),
    ("L104", body(tools=[{**strict(0), "name": f"T{n}"} for n in range(21)]),
     body(tools=[{**strict(0), "name": f"T{n}"} for n in range(20)]), ""),
    ("L110", body(tools=[READ, {"type": "computer_toolset_20260501", "defer_loading": True}]),
     body(tools=[READ, {"type": "computer_toolset_20260501"}]), ""),
    ("L111", body(tools=[READ, TOOLSET]), body(tools=[READ, TOOLSET], mcp_servers=SERVERS), MCP),
    ("L145", body(pdf(LOCKED)), body(pdf(PDF)), ""),
    ("L145", body(pdf("eA==")), body(pdf(PDF)), ""),
    ("L146", body(image(transformations={"oversized_image": "error"})), body(image(transformations={"oversized_image": "downsize"})), ""),
    ("L157", body(HI, assistant(CALL), user(RESULT), assistant({**CALL, "id": "t2"}), tools=[READ], compaction={"type": "summarize"}),
     body(HI, assistant(CALL), user(RESULT), tools=[READ], compaction={"type": "summarize"}), SUMMARY),
    ("L161", body({"role": "system", "content": "a"}, compaction={"type": "summarize"}), body(compaction={"type": "summarize"}), SUMMARY),
]  # fmt: skip
# The same body under the number that its message has.
SAID = {"L17": "L06"}


@pytest.mark.parametrize(
    ("rule", "illegal", "legal", "betas"), CASES, ids=[f"{case[0]}-{n}" for n, case in enumerate(CASES)]
)
def test_the_smallest_illegal_body_and_its_legal_neighbor(rule, illegal, legal, betas):
    headers = {"anthropic-version": "2026-10-21", "anthropic-beta": betas}
    found = check_request(copy.deepcopy(illegal), headers, PROFILE)
    assert found is not None
    assert (found.status, found.rule) == (400, SAID.get(rule, rule)), found.message
    assert check_request(copy.deepcopy(legal), headers, PROFILE) is None


def test_models_without_adaptive_thinking_want_it_first():
    headers = {"anthropic-version": "2026-10-21"}
    late = body(HI, assistant({"type": "text", "text": "a"}, THOUGHT), HI)
    old = ServiceProfile(thinking=("enabled", "disabled"))
    assert check_request(late, headers, old).rule == "L86"
    assert check_request(body(HI, assistant(THOUGHT, {"type": "text", "text": "a"}), HI), headers, old) is None
    assert check_request(late, headers, ServiceProfile(thinking=("adaptive",))) is None


def test_only_base64_where_a_platform_fetches_nothing():
    headers = {"anthropic-version": "2026-10-21"}
    closed = ServiceProfile(image_urls=False)
    document = user({"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}})
    picture = user({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}})
    assert check_request(body(document), headers, closed).rule == "L145"
    assert check_request(body(picture), headers, closed).rule == "L144"
    assert check_request(body(document, picture), headers, PROFILE) is None
