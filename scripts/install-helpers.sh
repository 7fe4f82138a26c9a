#!/usr/bin/env bash
# Fetches the optional solver libraries (HiGHS and CP-SAT) as Python wheels into third_party/helpers. Only their shared libraries are kept; nothing
# is installed into the system or into Python. Needs no network when they are there, and never fails a build: without network it says so and ends well.
# Usage: install-helpers.sh [FOLDER]
set -uo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
target="${1:-$root/third_party/helpers}"

without() {
  echo "helpers: $1; Allot works without them"
  exit 0
}

# Name, version, and the sha256 of its wheels for x86_64 and aarch64.
wheels=(
  "highsbox 1.15.1
   17f30d23ef37488467732b45f141146f7c287826a576b4514ae39a8cc4068b28
   d1a3c1742d6fae36a3a18e0c7500530e46de5faa1a42dee65677bf0ae80acda3"
  "ortools 9.15.6755
   7a85a68ffb3fc1967e78624f40d3707aae459e82e3f2d9fe02e91788b3c7bf2a
   c3bcccd15ef3fc6ac10bfa11630ba6dfe437d4fd1374a5b33f4773b7fee0f877"
)

wanted=()
for wheel in "${wheels[@]}"; do
  read -r -d '' name version _ <<<"$wheel" || true
  [[ "$(cat "$target/$name/version" 2>/dev/null)" == "$version" ]] || wanted+=("$wheel")
done
((${#wanted[@]} == 0)) && exit 0

machine="$(uname -m)"
[[ "$(uname -s)" == Linux && ("$machine" == x86_64 || "$machine" == aarch64) ]] ||
  without "there are no wheels for $(uname -s) on $machine"
command -v python3 >/dev/null || without "python3 is missing"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

pip=(python3 -m pip)
if ! "${pip[@]}" --version >/dev/null 2>&1; then
  if "$root/scripts/install-packages.sh" helpers >"$work/log" 2>&1 && "${pip[@]}" --version >/dev/null 2>&1; then
    :
  elif python3 -m venv "$work/venv" >"$work/log" 2>&1; then
    pip=("$work/venv/bin/python3" -m pip)
  else
    without "pip is missing and cannot be installed"
  fi
fi

for wheel in "${wanted[@]}"; do
  read -r -d '' name version x86_64 aarch64 <<<"$wheel" || true
  echo "$name==$version --hash=sha256:$x86_64 --hash=sha256:$aarch64" >"$work/requirements.txt"
  # The Python version picks one of several wheels with the same libraries, so that the hashes hold everywhere.
  "${pip[@]}" download -q --disable-pip-version-check --retries 1 --timeout 15 --no-deps --only-binary=:all: --require-hashes --implementation cp \
    --python-version 3.11 --platform "manylinux_2_28_$machine" --platform "manylinux_2_27_$machine" \
    --platform "manylinux2014_$machine" --dest "$work/$name" -r "$work/requirements.txt" >"$work/log" 2>&1 ||
    without "cannot fetch $name $version"
  python3 - "$work/$name" "$work/$name.new" "$version" <<'PYTHON' || without "cannot unpack $name $version"
import pathlib, re, sys, zipfile

source, target, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
target.mkdir()
for wheel in source.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.namelist():
            # Folders stay as they are, for the libraries find each other through them.
            path = pathlib.PurePosixPath(re.sub(r"^.*/purelib/highsbox/", "", entry))
            library = re.search(r"^(ortools/\.libs|ortools\.libs|highs_dist/lib)/lib[^/]*\.so[.\d]*$", str(path))
            if library and path.name != "libopenblas.so":
                (target / path.parent).mkdir(parents=True, exist_ok=True)
                (target / path).write_bytes(archive.read(entry))
            elif path.name.startswith("LICENSE"):
                (target / path.name).write_bytes(archive.read(entry))
(target / "version").write_text(version + "\n")
PYTHON
  mkdir -p "$target"
  rm -rf "${target:?}/$name"
  mv "$work/$name.new" "$target/$name"
  echo "helpers: $name $version is in $target/$name"
done
