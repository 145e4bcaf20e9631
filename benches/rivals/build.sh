#!/usr/bin/env bash
# Builds other webhook servers into target/rivals, for `cargo bench --bench serve -- --servers
# pointsman,axum,controller-runtime`. Needs Go 1.26 or later.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
rivals=../../target/rivals
mkdir -p "$rivals"
cargo build --release --locked --manifest-path axum/Cargo.toml --target-dir "$rivals/build"
cp "$rivals/build/release/pointsman-rival-axum" "$rivals/axum"
(cd controller-runtime && go build -trimpath -o "../$rivals/controller-runtime" .)
