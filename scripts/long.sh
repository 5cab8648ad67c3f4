#!/usr/bin/env bash
# Long statistics that CI has no time for: 10^9 noise samples, timing classes, many property cases.
# Takes about half an hour on two cores. Prints the seed of any failure.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --profile bench -p undertone --lib noise -- --ignored --nocapture --test-threads=1
PROPTEST_CASES=20000 cargo test --profile bench --workspace
