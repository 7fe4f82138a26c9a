#!/usr/bin/env python3
"""Plans the latency benchmark's problems and prints values, bounds and times against their goals.

Usage: bench-latency.py BUILD [--time-limit S] [moirai] [tight] [baselines] [safe] [calls] [random] [large]     (no part named: all)
moirai     the five Moirai graphs in every link mode, without helpers and with them, one thread
tight      the same with memory for 1.02 times the model, 10 s each
baselines  m-SCT and GETF against the portfolio on the four real graphs, full-duplex
safe       every rule in use against the portfolio, on the Moirai graphs and on PipeDream's with drawn slower classes, all link modes
calls      the eight inputs of dnn-partitioning's latency problem, one and two calls
random     random graphs of 20 and 40 ops on three devices; CP-SAT alone beside the larger ones
large      50,000 ops on 8 devices against the best list schedule
ALLOT_DATA names the folder of published graphs; the parts that need it are left out without it. Times in ms.
"""
import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import latency_instances

MODES = ("free", "full-duplex", "half-duplex")
GRAPHS = ("example_1", "googlenet", "yolov5x", "inceptionv4", "transformer")
# (graph, mode): most value in the file's unit, most gap.
GOALS = {
    ("example_1", "free"): (30, 0),
    ("example_1", "full-duplex"): (30, 0),
    ("example_1", "half-duplex"): (31, 0),
    ("googlenet", "free"): (1.24132, 0),
    ("googlenet", "full-duplex"): (1.29726, 0.01),
    ("yolov5x", "free"): (23.502, 0),
    ("yolov5x", "full-duplex"): (23.745, 0.025),
    ("inceptionv4", "free"): (9.95, 0.12),
    ("inceptionv4", "full-duplex"): (10.05, 0.15),
    ("transformer", "free"): (17.7, 0.35),
    ("transformer", "full-duplex"): (20.8, 0.45),
}
# Values of the best search known for one call of each accelerator (ms); none is known for the layers of Inception.
ONE_CALL = {
    "LayerGraphs/bert24_inference": 100.2185,
    "LayerGraphs/gnmt_inference": 225.647890625,
    "LayerGraphs/resnet50_inference": 1156.88128125,
    "OperatorGraphs/bert_l-3_inference": 408.474408186,
    "OperatorGraphs/bert_l-6_inference": 438.062486565,
    "OperatorGraphs/bert_l-12_inference": 729.564611492,
    "OperatorGraphs/resnet50_inference": 651.120758992,
}
TWO_CALLS_GAP = 0.03
LIST_SCHEDULERS = "heft,min-eft,cpop,peft,etf,heft-lookahead,m-etf,m-topo,single"
RULES = LIST_SCHEDULERS + ",m-sct,getf,pesto"
SAFE_LIMIT = 3


class Bench:
    def __init__(self, build, work):
        self.allot = pathlib.Path(build) / "allot"
        self.work = pathlib.Path(work)

    def write(self, problem, name):
        path = self.work / f"{name}.json"
        path.write_text(json.dumps(problem), encoding="utf-8")
        return path

    def plan(self, path, limit, *more, threads=1):
        command = [self.allot, "plan", path, "--goal", "latency", "--time-limit", limit, "--threads", threads, "--json", "-q", *more]
        begin = time.monotonic()
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        wall = time.monotonic() - begin
        try:
            return json.loads(done.stdout) | {"wall": wall}
        except ValueError:
            sys.exit(f"{path}: no answer; run {' '.join(map(str, command))}\n{done.stderr}")

    def compare(self, path, limit, solvers, *more):
        """Rows by solver; solvers that do not take the problem (too large, too small) are left out."""
        command = [self.allot, "compare", path, "--goal", "latency", "--time-limit", limit, "--threads", 1, "--json", "-q", *more]
        names = solvers.split(",")
        while names:
            done = subprocess.run(list(map(str, [*command, "--solvers", ",".join(names)])), capture_output=True, text=True, check=False)
            refused = re.search(r'--solvers: "(.*?)" does not take', done.stderr)
            if not refused:
                rows = json.loads(done.stdout)
                rows = rows["rows"] if isinstance(rows, dict) else rows
                return {row["solver"]: row for row in rows}
            names.remove(refused[1])
        return {}


