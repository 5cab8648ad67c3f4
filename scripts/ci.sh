#!/usr/bin/env bash
# Everything that must hold: the README's test command, then format, lints, docs, benches once, examples.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "tests"
cargo test --workspace --locked

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

step "benches, once each"
cargo bench --workspace --locked --bench '*' -- --test

step "the main job, seeded, and what it leaves behind"
bash scripts/smoke.sh
