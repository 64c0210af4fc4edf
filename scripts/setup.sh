#!/usr/bin/env bash
# Makes .venv ready for work: system packages, a virtual environment, pinned Python packages, trivium itself (editable).
# Safe to interrupt and to run again; a stamp inside .venv makes the second run take no time.
#
#   PYTHON=/path/to/python3.12 scripts/setup.sh      choose the interpreter (3.11 or 3.12)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

EXTRAS="build,train,video,cad,web,rephrase,dev" # no cluster, no shards at other addresses than tests need
VENV=.venv
STAMP=$VENV/.trivium-setup

say() { printf 'setup: %s\n' "$*"; }
die() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

find_python() { # prints the first interpreter that is 3.11 or 3.12, or fails naming what was found
    local candidate version found=""
    for candidate in ${PYTHON:-python3.11 python3.12 python3}; do
        version=$(version_of "$candidate") || continue
        case $version in
        3.11 | 3.12) command -v "$candidate" && return ;;
        *) found="$found $candidate is $version;" ;;
        esac
    done
    die "Trivium needs Python 3.11 or 3.12; found:${found:- none that runs${PYTHON:+ under PYTHON=$PYTHON}}" \
        "install one of them (Debian 12: apt-get install python3.11-venv; Ubuntu 24.04: apt-get install python3.12-venv)" \
        "or name one that you have: make setup PYTHON=/path/to/python3.12"
}

missing_packages() { # the system packages whose work can't be done yet, one a line
    "$PY" -c 'import ensurepip, venv' 2>/dev/null || echo "python$(version_of "$PY")-venv"
    "$PY" -c 'import ctypes; ctypes.CDLL("libcairo.so.2")' 2>/dev/null || echo libcairo2
    command -v bwrap >/dev/null || echo bubblewrap
}

missing_engines() { # the system packages that draw the programmatic corpora and aren't here, one a line
    [ -e /usr/lib/chromium/chromium ] || echo chromium
    command -v povray >/dev/null || printf '%s\n' povray povray-includes
    command -v openscad >/dev/null || echo openscad
    # VTK draws without a display through these.
    "$PY" -c 'import ctypes; [ctypes.CDLL(f"lib{n}") for n in ("EGL.so.1", "GL.so.1", "Xcursor.so.1")]' 2>/dev/null ||
        printf '%s\n' libegl1 libgl1 libgl1-mesa-dri libxcursor1
    [ -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ] || echo fonts-dejavu-core
    [ -e /usr/share/fonts/truetype/noto/NotoSans-Regular.ttf ] || echo fonts-noto-core
}

