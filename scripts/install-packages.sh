#!/usr/bin/env bash
# Installs the Debian packages of the named groups that are not there yet. Needs no network when nothing is missing.
# Usage: install-packages.sh GROUP...   groups: build, bench, dev, helpers, browser
set -euo pipefail

packages_of() {
  case "$1" in
    build)
      echo cmake ninja-build g++ pkg-config git libgtest-dev libsimdjson-dev nlohmann-json3-dev libyaml-cpp-dev \
        libexpected-dev libcli11-dev libfmt-dev coinor-libclp-dev coinor-libcoinutils-dev libprotozero-dev \
        python3 python3-jsonschema coinor-cbc
      ;;
    bench) echo libbenchmark-dev liblemon-dev ;;
    dev) echo clang clang-format clang-tidy libclang-rt-14-dev ccache ;;
    helpers) echo python3-pip ;;
    browser) echo chromium ;;
    *)
      echo "install-packages.sh: unknown group \"$1\"; use build, bench, dev, helpers or browser" >&2
      return 2
      ;;
  esac
}

installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

if (($# == 0)); then
  echo "usage: install-packages.sh GROUP...   groups: build, bench, dev, helpers, browser" >&2
  exit 2
fi

if ! command -v dpkg-query >/dev/null; then
  echo "install-packages.sh: not a Debian system; install by hand what docs/dependencies.md lists" >&2
  exit 0
fi

missing=()
for group in "$@"; do
  names="$(packages_of "$group")"
  for package in $names; do
    installed "$package" || missing+=("$package")
  done
done
((${#missing[@]} == 0)) && exit 0

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "install-packages.sh: missing ${missing[*]}; install them as root (there is no sudo here)" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
