#!/usr/bin/env python3
"""Writes the throughput benchmark's problems (allot.problem/1) into a folder.

Usage: throughput_instances.py DATA OUT [hetero] [pipedream] [piper]      (no kind named: all)
DATA is a folder with the published graphs: dnn-partitioning/throughput, pipedream, piper.

hetero     the sixteen dnn-partitioning inputs on unlike devices: of k accelerators floor(k/2) are 2.5 times slower and
           hold half as much; two cpu cores.
pipedream  layer profiles as one forward op each: time forward + backward, resident bytes parameters + activation,
           transfers by way of the host at 12.5 GB/s for twice the activation, 16 GB devices; 4, 8 and 16 of them.
piper      degree 1 of tensor parallelism, the variant "vanilla": memory a + b, bandwidth and memory of the file;
           4, 8 and 16 devices.
"""
import json
import math
import pathlib
import sys

SLOWER = 2.5
HOST_BANDWIDTH = 12.5e9
DEVICE_BYTES = 16_000_000_000
COUNTS = (4, 8, 16)
MOST_SECONDS_PER_SAMPLE = 10  # above this the times of a file without unit are taken as milliseconds
MODES = {"contiguity": "chain", "transfers": "via-host"}


def devices(cls, count, memory=None):
    entry = {"class": cls} if memory is None else {"class": cls, "memory": memory}
    return [{"name": f"{cls}{i}", **entry} for i in range(count)]


def problem(name, classes, machines, ops, tensors):
    return {
        "schema": "allot.problem/1",
        "name": name,
        "classes": [{"name": cls, "kind": kind} for cls, kind in classes],
        "devices": machines,
        "ops": ops,
        "tensors": tensors,
        "goal": "throughput",
        "options": MODES,
    }


def tensors_of(edges):
    """One tensor for each producer and transfer time, to all its consumers. `edges`: (from, to, seconds)."""
    consumers = {}
    for source, target, seconds in edges:
        consumers.setdefault((source, seconds), {})[target] = None
    return [{"from": source, "to": list(to), "time": seconds} for (source, seconds), to in consumers.items()]


def hetero(graph, name):
    """A dnn-partitioning input on two classes of accelerators and two cpu cores."""
    slow = graph["maxFPGAs"] // 2
    memory = int(graph["maxSizePerFPGA"])
    machines = devices("fast", graph["maxFPGAs"] - slow, memory) + devices("slow", slow, memory // 2) + devices("cpu", 2)
    ops = []
    for node in graph["nodes"]:
        fast = node["fpgaLatency"] / 1e3 if node.get("supportedOnFpga", True) else None
        times = [fast, None if fast is None else SLOWER * fast, node["cpuLatency"] / 1e3]
        op = {"name": str(node["id"]), "time": times, "memory": math.ceil(node.get("size", 0))}
        if node.get("isBackwardNode"):
            op["phase"] = "backward"
        if node.get("colorClass") is not None:
            op["group"] = str(node["colorClass"])
        ops.append(op)
    cost = {}  # of the first edge of each producer: all its edges carry one tensor
    for edge in graph["edges"]:
        cost.setdefault(edge["sourceId"], edge["cost"] / 1e3)
    edges = [(str(edge["sourceId"]), str(edge["destId"]), cost[edge["sourceId"]]) for edge in graph["edges"]]
    classes = [("fast", "accelerator"), ("slow", "accelerator"), ("cpu", "cpu")]
    return problem(name, classes, machines, ops, tensors_of(edges))


def pipedream(profile, count, name):
    """A layer profile on `count` devices. What an input layer took is the time to load data, which is not placed."""
    ops, seconds = [], {}
    for node in profile["nodes"]:
        time = 0 if node["op"].startswith("Input") else (node["fwd"] + node["bwd"]) / 1e3
        ops.append({"name": node["id"], "time": [time], "memory": math.ceil(node["param_bytes"] + node["out_bytes"])})
        seconds[node["id"]] = 2 * node["out_bytes"] / HOST_BANDWIDTH
    edges = [(source, target, seconds[source]) for source, target in profile["edges"]]
    return problem(name, [("acc", "accelerator")], devices("acc", count, DEVICE_BYTES), ops, tensors_of(edges))


def piper(graph, count, name):
    """A piper input on `count` devices."""
    variants = {}
    for node in graph["nodes"]:
        listed = node["TMPCs"]["1"]
        variants[str(node["id"])] = next((v for v in listed if v["id"] == "vanilla"), listed[0])
    total = sum(variant["timePerSample"] for variant in variants.values())
    unit = 1e-3 if total > MOST_SECONDS_PER_SAMPLE else 1
    ops = [
        {
            "name": op,
            "time": [variant["timePerSample"] * unit],
            "memory": math.ceil(variant["memoryUsageA"] + variant["memoryUsageB"]),
        }
        for op, variant in variants.items()
    ]
    edges = [
        (str(edge["sourceId"]), str(edge["destId"]), edge["communicationCost"] / graph["bandwidth"])
        for edge in graph["edges"]
    ]
    machines = devices("acc", count, int(graph["maxMemoryPerDevice"]))
    return problem(name, [("acc", "accelerator")], machines, ops, tensors_of(edges))


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def instances(data, kinds):
    """Yields (kind, name, problem)."""
    data = pathlib.Path(data)
    if "hetero" in kinds:
        for path in sorted((data / "dnn-partitioning/throughput").glob("*/*.json")):
            short = "LG" if path.parent.name == "LayerGraphs" else "OG"
            name = f"{short}-{path.stem}"
            yield "hetero", name, hetero(read(path), name)
    for kind, make in (("pipedream", pipedream), ("piper", piper)):
        if kind not in kinds:
            continue
        for path in sorted((data / kind).glob("*.json")):
            source = read(path)
            for count in COUNTS:
                name = f"{path.stem}-{count}"
                yield kind, name, make(source, count, name)


def write_all(data, out, kinds=("hetero", "pipedream", "piper")):
    """Writes every problem to OUT/kind/name.json and returns [(kind, name, path)]."""
    written = []
    for kind, name, content in instances(data, kinds):
        folder = pathlib.Path(out) / kind
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        written.append((kind, name, path))
    return written


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    kinds = sys.argv[3:] or ["hetero", "pipedream", "piper"]
    for kind, name, _ in write_all(sys.argv[1], sys.argv[2], kinds):
        print(f"{kind}/{name}")


if __name__ == "__main__":
    main()
