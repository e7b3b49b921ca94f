"""Bedrock, Vertex and Foundry against servers of this machine that check path, headers, body and signature. The clouds themselves were never tried."""

import hashlib
import hmac
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from compositor.adapters.providers.anthropic import AnthropicTransport
from compositor.adapters.providers.cloud import CloudTransport
from compositor.adapters.providers.cloud_endpoints import resolve_cloud
from compositor.config.platforms import find_platform
from compositor.context.wire.assemble import assemble
from compositor.context.wire.decode import Decoder
from compositor.emulator.aws import event_stream
from compositor.errors import ConfigError, ProviderUnavailableError

pytestmark = [pytest.mark.edges, pytest.mark.anyio]

FRONT = b'{"system":[{"type":"text","text":"s\\u00fc"}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],'
BODY = FRONT + b'"model":"claude-opus-5-5","max_tokens":100,"stream":true}'
HEADERS = [("anthropic-version", "2026-10-21"), ("anthropic-beta", "one-2026-01-01,two-2026-01-01")]
EVENTS = [
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":3}}}\n\n',
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"well"}}\n\n',
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}\n\n',
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
]
ACCESS, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


@contextmanager
def cloud_server(*, aws=False):
    """A server that keeps what it was sent: (path, headers, body). It also hands out tokens."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            if self.path == "/token":
                kind, answer = "application/json", json.dumps(
                    {"access_token": "ya29.token", "expires_in": 3600, "token_type": "Bearer"}
                ).encode()  # fmt: skip
            elif aws:
                kind, answer = "application/vnd.amazon.eventstream", b"".join(map(event_stream, EVENTS))
            else:
                kind, answer = "text/event-stream", b"".join(EVENTS)
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()


async def ask(platform, environment):
    cloud = resolve_cloud(find_platform(platform), environment)
    decoder, events = Decoder(), []
    async with (
        CloudTransport(AnthropicTransport(cloud.endpoint), cloud) as transport,
        transport.send(HEADERS, [BODY], len(BODY)) as response,
    ):
        assert response.status == 200
        async for chunk in response.chunks():
            events += decoder.feed(chunk)
    return assemble([*events, *decoder.flush()])


def signature(path, headers, body, service, region="us-east-1"):
    """SigV4 as its specification says, from what arrived: the signature that the service would expect."""
    scheme, _, rest = headers["authorization"].partition(" ")
    assert scheme == "AWS4-HMAC-SHA256"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    date = headers["x-amz-date"]
    scope = f"{date[:8]}/{region}/{service}/aws4_request"
    assert parts["Credential"] == f"{ACCESS}/{scope}"
    names = parts["SignedHeaders"].split(";")
    assert {"host", "x-amz-date", "content-type"} <= set(names)
    canonical = "\n".join(
        ["POST", path.replace(":", "%3A"), "", *(f"{name}:{' '.join(headers[name].split())}" for name in names), "",
         ";".join(names), hashlib.sha256(body).hexdigest()]
    )  # fmt: skip
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{SECRET}".encode()
    for word in (date[:8], region, service, "aws4_request"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    return parts["Signature"], hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


@pytest.fixture
def aws(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    for name in ("AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    return {"AWS_REGION": "us-east-1"}


async def test_bedrock_takes_the_same_bytes_under_a_signature(aws):
    with cloud_server() as (url, seen):
        message = await ask("bedrock", {**aws, "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": f"{url}/anthropic"})
    assert message.stop_reason == "end_turn"
    ((path, headers, body),) = seen
    assert (path, body) == ("/anthropic/v1/messages", BODY)
    assert headers["anthropic-version"] == "2026-10-21"
    given, expected = signature(path, headers, body, "bedrock-mantle")
    assert given == expected


async def test_the_older_bedrock_has_model_version_and_betas_elsewhere_and_answers_in_its_own_stream(aws):
    with cloud_server(aws=True) as (url, seen):
        message = await ask("bedrock-legacy", {**aws, "ANTHROPIC_BEDROCK_BASE_URL": url})
    assert [block.text for block in message.content] == ["well"]
    ((path, headers, body),) = seen
    assert path == "/model/claude-opus-5-5/invoke-with-response-stream"
    assert body.startswith(FRONT), "tools, system and messages keep their bytes"
    sent = json.loads(body)
    assert {name: sent[name] for name in ("anthropic_version", "anthropic_beta", "max_tokens")} == {
        "anthropic_version": "2026-10-21",
        "anthropic_beta": ["one-2026-01-01", "two-2026-01-01"],
        "max_tokens": 100,
    }
    assert not {"model", "stream"} & set(sent)
    assert not {"anthropic-version", "anthropic-beta"} & set(headers)
    given, expected = signature(path, headers, body, "bedrock")
    assert given == expected


async def test_a_bearer_key_takes_the_place_of_the_signature(aws):
    with cloud_server() as (url, seen):
        await ask(
            "bedrock", {**aws, "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": url, "AWS_BEARER_TOKEN_BEDROCK": "bearer-key"}
        )
    assert seen[0][1]["authorization"] == "Bearer bearer-key"
    assert "x-amz-date" not in seen[0][1]


async def test_the_key_of_the_first_party_service_never_goes_to_a_cloud(aws):
    own = {"ANTHROPIC_API_KEY": "sk-first-party", "ANTHROPIC_AUTH_TOKEN": "token-first-party"}
    with cloud_server() as (url, seen):
        await ask("bedrock", {**aws, **own, "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": url})
    assert "first-party" not in str(seen)


async def test_vertex_fetches_a_token_once_and_names_project_place_and_model(tmp_path, monkeypatch):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    with cloud_server() as (url, seen):
        account = {
            "type": "service_account", "project_id": "p-1", "private_key_id": "k", "private_key": pem,
            "client_email": "a@p-1.example", "client_id": "1", "token_uri": f"{url}/token",
        }  # fmt: skip
        file = tmp_path / "account.json"
        file.write_text(json.dumps(account), encoding="utf-8")
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        place = {"CLOUD_ML_REGION": "us-east5", "ANTHROPIC_VERTEX_PROJECT_ID": "p-1"}
        message = await ask("vertex", {**place, "ANTHROPIC_VERTEX_BASE_URL": f"{url}/v1"})
    assert message.stop_reason == "end_turn"
    (token, _, grant), (path, headers, body) = seen
    assert (token, "assertion" in parse_qs(grant.decode())) == ("/token", True)
    assert path == ("/v1/projects/p-1/locations/us-east5/publishers/anthropic/models/claude-opus-5-5:streamRawPredict")
    assert headers["authorization"] == "Bearer ya29.token"
    assert headers["anthropic-beta"] == "one-2026-01-01,two-2026-01-01"
    assert body.startswith(FRONT)
    sent = json.loads(body)
    assert (sent["anthropic_version"], sent["stream"], "model" in sent) == ("2026-10-21", True, False)


async def test_foundry_takes_the_same_bytes_with_its_key():
    with cloud_server() as (url, seen):
        message = await ask(
            "foundry", {"ANTHROPIC_FOUNDRY_BASE_URL": f"{url}/anthropic", "ANTHROPIC_FOUNDRY_API_KEY": "f-key"}
        )
    assert message.stop_reason == "end_turn"
    ((path, headers, body),) = seen
    assert (path, body) == ("/anthropic/v1/messages", BODY)
    assert (headers["x-api-key"], headers["api-key"]) == ("f-key", "f-key")


async def test_credentials_that_are_missing_are_one_sentence(aws, monkeypatch, tmp_path):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    from anthropic.lib.aws import _auth

    _auth._get_session.cache_clear()
    with pytest.raises(ProviderUnavailableError, match="could not be signed: Could not resolve AWS credentials"):
        await ask("bedrock", {**aws, "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": "http://127.0.0.1:9"})
    _auth._get_session.cache_clear()


@pytest.mark.parametrize(
    ("platform", "missing"),
    [
        ("bedrock", "AWS_REGION"),
        ("vertex", "CLOUD_ML_REGION"),
        ("foundry", "ANTHROPIC_FOUNDRY_RESOURCE"),
    ],
)
def test_what_is_missing_is_named(platform, missing):
    with pytest.raises(ConfigError) as caught:
        resolve_cloud(find_platform(platform), {})
    assert caught.value.key == missing
