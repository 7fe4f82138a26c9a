#!/usr/bin/env python3
"""Non-contiguous max-load on the published throughput inputs: own solvers (helpers off), the portfolio with helpers, each helper
alone and both at once, with the same limit and threads. One row per input; a cell is value, bound and wall seconds, all in the inputs' milliseconds,
"=" where proven. Needs ALLOT_DATA and `make helpers`.

Usage: bench-free-peers.py [--allot PATH] [--time-limit S] [--threads N] [--only TEXT] [--methods a,b,c] [--start] [--json FILE]"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

METHODS = {
    "own": ["--helpers", "off"],
    "portfolio": [],
    "highs": ["--solver", "highs-free"],
    "cp-sat": ["--solver", "cp-sat-free"],
    "both": ["--solver", "helpers-free"],
}
COMMON = ["--goal", "throughput", "--contiguity", "none", "--json", "-q"]


def plan(options, path, extra, out=None):
    """The plan as Allot prints it, with wall and CPU seconds of the process."""
    command = [options.allot, "plan", str(path), *COMMON, "--threads", str(options.threads), *extra]
    if out is not None:
        command += ["-o", str(out)]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = done.stdout if out is None else (pathlib.Path(out).read_text(encoding="utf-8") if done.returncode in (0, 5) else "")
    if done.returncode not in (0, 5) or not text:
        message = done.stderr.strip().splitlines()
        return {"failed": message[-1] if message else f"exit {done.returncode}", "wall": wall}
    found = json.loads(text)
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return {key: found[key] for key in ("value", "bound", "status", "solver", "proof") if key in found} | {"wall": wall, "cpu": cpu}


def cell(row):
    if "failed" in row:
        return "failed"
    proven = "=" if row["status"] == "optimal" else ""
    return f"{1e3 * row['value']:.4f}{proven} {1e3 * row['bound']:.3f} {row['wall']:.1f}s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--allot", default="build/release/allot")
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="inputs whose path holds one of these texts, comma between them")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--start", action="store_true", help="give the helpers the own solvers' plan of a tenth of the time")
    parser.add_argument("--json", help="also write every result to this file")
    options = parser.parse_args()
    data = os.environ.get("ALLOT_DATA")
    if not data:
        sys.exit("bench-free-peers: ALLOT_DATA does not name the folder of public data")
    inputs = sorted(pathlib.Path(data).glob("dnn-partitioning/throughput/*/*.json"))
    inputs = [path for path in inputs if any(text in str(path) for text in options.only.split(","))]
    methods = options.methods.split(",")
    print(f"value (= proven), bound in ms, wall seconds; limit {options.time_limit:g} s, {options.threads} threads")
    print("| input | " + " | ".join(methods) + " |")
    print("|---" * (len(methods) + 1) + "|")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in inputs:
            title = f"{path.parent.name[0]}G {path.stem}"
            start = []
            if options.start:
                seed = pathlib.Path(folder) / "start.json"
                plan(options, path, ["--helpers", "off", "--time-limit", str(options.time_limit / 10)], seed)
                start = ["--start", str(seed)]
            rows = {}
            for method in methods:
                given = start if method in ("highs", "cp-sat", "both") else []
                rows[method] = plan(options, path, [*METHODS[method], "--time-limit", str(options.time_limit), *given])
            results[title] = rows
            print(f"| {title} | " + " | ".join(cell(rows[method]) for method in methods) + " |", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
