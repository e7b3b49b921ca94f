"""A small MCP server for tests, over standard input and output, without any library: one JSON message a line.

Its list of tools is read from a file before each listing, so that a test can change it; `crash` ends the process, `told` says what stands in `TOLD`.
"""

import json
import os
import sys
from pathlib import Path

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
VERSION = "2025-11-25"


def tools(path):
    names = json.loads(Path(path).read_text("utf-8"))
    return [{"name": name, "description": f"Does {name}. More words.", "inputSchema": SCHEMA} for name in names]


def call(name, arguments):
    if name == "crash":
        sys.exit(3)
    if name == "fail":
        return {"content": [{"type": "text", "text": "it went wrong"}], "isError": True}
    if name == "told":
        return {"content": [{"type": "text", "text": os.environ["TOLD"]}]}
    if name == "long":
        return {"content": [{"type": "text", "text": "[" + "word " * int(arguments.get("text", "10")) + "]"}]}
    return {"content": [{"type": "text", "text": f"{name}: {arguments.get('text', '')}"}]}


def answer(message, path):
    method, given = message["method"], message.get("params") or {}
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}, "prompts": {}}
        return {
            "protocolVersion": VERSION,
            "capabilities": capabilities,
            "serverInfo": {"name": "test", "version": "1"},
            "instructions": "Call echo first.",
        }
    if method == "tools/list":
        return {"tools": tools(path)}
    if method == "prompts/list":
        return {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]}
    if method == "prompts/get":
        text = f"Greet {given['arguments']['who']} kindly."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    if method == "tools/call":
        return call(given["name"], given.get("arguments") or {})
    return None


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main(path):
    known = Path(path).read_text("utf-8")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message, path)
        reply = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
        say({"id": message["id"], **reply})
        if message["method"] == "tools/call" and Path(path).read_text("utf-8") != known:
            known = Path(path).read_text("utf-8")
            say({"method": "notifications/tools/list_changed"})


if __name__ == "__main__":
    main(sys.argv[1])
