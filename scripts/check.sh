#!/usr/bin/env bash
# Lint, format, types: what `make check` runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
BIN=.venv/bin

echo "check: ruff (lint)"
"$BIN/ruff" check --quiet .
echo "check: ruff (format)"
"$BIN/ruff" format --check --quiet . || {
    echo "check: these files are not formatted; run: $BIN/ruff format ." >&2
    "$BIN/ruff" format --check . >&2
    exit 1
}
echo "check: mypy --strict (data, curriculum, trivium)"
"$BIN/python" scripts/typecheck.py
echo "check: all is well"
