"""`compositor emulator` as a process of its own: address, script, records that `compositor check` reads, and its end."""

import json
import os
import re
import signal
import subprocess
import sys

import httpx2
import pytest

pytestmark = pytest.mark.edges

BODY = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
HEADERS = {"anthropic-version": "2026-10-21", "x-api-key": "k-secret"}


def compositor(*arguments, **more):
    return [sys.executable, "-m", "compositor", *arguments], {
        "env": {**os.environ, "PYTHONUNBUFFERED": "1"},
        "text": True,
        **more,
    }


@pytest.fixture
def served(tmp_path):
    script = tmp_path / "play.yaml"
    script.write_text("turns: [{say: from the script}, {say: slow, faults: [{stall: 2}]}]", encoding="utf-8")
    command, more = compositor("emulator", "--script", str(script), "--record", str(tmp_path / "records"))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    try:
        line = process.stdout.readline()
        found = re.match(r"Listening on (http://127\.0\.0\.1:\d+) as claude-api\. No model is called\.", line)
        assert found, line
        yield found[1], process, tmp_path / "records"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_it_answers_writes_down_and_ends(served):
    url, process, records = served
    answer = httpx2.post(f"{url}/v1/messages", json=BODY, headers=HEADERS).json()
    assert answer["content"] == [{"type": "text", "text": "from the script"}]
    refused = httpx2.post(f"{url}/v1/messages", json={**BODY, "messages": []}, headers=HEADERS)
    assert refused.status_code == 400
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(f"{url}/v1/messages", json={**BODY, "stream": True}, headers=HEADERS, timeout=0.3)
    files = sorted(records.iterdir())
    assert [file.name for file in files] == ["0001.json", "0002.json", "0003.json"]
    assert "k-secret" not in "".join(file.read_text(encoding="utf-8") for file in files)
    first = json.loads(files[0].read_bytes())
    assert (first["status"], first["body"], first["path"]) == (200, BODY, "/v1/messages")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) in {0, 130, -signal.SIGINT}


def test_the_check_command_reads_the_records(served):
    url, _, records = served
    httpx2.post(f"{url}/v1/messages", json=BODY, headers=HEADERS)
    httpx2.post(f"{url}/v1/messages", json={**BODY, "messages": []}, headers=HEADERS)
    codes = []
    for name in ("0001.json", "0002.json"):
        command, more = compositor("check", str(records / name))
        result = subprocess.run(command, capture_output=True, check=False, **more)
        codes.append((result.returncode, "L02" in result.stdout))
    assert codes == [(0, False), (1, True)]


def test_a_port_that_is_taken_is_one_sentence(served):
    url, _, _ = served
    command, more = compositor("emulator", "--port", url.rpartition(":")[2])
    result = subprocess.run(command, capture_output=True, check=False, **more)
    assert result.returncode == 2
    assert re.match(r"Error: the port \d+ of '127\.0\.0\.1' cannot be used", result.stderr, re.IGNORECASE)
    assert "Traceback" not in result.stderr


def test_an_unknown_platform_is_one_sentence():
    command, more = compositor("emulator", "--platform", "moon")
    result = subprocess.run(command, capture_output=True, check=False, **more)
    assert (result.returncode, "There is no platform 'moon'" in result.stderr) == (2, True)
