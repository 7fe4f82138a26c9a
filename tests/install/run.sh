#!/usr/bin/env bash
# Installs a build into a temporary prefix and builds consumer.cpp against it, once by find_package and once by pkg-config.
# Usage: run.sh BUILD [CMAKE]
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="${1:?usage: run.sh BUILD [CMAKE]}"
cmake="${2:-cmake}"
cxx="${CXX:-g++}"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
prefix="$work/prefix"

"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log" || {
  cat "$work/install.log" >&2
  exit 1
}
"$prefix/bin/allot" version

echo "== find_package"
"$cmake" -S "$here" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" >"$work/configure.log" || {
  cat "$work/configure.log" >&2
  exit 1
}
"$cmake" --build "$work/build"
"$work/build/consumer"

echo "== pkg-config"
pc="$(dirname "$(find "$prefix" -name allot.pc)")"
export PKG_CONFIG_PATH="$pc"
read -ra flags <<<"$(pkg-config --cflags --libs allot)"
"$cxx" "$here/consumer.cpp" "${flags[@]}" -o "$work/consumer"
"$work/consumer"
