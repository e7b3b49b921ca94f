"""OAuth for an MCP server over HTTP: discovery, registration, login in a browser, private tokens, and their use afterwards."""

import base64
import contextlib
import hashlib
import json
import secrets
import socket
import threading
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from compositor.adapters.mcp.login import TokenFile, log_in, stored_auth
from compositor.adapters.mcp.servers import McpServers
from compositor.adapters.mcp.transports import ServerSurroundings
from compositor.types.servers import McpServer, ServerScope, ServerTransport

pytestmark = [pytest.mark.edges, pytest.mark.anyio]

VERSION = "2025-11-25"


class Guarded:
    """An authorization server and an MCP server behind it, in one application."""

    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}"
        self.codes = {}
        self.tokens = set()
        self.logins = 0

    async def resource(self, _request):
        return JSONResponse({"resource": f"{self.base}/mcp", "authorization_servers": [self.base]})

    async def metadata(self, _request):
        return JSONResponse(
            {
                "issuer": self.base,
                "authorization_endpoint": f"{self.base}/authorize",
                "token_endpoint": f"{self.base}/token",
                "registration_endpoint": f"{self.base}/register",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }
        )

    async def register(self, request):
        asked = json.loads(await request.body())
        return JSONResponse({**asked, "client_id": "client-1"}, status_code=201)

    async def authorize(self, request):
        self.logins += 1
        code = secrets.token_hex(8)
        self.codes[code] = request.query_params["code_challenge"]
        answer = urlencode({"code": code, "state": request.query_params["state"]})
        return RedirectResponse(f"{request.query_params['redirect_uri']}?{answer}", status_code=302)

    async def token(self, request):
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if self.codes.pop(form["code"], None) != proof:
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        token = secrets.token_hex(16)
        self.tokens.add(token)
        return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": 3600})

    async def mcp(self, request):
        if request.headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            where = f'Bearer resource_metadata="{self.base}/.well-known/oauth-protected-resource/mcp"'
            return Response(status_code=401, headers={"www-authenticate": where})
        if request.method != "POST":
            return Response(status_code=405)
        message = json.loads(await request.body())
        if "id" not in message:
            return Response(status_code=202)
        results = {
            "initialize": {
                "protocolVersion": VERSION,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "secret", "inputSchema": {"type": "object"}}]},
        }
        found = results.get(message["method"])
        reply = {"result": found} if found else {"error": {"code": -32601, "message": "no such method"}}
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], **reply})

    def app(self):
        return Starlette(
            routes=[
                Route("/.well-known/oauth-protected-resource/mcp", self.resource),
                Route("/.well-known/oauth-authorization-server", self.metadata),
                Route("/register", self.register, methods=["POST"]),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
                Route("/mcp", self.mcp, methods=["GET", "POST", "DELETE"]),
            ]
        )


@pytest.fixture
def guarded():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    service = Guarded(listener.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(service.app(), log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield service
    server.should_exit = True
    thread.join()
    listener.close()


async def listed(server, home, auth):
    around = ServerSurroundings(roots=(str(home),), home=str(home), env={"MCP_TIMEOUT": "20000"})
    servers = McpServers((server,), around, auth=lambda _server: auth)
    async with servers.running():
        (listing,) = await servers.listings(30)
        return listing


async def test_a_login_gives_tokens_that_later_sessions_use(guarded, tmp_path):
    server = McpServer(
        name="guarded",
        scope=ServerScope.USER,
        file="test",
        transport=ServerTransport.HTTP,
        url=f"{guarded.base}/mcp",
        digest="d" * 64,
    )
    assert stored_auth(server, tmp_path) is None
    refused = await listed(server, tmp_path, None)
    assert refused.problem
    assert not refused.tools

    def browser(address):
        """What a person's browser does: opens the address and follows where it leads."""
        with contextlib.suppress(httpx2.HTTPError), httpx2.Client(follow_redirects=True, trust_env=False) as client:
            client.get(address)

    async with anyio.create_task_group() as tasks:
        auth = await log_in(
            server, tmp_path, lambda address: tasks.start_soon(anyio.to_thread.run_sync, browser, address)
        )
        entered = await listed(server, tmp_path, auth)
    assert [tool.definition.name for tool in entered.tools] == ["mcp__guarded__secret"], entered.problem
    assert guarded.logins == 1
    (file,) = [path async for path in anyio.Path(tmp_path, "mcp-tokens").iterdir()]
    assert (await file.stat()).st_mode & 0o077 == 0
    assert urlsplit(server.url).hostname in file.name
    assert TokenFile(tmp_path, server).exists
    again = await listed(server, tmp_path, stored_auth(server, tmp_path))
    assert [tool.definition.name for tool in again.tools] == ["mcp__guarded__secret"]
    assert guarded.logins == 1