can_install() { # through apt, as root or with passwordless sudo
    command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

as_root() { # COMMAND…
    local sudo=sudo
    [ "$(id -u)" != 0 ] || sudo=""
    $sudo env DEBIAN_FRONTEND=noninteractive "$@"
}

apt_install() { as_root apt-get install -y -qq --no-install-recommends "$@"; }

install_packages() { # PACKAGE…: through apt as root or with passwordless sudo, else says the command and stops
    if ! can_install; then
        die "system packages are missing: $*" \
            "run: sudo apt-get update && sudo apt-get install -y --no-install-recommends $*" \
            "(no apt here? install what your system calls them), then run the same make command again"
    fi
    say "installing system packages: $*"
    local log
    log=$(mktemp)
    # A failing update is no reason to stop: the lists at hand may do.
    as_root apt-get update -qq >"$log" 2>&1 || true
    if ! apt_install "$@" >>"$log" 2>&1; then
        tail -n 15 "$log" >&2
        die "apt could not install: $*" "mend what it says above, then run the same make command again"
    fi
    rm -f "$log"
}

install_engines() { # PACKAGE…: what can be had of them; only programmatic corpora need them, so none stops us
    local package
    {
        as_root apt-get update -qq || true
        apt_install "$@" || for package in "$@"; do apt_install "$package" || true; done
    } >/dev/null 2>&1
}

pip() { "$VENV/bin/python" -m pip "$@"; }

pip_install() { # errors only: pip's warnings about a machine's own configuration are not ours to repeat
    pip install -qq --no-input --no-compile --disable-pip-version-check --progress-bar off -c constraints.txt "$@" ||
        die "pip could not install: $*" \
            "pip says \`conflicting dependencies\` also when it can't find a version: no network? no build for this machine?" \
            "mend it (disk full?), then run the same make command again"
}

key() { # what the environment depends on: these files, the interpreter, and where the checkout stands
    {
        cat pyproject.toml setup.py constraints.txt scripts/setup.sh
        "$PY" -c 'import sys; print(sys.version, sys.executable)'
        pwd -P
    } | sha256sum | cut -d' ' -f1
}

whole() { # is every package of the extras still there? Someone may have taken one away
    "$VENV/bin/python" - "$EXTRAS" <<'PYTHON' 2>/dev/null
import sys
from importlib import metadata

from trivium.needs import requirements

for extra in ("core", *sys.argv[1].split(",")):
    for name in requirements()[extra]:
        metadata.version(name)
PYTHON
}

compile_packages() { # what pip would do on one core, here on all, and without the libraries' own tests
    # Ours too: where PYTHONDONTWRITEBYTECODE is set, every process would compile hundreds of files again.
    "$VENV/bin/python" -W ignore -m compileall -qq -j 0 -x '/tests?/|_test[.]py$|/(moto|phonenumbers)/' \
        trivium data vision model kernels curriculum pipelines \
        "$VENV"/lib/python*/site-packages || true # some hold files for other versions of Python; pip says nothing either
}

make_venv() {
    local wanted
    wanted=$(version_of "$PY")
    if [ "$(version_of "$VENV/bin/python")" = "$wanted" ] && pip --version >/dev/null 2>&1; then
        # An interrupted pip leaves packages without a RECORD that it would later take for whole.
        find "$VENV"/lib/python*/site-packages -maxdepth 1 -name '*.dist-info' -type d |
            while read -r info; do [ -f "$info/RECORD" ] || rm -rf "$info"; done
        rm -rf "$VENV"/lib/python*/site-packages/~*
    else
        say "making $VENV with Python $wanted ($PY)"
        "$PY" -m venv --clear "$VENV"
    fi
}

main() {
    exec 9<"$PWD/scripts/setup.sh"
    # Two make commands at once: the second waits and finds the work done.
    flock -n 9 || { say "another set-up works here; waiting for its end" && flock 9; }
    PY=$(find_python)
    local wanted packages
    wanted=$(key)
    if [ "$(cat "$STAMP" 2>/dev/null)" = "$wanted" ] && [ -x "$VENV/bin/trivium" ] && whole; then
        say "$VENV is up to date"
        return
    fi
    packages=$(missing_packages)
    if [ -n "$packages" ]; then
        # shellcheck disable=SC2086 # one word a package
        install_packages $packages
        packages=$(missing_packages)
        [ -z "$packages" ] || die "still missing after apt: $(echo $packages)" \
            "is $PY from elsewhere than apt? give another: make setup PYTHON=/usr/bin/python3"
    fi
    rm -f "$STAMP"
    local engines
    engines=$(echo $(missing_engines))
    if [ -n "$engines" ] && can_install; then
        say "beside what follows, installing what draws pictures: $engines"
        # shellcheck disable=SC2086 # one word a package
        install_engines $engines & # apt waits for disks, pip for networks; an interrupt of make leaves it to end
    fi
    make_venv
    say "installing torch $(sed -n 's/^torch==//p' constraints.txt) (1 of 2, minutes the first time)"
    pip_install "$(grep '^torch==' constraints.txt)"
    # A CUDA build of torch brought the triton that it pins; the CPU build brings none, and the interpreter needs one.
    if ! pip show -qq triton 2>/dev/null; then
        pip_install "$(sed -n 's/^# triton without CUDA: //p' constraints.txt)"
    fi
    say "installing trivium, editable, with the pinned packages for $EXTRAS (2 of 2, minutes the first time)"
    pip_install setuptools # first, so that the build of trivium below is pinned too
    pip_install --no-build-isolation -e ".[$EXTRAS]"
    compile_packages
    wait
    engines=$(echo $(missing_engines))
    [ -z "$engines" ] || say "not installed: $engines; only programmatic corpora and their tests need them:" \
        "sudo apt-get install -y --no-install-recommends $engines"
    printf '%s\n' "$wanted" >"$STAMP"
    say "done in ${SECONDS} s: $("$VENV/bin/trivium" --version); \`$VENV/bin/trivium doctor\` shows what is here"
}

main
