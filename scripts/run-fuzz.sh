#!/usr/bin/env bash
# Runs every fuzz target of a build for the same time. Seeds come from fuzz/corpus/NAME (the target is fuzz_NAME); what the
# fuzzer adds stays in BUILD/corpus/NAME, and an input that breaks a reader is kept in BUILD/findings.
# Usage: run-fuzz.sh BUILD SECONDS
set -euo pipefail

build="${1:?usage: run-fuzz.sh BUILD SECONDS}"
seconds="${2:?usage: run-fuzz.sh BUILD SECONDS}"
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

targets=()
for file in "$build"/fuzz/fuzz_*; do
  [[ -f "$file" && -x "$file" ]] && targets+=("$file")
done
if ((${#targets[@]} == 0)); then
  echo "run-fuzz.sh: no fuzz targets in $build/fuzz" >&2
  exit 1
fi

mkdir -p "$build/findings"
broken=()
for target in "${targets[@]}"; do
  name="$(basename "$target")"
  name="${name#fuzz_}"
  mkdir -p "$build/corpus/$name"
  folders=("$build/corpus/$name")
  [[ -d "$root/fuzz/corpus/$name" ]] && folders+=("$root/fuzz/corpus/$name")
  echo "== $name, $seconds s"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$name-" "${folders[@]}" || broken+=("$name")
done

if ((${#broken[@]} > 0)); then
  echo "findings in: ${broken[*]} (inputs in $build/findings)" >&2
  exit 1
fi
echo "${#targets[@]} targets, no finding"
