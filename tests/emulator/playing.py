"""The stand-in asked in process: one request in, its reply read."""

import json

from compositor.emulator.core import Data, Emulator, Request
from compositor.emulator.profile import catalog
from compositor.emulator.script import parse_script

HI = {"role": "user", "content": "hi"}
READ = {"name": "Read", "description": "d", "input_schema": {"type": "object"}}
EDITS = "context-management-2025-06-27,compact-2026-01-12"
BASE = {"model": "claude-sonnet-5-5", "max_tokens": 1000, "messages": [HI]}


def play(script="{repeat: true, turns: [{say: ok}]}", profile=None, platform="claude-api"):
    return Emulator(parse_script(script), profile or catalog(platform))


def send(emulator, path="/v1/messages", method="POST", betas="", headers=None, **body):
    sent = {"anthropic-version": "2026-10-21", "anthropic-beta": betas, **(headers or {})}
    data = json.dumps(body).encode() if body else b""
    return emulator.answer(Request(method=method, path=path, headers=sent, body=data))


def data_of(reply):
    return b"".join(step.data for step in reply.steps if isinstance(step, Data))


def ask(emulator, **more):
    reply = send(emulator, **{**BASE, **more})
    return reply.status, json.loads(data_of(reply))


def events(reply):
    return [json.loads(line[6:]) for line in data_of(reply).decode().splitlines() if line.startswith("data: ")]
