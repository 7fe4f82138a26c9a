#!/usr/bin/env python3
"""Prints the figures of a benchmark run beside their goals. Usage: bench-goals.py BENCH.json"""
import json
import sys

SWEEP_GOAL_NS_PER_OP = 10.0
SWEEP_GOAL_OPS = 1_000_000
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def load(path):
    """(benchmark, ops) -> nanoseconds of CPU per iteration, in the fastest repetition."""
    with open(path, encoding="utf-8") as file:
        runs = json.load(file)["benchmarks"]
    times = {}
    for run in runs:
        if run.get("run_type", "iteration") != "iteration":
            continue
        if run.get("error_occurred"):
            sys.exit(f"{run['name']}: {run['error_message']}")
        key = run["name"].split("/")[0], int(run["ops"])
        spent = run["cpu_time"] * NANOSECONDS[run["time_unit"]]
        times[key] = min(spent, times.get(key, spent))
    return times


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    times = load(sys.argv[1])
    for (name, ops), spent in sorted(times.items()):
        if name == "sweep":
            per_op = spent / ops
            line = f"sweep, {ops} ops: {per_op:.2f} ns per op"
            if ops == SWEEP_GOAL_OPS:
                line += f" (goal {SWEEP_GOAL_NS_PER_OP:g}, ratio {per_op / SWEEP_GOAL_NS_PER_OP:.2f})"
            print(line)
        elif name == "readProblemFile":
            other = times["parseByNlohmann", ops]
            print(
                f"read a problem of {ops} ops: {spent / 1e6:.1f} ms; nlohmann DOM parse alone {other / 1e6:.1f} ms"
                f" (ratio {spent / other:.2f})"
            )


if __name__ == "__main__":
    main()
