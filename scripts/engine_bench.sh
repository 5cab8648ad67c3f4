#!/usr/bin/env bash
# Gradients of the MNIST network, clipped record by record: ours beside PyTorch (not clipped) and Opacus (clipped).
# All in one run, taking turns on the same cores, so that the ratios mean something on a busy machine.
#
#   scripts/engine_bench.sh [batch [threads [turns]]]     PYTHON: an interpreter with torch and opacus
set -euo pipefail
cd "$(dirname "$0")/.."
batch=${1:-256} threads=${2:-1} turns=${3:-7}
# Cargo names the bench's executable in the last line.
built=$(cargo bench --locked -p undertone-models --bench network --no-run 2>&1 | tee /dev/stderr | tail -n 1)
ours=$(sed -n 's/.*(\(.*\)).*/\1/p' <<< "$built")
"${PYTHON:-python3}" -W ignore scripts/engine_bench.py "$ours" "$batch" "$threads" "$turns"
