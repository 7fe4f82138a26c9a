#!/usr/bin/env bash
# Runs all benchmarks of a build and prints what was measured against the goals.
# Usage: bench.sh BUILD
set -euo pipefail

build="${1:?usage: bench.sh BUILD}"
scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

# Three runs of each; the goals are held against the fastest, which other work on the machine disturbs least.
"$build/bench/allot_bench" --benchmark_repetitions=3 --benchmark_out="$build/bench.json" --benchmark_out_format=json
echo
python3 "$scripts/bench-goals.py" "$build/bench.json"
echo
"$scripts/bench-large.sh" "$build"
echo
python3 "$scripts/bench-throughput.py" "$build"
echo
python3 "$scripts/bench-latency.py" "$build"
echo
"$build/bench/allot_bench_completion"
echo
"$build/bench/allot_bench_online"
echo
if [[ -x "$build/bench/allot_bench_flow" ]]; then
  "$build/bench/allot_bench_flow"
else
  echo "flow engine: not measured, LEMON (package liblemon-dev) is missing"
fi
