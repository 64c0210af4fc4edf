#!/usr/bin/env bash
# Makes the environments of the tools that bench/text_peers.py runs beside ours, one each, since their dependencies are
# not ours to carry: .bench/datatrove and .bench/text-dedup (ignored by git; `rm -rf .bench` takes them away). Versions
# are those of bench/peers/*.txt. One that can't be made is said and left out: the benchmark then says so in its table.
# A second run takes no time. text-dedup asks for Python 3.12: PEER_PYTHON names one, else one is looked for, else uv
# brings one.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PY=${PYTHON:-.venv/bin/python}
QUIET=(-q --no-input --disable-pip-version-check --progress-bar off)

modern() { # a Python of 3.12 or later, or nothing
    local candidate
    for candidate in "${PEER_PYTHON:-}" python3.12 python3.13 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python \
        .bench/pythons/*/bin/python3.12; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    [ -x .bench/uv/bin/uv ] || { "$PY" -m venv .bench/uv && .bench/uv/bin/python -m pip install "${QUIET[@]}" uv; } >&2
    UV_PYTHON_INSTALL_DIR=.bench/pythons .bench/uv/bin/uv python install -q 3.12 >&2 &&
        ls .bench/pythons/*/bin/python3.12 | head -n 1
}

peer() { # NAME PYTHON: what bench/peers/NAME.txt pins, installed once
    local name=$1 python=$2 folder=.bench/$1 pins=bench/peers/$1.txt
    if cmp -s "$pins" "$folder/.installed"; then
        printf 'peers: %s is there\n' "$name"
        return
    fi
    if [ -z "$python" ]; then
        printf 'peers: %s needs Python 3.12 or later and none is to be had: install one, or name it by PEER_PYTHON=…\n' \
            "$name" >&2
        return
    fi
    printf 'peers: installing %s\n' "$name"
    mkdir -p .bench
    "$python" -m venv --clear "$folder" || return
    # All that a peer needs is pinned, so nothing is left to resolve.
    if "$folder/bin/python" -m pip install "${QUIET[@]}" --no-deps -r "$pins" >"$folder/install.log" 2>&1; then
        cp "$pins" "$folder/.installed"
    else
        printf 'peers: %s could not be installed; the end of %s/install.log:\n' "$name" "$folder" >&2
        tail -n 4 "$folder/install.log" >&2
    fi
}

mkdir -p .bench
peer datatrove "$PY"
cmp -s bench/peers/text-dedup.txt .bench/text-dedup/.installed && NEW=python || NEW=$(modern)
peer text-dedup "$NEW"
