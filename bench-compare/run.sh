#!/usr/bin/env bash
# Compares Undertone with other systems, in one run: bench-compare/run.sh [beginnings of groups...]
#
# Installs the other systems by package name into bench-compare/environment*, builds our side, runs all in turns, and
# writes bench-compare/results.json, docs/performance.md and docs/img/performance.png.
# QUICK=1: three repetitions instead of five. Data sets go to bench-compare/data.
set -euo pipefail
cd "$(dirname "$0")"
export UNDERTONE_CACHE="$PWD/data"

# Whether a group whose name begins with this will run.
asked() {
    [ $# -gt 1 ] || return 0
    local group=$1 word
    shift
    for word in "$@"; do [[ "$group" == "$word"* || "$word" == "$group"* ]] && return 0; done
    return 1
}

# A virtual environment with packages, made once: NAME PACKAGES...
environment() {
    local folder="$PWD/$1"
    shift
    [ -x "$folder/bin/python" ] || python3 -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet "$@"
}

environment environment --upgrade pip
environment environment -r requirements.txt ../crates/undertone-py

if asked cnn "$@" && [ ! -d environment-cnn/stand-ins ]; then
    # PyTorch alone, without the 3 GB of CUDA libraries that it requires: see cuda_stand_ins.py.
    environment environment-cnn numpy scipy opt-einsum filelock typing-extensions setuptools sympy networkx jinja2 fsspec
    environment environment-cnn --no-deps torch opacus
    environment-cnn/bin/python cuda_stand_ins.py environment-cnn/stand-ins
fi
if asked p2pfl "$@"; then
    # Without its extra "dp" it cannot be imported, and newer versions of the other two do not go with what it asks for.
    environment environment-p2pfl 'p2pfl[dp]' 'pyarrow<21' 'huggingface-hub<0.24' ||
        echo "p2pfl could not be installed; the page will say so" >&2
fi

cargo build --quiet --release --manifest-path ours/Cargo.toml
environment/bin/python -W ignore compare.py "$@"
