#!/bin/sh
# Makes .venv hold what one lock file says, and this project itself, editable. Usage: scripts/setup.sh run|dev|edges|corpus
# Called by the Makefile when a lock or pyproject.toml is newer than the stamp it leaves.
set -eu
cd "$(dirname "$0")/.."
lock=$1
# Imports without compiled bytecode take twice as long, and the start-up promise is measured with it.
unset PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONHOME
export PIP_DISABLE_PIP_VERSION_CHECK=1

usable() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        if usable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "compositor needs Python 3.11 or newer, and ${PYTHON:-no python3 on PATH} is not one." >&2
    echo "Install it, or name it: make PYTHON=/path/to/python3.11 ..." >&2
    return 1
}

if ! usable .venv/bin/python; then
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        echo "The venv module of $python is incomplete (on Debian and Ubuntu: install the package python3-venv)." >&2
        exit 1
    fi
    "$python" -m venv --clear .venv
fi

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    .venv/bin/python -m ensurepip --upgrade >/dev/null
fi

echo "Installing $(grep -c '==' "requirements/$lock.txt") packages from requirements/$lock.txt into .venv ..."
.venv/bin/python -m pip install -qq --compile --require-hashes -r "requirements/$lock.txt"
.venv/bin/python -m pip install -qq --no-deps --no-build-isolation --no-index -e .
if [ "$lock" = edges ]; then
    # MCP servers written in JavaScript, for the edge tests alone.
    if ! command -v npm >/dev/null 2>&1; then
        echo "The edge tests need npm (on Debian and Ubuntu: install the packages nodejs and npm)." >&2
        exit 1
    fi
    mkdir -p .venv/mcp-servers
    cp requirements/servers/package.json requirements/servers/package-lock.json .venv/mcp-servers/
    (cd .venv/mcp-servers && npm ci --silent --no-audit --no-fund --ignore-scripts)
fi
# The package's own bytecode, so that the first command is as quick as the second.
.venv/bin/python -m compileall -q src

case $lock in
    run) touch .venv/.run-stamp ;;
    dev) touch .venv/.run-stamp .venv/.dev-stamp ;;
    *) touch .venv/.run-stamp .venv/.dev-stamp ".venv/.$lock-stamp" ;;
esac
