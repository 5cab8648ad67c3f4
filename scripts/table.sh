#!/usr/bin/env bash
# The result table of the README: test accuracy at several certified lifetime budgets, seeds 1 to 5.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "| ε for ever | public model | learners' own | no privacy at all |"
echo "|---|---|---|---|"
for epsilon in 8 4 2; do
  for seed in 1 2 3 4 5; do
    "${CARGO_TARGET_DIR:-target}/release/undertone" simulate --json --seed "$seed" --epsilon "$epsilon" \
      --out "$folder/$epsilon-$seed" > "$folder/$epsilon-$seed.json"
  done
  python3 - "$epsilon" "$folder" <<'PYTHON'
import json, sys
epsilon, folder = sys.argv[1:]
runs = [json.load(open(f"{folder}/{epsilon}-{seed}.json")) for seed in range(1, 6)]
cells = []
for key in ("public", "private", "optimum"):
    values = [run["last"][f"test_accuracy_{key}"] for run in runs]
    cells.append(f"{sum(values) / 5:.3f} ({min(values):.3f} to {max(values):.3f})")
assert all(learner["lifetime"]["epsilon"] <= float(epsilon) for run in runs for learner in run["learners"])
print(f"| {epsilon} | {' | '.join(cells)} |")
PYTHON
done
