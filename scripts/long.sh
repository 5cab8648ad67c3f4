#!/usr/bin/env bash
# Tests that take too long for CI: 10^9 noise samples, timing classes, many property cases, thousands of faulty networks,
# ten million changed inputs, 200 killed learners. Takes about three quarters of an hour on two cores. Prints the
# seed of any failure.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --profile bench -p undertone-core --lib noise -- --ignored --nocapture --test-threads=1
PROPTEST_CASES=20000 cargo test --profile bench --workspace
UNDERTONE_SEEDS=5000 cargo test --profile bench -p undertone-node --test it protocol
UNDERTONE_FUZZ=5000000 cargo test --profile bench -p undertone-node --test it fuzz
UNDERTONE_KILLS=200 cargo test -p undertone-cli --test it chaos
