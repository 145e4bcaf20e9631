#!/bin/sh
# Tests the laws of conversion, the simulation of rollouts and the attacks on the server: plants bugs in a copy of the tree,
# one at a time, and expects a failure.
# Each file in tests/mutants is a bug: a source file, a piece of it, and the replacement. White space in a piece is ignored,
# so that formatting does not matter. Exits with 1 if the tests do not detect a bug within 60 seconds (POINTSMAN_SECONDS).
#
#   tests/mutants.sh [name…]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# A separate target directory: cargo would reuse the program of another copy of the tree.
export CARGO_TARGET_DIR="$root/target/mutants" RUST_BACKTRACE=0
# Few random kinds, because they take most of the time, and the written kinds detect bugs of the engine as well.
export POINTSMAN_CASES="${POINTSMAN_CASES:-150}" POINTSMAN_KINDS="${POINTSMAN_KINDS:-20}"
limit=${POINTSMAN_SECONDS:-60}
(cd "$root" && tar -cf - --exclude=./target --exclude=./fuzz --exclude=./.git .) | tar -xf - -C "$scratch"
cd "$scratch"
find src crates tests -name '*.rs' -exec touch {} +

plant() {
    python3 - "$1" <<'PYTHON'
import re, sys
path, rest = open(f"tests/mutants/{sys.argv[1]}.txt").read().split("\n--- instead of\n", 1)
old, new = rest.split("\n+++ planted\n", 1)
tokens = re.findall(r"\w+|[^\w\s]", old)
source = open(path).read()
# The formatter adds and drops commas before closing brackets.
pattern = r",?\s*".join(re.escape(token) for token in tokens)
found = list(re.finditer(pattern, source))
if len(found) != 1:
    sys.exit(f"{sys.argv[1]}: stands {len(found)} times in {path}")
match = found[0]
open(path, "w").write(source[:match.start()] + new.strip() + source[match.end():])
print(path)
PYTHON
}

# The tests of a bug, by its file: of conversion, of rollouts, of mutations, or the attacks on the server.
tests_of() {
    case $1 in
    crates/server/* | crates/transport/*) echo "-p pointsman-server --lib --test it -- held_streams budget::" ;;
    crates/rollout/src/definition/checks/*) echo "-p pointsman-rollout --lib -- definition::checks" ;;
    crates/rollout/* | crates/core/src/definition/hold.rs | \
        crates/core/src/definition/move_effects.rs | crates/core/src/definition/note.rs | \
        crates/core/src/definition/admission/other_source.rs) echo "-p pointsman-rollout --test rollouts" ;;
    crates/core/src/definition/operation/compute/*) echo "-p pointsman-core --lib --test it -- compute laws::forms laws::random_kinds" ;;
    crates/core/src/apimachinery/*) echo "-p pointsman-core --lib -- apimachinery" ;;
    crates/core/src/registration/mutation_policies/*) echo "-p pointsman-core --test it -- mutations::policies" ;;
    crates/core/src/definition/mutations/* | \
        crates/core/src/webhook/mutations.rs) echo "-p pointsman-core --test it -- mutations::" ;;
    *) echo "-p pointsman-core --test it -- laws fixtures captures edges kept::" ;;
    esac
}

# Fails if a test fails, and if the filter selects no test: a renamed test file must not pass in silence.
laws() {
    # shellcheck disable=SC2046
    cargo test $(tests_of "$1") >"$scratch/log" 2>&1 && grep -q '^test result: ok. [1-9]' "$scratch/log"
}

# Runs the laws until one fails, and prints its name and the seconds. Fails if all laws hold, or none failed in time.
caught() {
    : >"$scratch/log"
    start=$(date +%s)
    # shellcheck disable=SC2046
    timeout "$limit" cargo test $(tests_of "$1") >"$scratch/log" 2>&1 &
    job=$!
    while kill -0 "$job" 2>/dev/null && ! grep -q ' \.\.\. FAILED$' "$scratch/log"; do
        sleep 0.2
    done
    seconds=$(($(date +%s) - start))
    law=$(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$scratch/log" | head -n 1)
    kill "$job" 2>/dev/null || true
    status=0
    wait "$job" 2>/dev/null || status=$?
    # A bug may end the process.
    [ -n "$law" ] || case $status in 0 | 124) return 1 ;; *) law="the end of the process ($status)" ;; esac
}

if ! cargo test --quiet --no-run -p pointsman-core -p pointsman-rollout -p pointsman-server --test it --test rollouts >"$scratch/log" 2>&1 ||
    ! laws any || ! laws crates/rollout/any || ! laws crates/core/src/registration/mutation_policies/any ||
    ! laws crates/rollout/src/definition/checks/any || ! laws crates/core/src/definition/mutations/any ||
    ! laws crates/server/any; then
    cat "$scratch/log"
    echo "the laws do not hold before anything was planted"
    exit 1
fi
missed=0
[ $# -gt 0 ] || set -- $(cd tests/mutants && ls *.txt)
for name in "$@"; do
    name=${name%.txt}
    path=$(plant "$name") || { missed=1; continue; }
    # shellcheck disable=SC2046
    if ! cargo test --quiet --no-run $(tests_of "$path" | sed 's/ -- .*//') >"$scratch/log" 2>&1; then
        cat "$scratch/log"
        echo "$name: does not compile"
        missed=1
    elif caught "$path"; then
        echo "$name: caught in $seconds s by $law"
    else
        echo "$name: NOT CAUGHT in $seconds s"
        missed=1
    fi
    cp "$root/$path" "$path"
    touch "$path"
done
exit $missed