def cell(plan, unit):
    if plan.get("value") is None:
        return plan["status"]
    proven = "=" if plan["status"] == "optimal" else " "
    return f"{plan['value'] / unit:.5f}{proven} {100 * plan['gap']:5.2f}% {plan['wall']:5.1f}s"


def verdict(good):
    return "ok" if good else "NOT MET"


def unit_of(name):
    return 1 if name == "example_1" else 1e-3


def moirai(bench, data, limit):
    print(f"{'graph':<12} {'mode':<12} {'helpers off':<28} {'with helpers':<28} goal")
    for name in GRAPHS:
        for mode in MODES:
            path = data / "moirai" / f"{name}.json"
            own = bench.plan(path, limit, "--link-mode", mode, "--helpers", "off")
            both = bench.plan(path, limit, "--link-mode", mode)
            goal = GOALS.get((name, mode))
            said = ""
            if goal:
                good = own["value"] / unit_of(name) <= goal[0] * (1 + 1e-6) and own["gap"] <= goal[1] + 1e-9
                said = f"{goal[0]} within {100 * goal[1]:g}% {verdict(good)}"
            print(f"{name:<12} {mode:<12} {cell(own, unit_of(name)):<28} {cell(both, unit_of(name)):<28} {said}", flush=True)


def tight(bench, data, _):
    print(f"{'memory 1.02 x need':<20} {'mode':<12} {'10 s':<28}")
    for name in GRAPHS:
        with open(data / "moirai" / f"{name}.json", encoding="utf-8") as file:
            path = bench.write(latency_instances.tight(json.load(file)), name)
        for mode in ("free", "full-duplex"):
            found = bench.plan(path, 10, "--link-mode", mode)
            good = found["status"] in ("optimal", "feasible", "infeasible")
            print(f"{name:<20} {mode:<12} {cell(found, unit_of(name)):<28} {verdict(good)}", flush=True)


def baselines(bench, data, limit):
    ratios = {"m-sct": [], "getf": []}
    for name in GRAPHS[1:]:
        path = data / "moirai" / f"{name}.json"
        own = bench.plan(path, limit, "--helpers", "off")
        rows = bench.compare(path, limit, ",".join(ratios))
        for solver, list_ in ratios.items():
            list_.append(rows[solver]["value"] / own["value"])
        values = "  ".join(f"{s} {rows[s]['value'] * 1e3:.4f}" for s in ratios)
        print(f"{name:<12} ours {own['value'] * 1e3:.4f}  {values}", flush=True)
    for solver, goal in (("m-sct", 2.2), ("getf", 1.25)):
        mean = math.exp(statistics.fmean(map(math.log, ratios[solver])))
        print(f"  geometric mean over {solver}: {mean:.3f} (goal {goal}) {verdict(mean >= goal)}")


def safe(bench, data, _):
    """Never worse than a rule that finishes within the limit, which is short on purpose."""
    files = {name: data / "moirai" / f"{name}.json" for name in GRAPHS}
    for seed, path in enumerate(sorted((data / "pipedream").glob("*.json"))):
        with open(path, encoding="utf-8") as file:
            files[path.stem] = bench.write(latency_instances.profile(json.load(file), seed), path.stem)
    compared, worse = 0, []
    for name, path in files.items():
        for mode in MODES:
            own = bench.plan(path, SAFE_LIMIT, "--link-mode", mode, "--helpers", "off")
            rows = bench.compare(path, SAFE_LIMIT, RULES, "--link-mode", mode)
            values = {rule: row["value"] for rule, row in rows.items() if row.get("value")}
            compared += len(values)
            worse += [(name, mode, rule) for rule, value in values.items() if own["value"] > value * (1 + 1e-9)]
            best = min(values, key=values.get, default=None)
            said = f"best rule {best} {values[best] / unit_of(name):.5f}" if best else "no rule has a plan"
            print(f"{name:<20} {mode:<12} {cell(own, unit_of(name)):<28} {said}", flush=True)
    print(f"  {compared} comparisons, worse: {worse or 'never'} {verdict(not worse)}")


