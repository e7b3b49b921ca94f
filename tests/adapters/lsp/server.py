"""A small language server for tests, over standard input and output, without any library.

It knows one symbol, `twice`, wherever that stands in a file it was shown. What a `hover` finds behind the word says how it misbehaves.
"""

import json
import sys
import time


def read():
    length = 0
    while (line := sys.stdin.buffer.readline().strip()) != b"":
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not length:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(length))


def say(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def places(documents):
    for uri, text in documents.items():
        for number, line in enumerate(text.split("\n")):
            if (at := line.find("twice")) >= 0:
                yield {
                    "uri": uri,
                    "range": {"start": {"line": number, "character": at}, "end": {"line": number, "character": at + 5}},
                }


def misbehave(line):
    if "crash" in line:
        sys.exit(4)
    if "garbage" in line:
        sys.stdout.buffer.write(b"Content-Length: 5\r\n\r\nnoise")
        sys.stdout.buffer.flush()
    if "slow" in line:
        time.sleep(60)
    if "asks" in line:
        say({"id": 900, "method": "workspace/configuration", "params": {"items": [{}, {}]}})
        return json.dumps(read()["result"])
    return None


def answer(method, params, documents):
    if method == "initialize":
        return {"capabilities": {"referencesProvider": True, "hoverProvider": True, "positionEncoding": "utf-32"}}
    if method == "textDocument/references":
        return list(places(documents))
    line = documents[params["textDocument"]["uri"]].split("\n")[params["position"]["line"]]
    return {"contents": {"kind": "plaintext", "value": misbehave(line) or line[params["position"]["character"] :]}}


def main():
    documents = {}
    while True:
        message = read()
        method, params = message["method"], message.get("params") or {}
        if method == "textDocument/didOpen":
            documents[params["textDocument"]["uri"]] = params["textDocument"]["text"]
        elif method == "textDocument/didChange":
            documents[params["textDocument"]["uri"]] = params["contentChanges"][0]["text"]
        elif "id" in message:
            say({"id": message["id"], "result": answer(method, params, documents)})


if __name__ == "__main__":
    main()
