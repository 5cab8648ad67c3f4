#!/usr/bin/env bash
# All checks: tests, Python, format, lints, documentation, licences, Rust examples, benches once, and a seeded run.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "a browser, for the dashboard's test"
if ! command -v chromium > /dev/null; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root="sudo"
  $as_root apt-get update -qq
  $as_root apt-get install -y -qq --no-install-recommends chromium > /dev/null
fi
UNDERTONE_BROWSER="$(command -v chromium)"
export UNDERTONE_BROWSER

step "tests"
cargo test --workspace --locked

step "Python: the package, its tests and tutorials"
# The tests above have built the command.
UNDERTONE_COMMAND="$(realpath "${CARGO_TARGET_DIR:-target}")/debug/undertone" bash scripts/python_tests.sh

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

step "licences and bans of dependencies"
if command -v cargo-deny > /dev/null; then
  cargo deny --offline check licenses bans sources
else
  echo "cargo-deny is not installed: skipped (cargo install cargo-deny)"
fi

step "Rust examples"
for example in crates/undertone/examples/*.rs; do
  cargo run --quiet --locked -p undertone --example "$(basename "$example" .rs)"
done

step "benches, once each"
cargo bench --workspace --locked --bench '*' -- --test

step "the main job, seeded, and what it leaves behind"
bash scripts/smoke.sh
