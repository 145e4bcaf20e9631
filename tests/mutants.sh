#!/bin/sh
# Proves that the laws of conversion bite: plants one bug after the other in a scratch copy of the tree and runs them.
# Each file in tests/mutants is a bug, as a patch. Exits with 1 if a bug is not caught.
#
#   tests/mutants.sh [name…]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}" POINTSMAN_CASES="${POINTSMAN_CASES:-150}" RUST_BACKTRACE=0
(cd "$root" && tar -cf - --exclude=./target --exclude=./fuzz --exclude=./.git .) | tar -xf - -C "$scratch"
cd "$scratch"

laws() {
    cargo test --quiet --test it -- laws fixtures captures >"$scratch/log" 2>&1
}

if ! cargo test --quiet --no-run --test it >"$scratch/log" 2>&1 || ! laws; then
    cat "$scratch/log"
    echo "the laws do not hold before anything was planted"
    exit 1
fi
missed=0
[ $# -gt 0 ] || set -- $(cd tests/mutants && ls *.patch)
for name in "$@"; do
    patch --quiet --forward -p1 <"tests/mutants/${name%.patch}.patch"
    if ! cargo test --quiet --no-run --test it >"$scratch/log" 2>&1; then
        cat "$scratch/log"
        echo "${name%.patch}: does not compile"
        missed=1
    elif laws; then
        echo "${name%.patch}: NOT CAUGHT"
        missed=1
    else
        echo "${name%.patch}: caught by $(grep -c '^---- ' "$scratch/log")"
    fi
    patch --quiet --reverse -p1 <"tests/mutants/${name%.patch}.patch"
done
exit $missed
