#!/usr/bin/env python3
"""Plans the throughput benchmark's problems and prints values, bounds and times against their goals.

Usage: bench-throughput.py BUILD [chain] [hetero] [graphs] [free]      (no part named: chain, hetero and graphs)
chain    the sixteen inputs of dnn-partitioning, beside the published method on the same input
hetero   the same on unlike devices
graphs   PipeDream's and Piper's layer graphs on 4, 8 and 16 devices
free     the sixteen inputs without contiguity, 60 s each
ALLOT_DATA names the folder of published graphs; without it there is nothing to measure.
One thread; seconds are those of the CPU, which other work on the machine disturbs least. The kernel counts the memory of
the measuring program in the peak of what it starts: below some 15 MB nothing is told apart.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import throughput_instances

SCRIPTS = pathlib.Path(__file__).resolve().parent
MEASURED_LIMIT = 0.1  # seconds: two threads are compared on inputs that take longer
TIMED_RUNS = 7  # of one and of two threads
SPEED_UP_GOAL = 1.6
OPTIMAL = 1e-9

# Input: optimum of contiguity chain, best value known without contiguity (ms).
PUBLISHED = {
    "LayerGraphs/bert24_inference": (17.789906250, 17.7147),
    "LayerGraphs/bert24_training": (41.745812500, 39.7895),
    "LayerGraphs/gnmt_inference": (32.910658203, 31.6873),
    "LayerGraphs/gnmt_training": (107.004414063, 88.4622),
    "LayerGraphs/resnet50_inference": (33.774666016, 33.3066),
    "LayerGraphs/resnet50_training": (78.631812500, 76.6348),
    "LayerGraphs/inceptionv3_inference": (51.551863586, 51.4938),
    "LayerGraphs/inceptionv3_training": (122.761616211, 117.4318),
    "OperatorGraphs/bert_l-3_inference": (27.918567680, 21.9084),
    "OperatorGraphs/bert_l-3_training": (65.303149122, 54.2074),
    "OperatorGraphs/bert_l-6_inference": (29.579505806, 28.3321),
    "OperatorGraphs/bert_l-6_training": (72.864966322, 71.6423),
    "OperatorGraphs/bert_l-12_inference": (147.477984449, 142.4717),
    "OperatorGraphs/bert_L-12_training": (437.997637858, 418.3236),
    "OperatorGraphs/resnet50_inference": (124.348849774, 124.3488),
    "OperatorGraphs/resnet50_training": (255.194416452, 255.1944),
}


class Bench:
    def __init__(self, build, work):
        self.build = pathlib.Path(build)
        self.work = pathlib.Path(work)

    def measure(self, command, output):
        """Runs a command with its standard output in a file; returns {seconds, cpu, peak} as the kernel saw it."""
        log = self.work / "log"
        log.unlink(missing_ok=True)
        with open(output, "wb") as out:
            subprocess.run(
                [sys.executable, SCRIPTS / "measure.py", "--log", log, "--", *map(str, command)],
                stdout=out,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        return json.loads(log.read_text(encoding="utf-8"))

    def plan(self, path, contiguity="chain", threads=1, limit=30):
        """The plan of a problem, with what it took."""
        output = self.work / "plan.json"
        command = [self.build / "allot", "plan", path, "--goal", "throughput", "--contiguity", contiguity]
        command += ["--threads", threads, "--time-limit", limit, "--json"]
        spent = self.measure(command, output)
        try:
            with open(output, encoding="utf-8") as file:
                return json.load(file), spent
        except ValueError:
            sys.exit(f"{path}: no plan; run {' '.join(map(str, command))}")

    def reference(self, path):
        output = self.work / "reference.json"
        spent = self.measure([self.build / "bench/allot_reference_chain_dp", path], output)
        with open(output, encoding="utf-8") as file:
            return json.load(file), spent

    def speed_up(self, path, plan, spent, limit, contiguity="chain"):
        """Wall time of one thread over that of two, medians of some runs in turns, where a proof ended it and it is long enough to be measured."""
        if spent["seconds"] <= MEASURED_LIMIT or plan["status"] != "optimal":
            return None
        seconds = {1: [spent["seconds"]], 2: []}
        for threads in (2, *(1, 2) * (TIMED_RUNS - 1)):
            seconds[threads].append(self.plan(path, contiguity, threads=threads, limit=limit)[1]["seconds"])
        return statistics.median(seconds[1]) / statistics.median(seconds[2])


def text(number, form):
    return "-" if number is None else format(number, form)


def header(more=""):
    print(f"{'problem':<34} {'value ms':>11} {'bound ms':>11} {'gap':>8} {'status':<8} {'CPU s':>7} {'MB':>6}{more}")


def row(name, plan, spent, more=""):
    value, bound = plan.get("value"), plan.get("bound")
    gap = plan.get("gap")
    print(
        f"{name:<34} {text(value and value * 1e3, '11.4f'):>11} {text(bound and bound * 1e3, '11.4f'):>11} "
        f"{text(gap, '8.3%'):>8} {plan['status']:<8} {spent['cpu']:>7.2f} {spent['peak'] / 1e6:>6.1f}{more}",
        flush=True,
    )


def verdict(what, figure, goal, good):
    print(f"  {what}: {figure} (goal {goal}) {'ok' if good else 'NOT MET'}")


def speed_verdict(ratios):
    if ratios:
        worst = min(ratios)
        verdict(f"two threads on {len(ratios)} problems, least speed-up", f"{worst:.2f}", SPEED_UP_GOAL, worst >= SPEED_UP_GOAL)


def published_path(data, name):
    return data / "dnn-partitioning/throughput" / f"{name}.json"


def chain(bench, data):
    print("chain: the inputs of dnn-partitioning; peer = the published method, same input, same machine")
    header(f" {'2 thr':>6} {'peer s':>7} {'ratio':>7}  peer's value ms")
    proven, right, slow, slow_gnmt, peak, ratios = 0, 0, 0.0, 0.0, 0.0, []
    for name, (optimum, _) in PUBLISHED.items():
        path = published_path(data, name)
        plan, spent = bench.plan(path)
        peer, peer_spent = bench.reference(path)
        value = plan.get("value")
        proven += plan["status"] == "optimal"
        right += value is not None and abs(value * 1e3 - optimum) <= 2e-9 * optimum
        if name.endswith("gnmt_training"):
            slow_gnmt = spent["cpu"]
        else:
            slow = max(slow, spent["cpu"])
        peak = max(peak, spent["peak"])
        ratio = bench.speed_up(path, plan, spent, 30)
        if ratio is not None:
            ratios.append(ratio)
        more = f" {text(ratio, '6.2f'):>6}"
        if "skipped" in peer:
            more += f" {'-':>7} {'-':>7}  {peer['skipped']}"
        else:
            # A plan without proof has done less than the peer.
            times = peer_spent["cpu"] / max(spent["cpu"], 1e-3) if plan["status"] == "optimal" else None
            more += f" {peer_spent['cpu']:>7.2f} {text(times, '.1f'):>7}  {peer['value'] * 1e3:.6f}"
        row(name, plan, spent, more)
    verdict("proven", f"{proven} of 16", "16", proven == 16)
    verdict("value within 1e-9 of the optimum", f"{right} of 16", "16", right == 16)
    verdict("slowest but gnmt training", f"{slow:.2f} s", "0.3 s", slow <= 0.3)
    verdict("gnmt training", f"{slow_gnmt:.2f} s", "0.6 s", slow_gnmt <= 0.6)
    verdict("largest", f"{peak / 1e6:.1f} MB", "32 MB", peak <= 32e6)
    speed_verdict(ratios)


def hetero(bench, data):
    print("hetero: half of the accelerators 2.5 times slower with half the memory, two cpu cores")
    header(f" {'2 thr':>6}")
    proven, ratios = 0, []
    for _, name, path in throughput_instances.write_all(data, bench.work, ["hetero"]):
        plan, spent = bench.plan(path)
        proven += plan["status"] == "optimal" and spent["cpu"] <= 2
        ratio = bench.speed_up(path, plan, spent, 30)
        if ratio is not None:
            ratios.append(ratio)
        row(name, plan, spent, f" {text(ratio, '6.2f'):>6}")
    verdict("proven within 2 s", f"{proven} of 16", "16", proven == 16)
    speed_verdict(ratios)


def graphs(bench, data):
    print("graphs: PipeDream's and Piper's layer graphs; the number of devices comes last in the name")
    header()
    worst = {}  # by graph: (proven on all counts within 10 s, largest gap)
    for kind, name, path in throughput_instances.write_all(data, bench.work, ["pipedream", "piper"]):
        plan, spent = bench.plan(path, limit=10)
        row(f"{kind}/{name}", plan, spent)
        if plan["status"] == "infeasible":
            continue
        graph = f"{kind}/{name.rsplit('-', 1)[0]}"
        good, gap = worst.get(graph, (True, 0.0))
        worst[graph] = (good and plan["status"] == "optimal", max(gap, plan.get("gap", 1.0)))
    proven = sum(good for good, _ in worst.values())
    gap = max((gap for good, gap in worst.values() if not good), default=0.0)
    verdict("graphs proven on all counts within 10 s", f"{proven} of {len(worst)}", "15 of 17", proven >= 15)
    verdict("largest gap of the others", f"{gap:.2%}", "1%", gap <= 0.01)


def free(bench, data):
    print("free: the inputs of dnn-partitioning without contiguity, 60 s; known = best value known from other solvers")
    header(f" {'2 thr':>6} {'known':>10}")
    proven, behind, ratios = 0, 0, []
    for name, (_, known) in PUBLISHED.items():
        path = published_path(data, name)
        plan, spent = bench.plan(path, contiguity="none", limit=60)
        proven += plan["status"] == "optimal"
        behind += plan["value"] * 1e3 > known * (1 + 5e-6)  # the known values have six digits
        ratio = bench.speed_up(path, plan, spent, 60, contiguity="none")
        if ratio is not None:
            ratios.append(ratio)
        row(name, plan, spent, f" {text(ratio, '6.2f'):>6} {known:>10.4f}")
    verdict("proven", f"{proven} of 16", "10", proven >= 10)
    verdict("worse than the best known", behind, "0", behind == 0)
    speed_verdict(ratios)


PARTS = {"chain": chain, "hetero": hetero, "graphs": graphs, "free": free}
STANDARD = ("chain", "hetero", "graphs")


def main():
    parts = sys.argv[2:] or STANDARD
    if len(sys.argv) < 2 or any(part not in PARTS for part in parts):
        sys.exit(__doc__)
    data = os.environ.get("ALLOT_DATA")
    if not data:
        print("throughput: skipped, ALLOT_DATA names no folder with published graphs")
        return
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(sys.argv[1], work)
        for part in parts:
            PARTS[part](bench, pathlib.Path(data))
            print()


if __name__ == "__main__":
    main()