def calls(bench, data, limit):
    folder = data / "dnn-partitioning/latency"
    print(f"{'input':<36} {'one call':<30} {'goal':<22} {'two calls':<30} gap at most {TWO_CALLS_GAP:.0%}")
    for path in sorted(folder.rglob("*.json")):
        name = str(path.relative_to(folder).with_suffix(""))
        one, two = (
            bench.plan(path, limit, "--model", "subgraph-calls", "--calls", count, "--helpers", "off") for count in (1, 2)
        )
        known = ONE_CALL.get(name, math.inf)
        good = one["status"] == "optimal" and one["value"] * 1e3 <= known * (1 + 1e-9)
        print(
            f"{name:<36} {cell(one, 1e-3):<30} {f'{known:.4f} {verdict(good)}':<22} {cell(two, 1e-3):<30} "
            f"{verdict(two['gap'] <= TWO_CALLS_GAP)}",
            flush=True,
        )


def random_graphs(bench, _, limit):
    seconds, proven = [], 0
    for seed in range(20):
        path = bench.write(latency_instances.scattered(20, 3, seed), "random")
        found = bench.plan(path, 10, "--helpers", "off")
        seconds.append(found["seconds"])
        proven += found["status"] == "optimal"
    median = statistics.median(seconds)
    print(f"20 ops x 3 devices: {proven} of 20 proven, median {1e3 * median:.1f} ms (goal 50) {verdict(median < 0.05 and proven == 20)}")
    print(f"{'40 ops x 3 devices':<20} {'ours':<28} {'CP-SAT alone':<28} gap against half of CP-SAT's")
    for seed in range(5):
        path = bench.write(latency_instances.scattered(40, 3, seed), "random")
        ours = bench.plan(path, limit, "--helpers", "off")
        peer = bench.plan(path, limit, "--solver", "cp-sat-schedule")
        print(f"seed {seed:<15} {cell(ours, 1e-3):<28} {cell(peer, 1e-3):<28} {verdict(ours['gap'] <= peer['gap'] / 2 + 1e-9)}", flush=True)


def large(bench, _, limit):
    path = bench.write(latency_instances.layered(50_000, 8, 1), "large")
    rows = bench.compare(path, limit, LIST_SCHEDULERS)
    best = min((row["value"] for row in rows.values() if row.get("value")), default=None)
    found = bench.plan(path, limit, "--helpers", "off")
    first = next((point[0] for point in found["curve"] if point[1] is not None), None)
    gain = best / found["value"] - 1
    print(f"50,000 ops: best list {best * 1e3:.2f}, ours {cell(found, 1e-3)}, better by {gain:.1%} (goal 5%) {verdict(gain >= 0.05)}")
    print(f"  first plan after {first:.2f} s (goal 2) {verdict(first <= 2)}")


PARTS = {"moirai": moirai, "tight": tight, "baselines": baselines, "safe": safe, "calls": calls, "random": random_graphs, "large": large}
WITHOUT_DATA = ("random", "large")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    parser.add_argument("--time-limit", type=float, default=60)
    options = parser.parse_intermixed_args()
    data = os.environ.get("ALLOT_DATA")
    if not data:
        print("ALLOT_DATA is not set: only random graphs are measured")
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options.build, work)
        for name in options.parts or PARTS:
            if data or name in WITHOUT_DATA:
                print(f"\nlatency, {name}")
                PARTS[name](bench, pathlib.Path(data or "."), options.time_limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
