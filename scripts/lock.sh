#!/bin/sh
# Writes the hash-pinned lock files from pyproject.toml. No index or file address ever stands in them: a lock says what to
# install, the machine says from where. Pass --upgrade to take newer versions; without it, pins are kept where they still fit.
set -eu
cd "$(dirname "$0")/.."
uv=.venv/bin/uv

lock() { # lock NAME [arguments...]
    name=$1
    shift
    "$uv" pip compile pyproject.toml --output-file "requirements/$name.txt" --quiet --universal --python-version 3.11 \
        --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header "$@"
    echo "requirements/$name.txt"
}

# Each lock holds the whole of the one before it at the same versions, so that a later set-up only adds.
lock run --group build "$@"
lock dev --group build --group dev --constraints requirements/run.txt "$@"
lock edges --group build --group dev --group edges --constraints requirements/dev.txt "$@"
lock corpus --group build --group dev --group corpus --constraints requirements/dev.txt "$@"
