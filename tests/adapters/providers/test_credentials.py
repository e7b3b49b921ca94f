"""Where requests go and with what. Expected values come from the project conventions' table of variables."""

import copy
import pickle

import msgspec
import pytest

from compositor.adapters.providers.credentials import is_loopback, resolve_endpoint
from compositor.errors import ConfigError


def revealed(pairs):
    return [(name, secret.reveal()) for name, secret in pairs]


def test_without_any_variable_it_is_the_public_service_without_credentials():
    endpoint = resolve_endpoint({})
    assert endpoint.url == "https://api.anthropic.com/v1/messages"
    assert not endpoint.has_credentials
    assert endpoint.auth_headers() == ()


def test_a_key_goes_into_x_api_key_and_a_token_is_a_bearer():
    assert revealed(resolve_endpoint({"ANTHROPIC_API_KEY": "k-1"}).auth_headers()) == [("x-api-key", "k-1")]
    assert revealed(resolve_endpoint({"ANTHROPIC_AUTH_TOKEN": "t-1"}).auth_headers()) == [
        ("authorization", "Bearer t-1")
    ]


def test_empty_variables_count_as_unset():
    endpoint = resolve_endpoint({"ANTHROPIC_API_KEY": " ", "ANTHROPIC_AUTH_TOKEN": "", "ANTHROPIC_BASE_URL": ""})
    assert (endpoint.has_credentials, endpoint.url) == (False, "https://api.anthropic.com/v1/messages")


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://gateway.example", "https://gateway.example/v1/messages"),
        ("https://gateway.example/", "https://gateway.example/v1/messages"),
        ("https://gateway.example/anthropic", "https://gateway.example/anthropic/v1/messages"),
        ("https://gateway.example:8443/a/b/", "https://gateway.example:8443/a/b/v1/messages"),
        ("https://gateway.example/a?tenant=7", "https://gateway.example/a/v1/messages?tenant=7"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/messages"),
        ("http://[::1]:8080", "http://[::1]:8080/v1/messages"),
    ],
)
def test_the_path_is_joined_to_the_base(base, url):
    assert resolve_endpoint({"ANTHROPIC_BASE_URL": base}).url == url


@pytest.mark.parametrize(
    "base",
    ["gateway.example", "ftp://gateway.example", "https://", "https://user:word@gateway.example", "http://h:99999"],
)
def test_an_address_that_cannot_be_used_is_one_sentence_without_its_password(base):
    with pytest.raises(ConfigError) as caught:
        resolve_endpoint({"ANTHROPIC_BASE_URL": base})
    assert caught.value.key == "ANTHROPIC_BASE_URL"
    assert "word@" not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "warned"),
    [
        ("http://gateway.example", True),
        ("http://10.0.0.7:80", True),
        ("http://localhost:80", False),
        ("http://127.0.0.9:80", False),
        ("https://gateway.example", False),
    ],
)
def test_credentials_over_plain_http_to_another_machine_are_reported(base, warned):
    environment = {"ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": "k-1"}
    codes = [diagnostic.code for diagnostic in resolve_endpoint(environment).diagnostics]
    assert codes == (["provider.plain-http"] if warned else [])
    assert resolve_endpoint({"ANTHROPIC_BASE_URL": base}).diagnostics == ()


def test_custom_headers_are_read_line_by_line():
    text = "X-Team: core\n\nX-Trace:  a: b  \r\n"
    assert revealed(resolve_endpoint({"ANTHROPIC_CUSTOM_HEADERS": text}).headers) == [
        ("x-team", "core"),
        ("x-trace", "a: b"),
    ]


@pytest.mark.parametrize(
    "line",
    ["no colon", ": value", "bad name: x", "X-A: \u00fcber", "Content-Length: 3", "Host: h", "Transfer-Encoding: x"],
)
def test_a_custom_header_that_cannot_be_sent_is_left_out_and_reported(line):
    endpoint = resolve_endpoint({"ANTHROPIC_CUSTOM_HEADERS": f"X-Good: 1\n{line}"})
    assert revealed(endpoint.headers) == [("x-good", "1")]
    assert [(found.code, found.where) for found in endpoint.diagnostics] == [
        ("provider.custom-header", "ANTHROPIC_CUSTOM_HEADERS:2")
    ]


@pytest.mark.parametrize("value", ["k\nx-evil: 1", "k\r", "k\u201d", "k\x00"])
def test_a_credential_that_cannot_stand_in_a_header_is_refused_unseen(value):
    environment = {"ANTHROPIC_API_KEY": value + "x"}
    with pytest.raises(ConfigError) as caught:
        resolve_endpoint(environment)
    assert value not in str(caught.value)


def test_no_secret_shows_in_an_endpoint():
    endpoint = resolve_endpoint({"ANTHROPIC_API_KEY": "k-hidden", "ANTHROPIC_CUSTOM_HEADERS": "X-A: v-hidden"})
    for text in (repr(endpoint), str(endpoint), f"{endpoint}", repr(endpoint.auth_headers())):
        assert "hidden" not in text
    for act in (pickle.dumps, copy.deepcopy, msgspec.json.encode):
        with pytest.raises(TypeError):
            act(endpoint)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost", True), ("a.localhost", True), ("127.0.0.1", True), ("::1", True), ("localhost.example", False),
     ("128.0.0.1", False), ("", False)],
)  # fmt: skip
def test_what_is_this_machine(host, expected):
    assert is_loopback(host) is expected
