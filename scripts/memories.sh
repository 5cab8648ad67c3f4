#!/usr/bin/env bash
# The table of memories in docs/neural.md: accuracy and time of the preset shielded-mnist with each of the
# three memories for neural networks, at the same certified budget.
#
#   undertone data get mnist && bash scripts/memories.sh
#
# SEEDS (default "1") and EPSILONS (default "8") may be set. Seeded runs are NOT PRIVATE.
set -euo pipefail
seeds=${SEEDS:-1}
epsilons=${EPSILONS:-8}
cd "$(dirname "$0")/.."
cargo build --release --locked --quiet
undertone="$(realpath "${CARGO_TARGET_DIR:-target}")/release/undertone"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$undertone" new exact --preset shielded-mnist > /dev/null
sed 's/^kind = "exact".*/kind = "arrival"/' exact.toml > arrival.toml
sed 's/^kind = "exact".*/kind = "window"\nwindow = 50/' exact.toml > window.toml
# A record has more weight in a window that does not hold the whole warm-up; calibration chooses the noise for that.
printf '%-9s %-4s %-5s %-12s %-12s %s\n' memory ε seed public own seconds
for epsilon in $epsilons; do
  for seed in $seeds; do
    for memory in exact window arrival; do
      "$undertone" simulate "$memory.toml" --seed "$seed" --epsilon "$epsilon" --json \
        --out "$memory-$epsilon-$seed" > summary.json
      python3 - "$memory" "$epsilon" "$seed" <<'PY'
import json, sys
summary = json.load(open("summary.json"))
last = summary["last"]
print(f"{sys.argv[1]:<9} {sys.argv[2]:<4} {sys.argv[3]:<5} {last['test_accuracy_public']:<12.4f} "
      f"{last['test_accuracy_private']:<12.4f} {summary['seconds']:.0f}")
PY
    done
  done
done
