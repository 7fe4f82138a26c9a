#!/usr/bin/env bash
# A problem of a million ops: made, planned, checked. Prints wall time and peak memory of each step against the goals:
# plan and check together under 10 s, and no step above 2 GB.
# Usage: bench-large.sh BUILD [OPS] [SEED]
set -euo pipefail

build="${1:?usage: bench-large.sh BUILD [OPS] [SEED]}"
ops="${2:-1000000}"
seed="${3:-1}"
measure="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/measure.py"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
problem="$work/large.json"
plan="$work/plan.json"
log="$work/log"

# `make` is timed but belongs to no goal.
python3 "$measure" --log "$log" --name make -- "$build/bench/allot_make_large" "$ops" "$seed" >"$problem"
echo "problem: $ops ops, $(stat -c %s "$problem") bytes"
python3 "$measure" --log "$log" --name plan -- \
  "$build/allot" plan "$problem" --goal latency --link-mode free --time-limit 3 -q -o "$plan"
python3 "$measure" --log "$log" --name check -- "$build/allot" check "$problem" "$plan"
python3 "$measure" --log "$log" --summary plan check --goal-seconds 10 --goal-bytes 2e9
