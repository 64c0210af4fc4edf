#!/usr/bin/env bash
# Makes the environments of the tools that bench/text_peers.py runs beside ours, one each, since their dependencies are
# not ours to carry: .bench/datatrove and .bench/text-dedup (ignored by git; `rm -rf .bench` takes them away). One that
# can't be made is said and left out: the benchmark then says so in its table. A second run takes no time.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PY=${PYTHON:-.venv/bin/python}

peer() { # NAME PACKAGE…
    local name=$1 folder=.bench/$1
    shift
    if [ "$(cat "$folder/.installed" 2>/dev/null)" = "$*" ]; then
        printf 'peers: %s is there\n' "$name"
        return
    fi
    printf 'peers: installing %s (%s)\n' "$name" "$*"
    mkdir -p .bench
    "$PY" -m venv --clear "$folder" || return
    if "$folder/bin/python" -m pip install -q --no-input --disable-pip-version-check --progress-bar off "$@" \
        >"$folder/install.log" 2>&1; then
        printf '%s\n' "$*" >"$folder/.installed"
    else
        printf 'peers: %s could not be installed; the end of %s/install.log:\n' "$name" "$folder" >&2
        tail -n 4 "$folder/install.log" >&2
    fi
}

# What datatrove's filters, readers and extractors import when they are used, beside what it asks for itself.
peer datatrove 'datatrove==0.10.1' spacy nltk fasteners fasttext-numpy2-wheel trafilatura lxml_html_clean warcio \
    python-magic faust-cchardet orjson 'xxhash<4' regex ftfy
# text-dedup asks for TensorFlow and Spark, which its MinHash never imports; and 0.4.1 asks for Python 3.12.
peer text-dedup bitarray 'click<9' 'click-option-group<0.6' datasets ftfy numpy psutil pybloom-live regex 'rich<14' scipy \
    setuptools tqdm xxhash zstandard
[ ! -f .bench/text-dedup/.installed ] || .bench/text-dedup/bin/python -m pip install -q --no-input --no-deps \
    --disable-pip-version-check 'text-dedup==0.4.0' 2>>.bench/text-dedup/install.log
