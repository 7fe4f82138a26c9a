#!/usr/bin/env python3
"""Problems of the latency benchmark, as dictionaries of allot.problem/1.

tight(model)      a Moirai file whose device memories are scaled so that together they hold 1.02 times the model.
scattered(...)    a random graph with unrelated op times and transfers of their order: every op reads one to three of the ops
                  shortly before it.
profile(...)      a PipeDream layer profile on two devices as measured, two slower ones and a cpu, whose times are drawn.
layered(...)      the same for large graphs: layers of equal width, each op reads one or two of the layer before.
All are made from a seed by a generator of their own, so that a seed means the same graph everywhere.
"""
import math
import random

SPARE = 1.02
LINK_BANDWIDTH = 12.5e9


def tight(model):
    scaled = dict(model)
    need = sum(node["mem"] for node in model["nodes"])
    have = sum(device["memory"] for device in model["devices"])
    share = SPARE * need / have
    scaled["devices"] = [{**device, "memory": int(device["memory"] * share)} for device in model["devices"]]
    return scaled


def _problem(name, devices, ops, tensors):
    return {
        "schema": "allot.problem/1",
        "name": name,
        "classes": [{"name": f"c{d}", "kind": "accelerator"} for d in range(devices)],
        "devices": [{"name": f"d{d}", "class": f"c{d}"} for d in range(devices)],
        "ops": ops,
        "tensors": tensors,
        "goal": "latency",
    }


def profile(model, seed):
    """Times of the slower classes are synthesised: forward + backward as profiled, times a factor drawn for each layer."""
    chance = random.Random(seed)
    ops, seconds = [], {}
    for node in model["nodes"]:
        measured = 0 if node["op"].startswith("Input") else (node["fwd"] + node["bwd"]) / 1e3
        times = [measured, measured * chance.uniform(1.5, 3), measured * chance.uniform(3, 12)]
        ops.append({"name": node["id"], "time": times, "memory": math.ceil(node["param_bytes"] + node["out_bytes"])})
        seconds[node["id"]] = node["out_bytes"] / LINK_BANDWIDTH
    readers = {}
    for source, target in model["edges"]:
        readers.setdefault(source, {})[target] = None
    counts = {"fast": 2, "slow": 2, "cpu": 1}
    return {
        "schema": "allot.problem/1",
        "name": f"profile-{seed}",
        "classes": [{"name": name, "kind": "cpu" if name == "cpu" else "accelerator"} for name in counts],
        "devices": [
            {"name": f"{name}{i}", "class": name, "memory": 16_000_000_000} for name, count in counts.items() for i in range(count)
        ],
        "ops": ops,
        "tensors": [{"from": source, "to": list(to), "time": seconds[source]} for source, to in readers.items()],
        "goal": "latency",
    }


def _op(index, chance, speeds):
    base = chance.uniform(1, 10)
    return {"name": f"op{index}", "time": [round(base * speed * chance.uniform(0.7, 1.4), 3) * 1e-3 for speed in speeds]}


def scattered(ops, devices, seed, window=10):
    chance = random.Random(seed)
    speeds = [chance.uniform(0.7, 2) for _ in range(devices)]
    made = [_op(i, chance, speeds) for i in range(ops)]
    tensors = []
    for i in range(1, ops):
        before = list(range(max(0, i - window), i))
        for producer in chance.sample(before, min(len(before), chance.randint(1, 3))):
            tensors.append({"from": f"op{producer}", "to": [f"op{i}"], "bytes": 1, "time": round(chance.uniform(0.5, 5), 3) * 1e-3})
    return _problem(f"scattered-{ops}-{seed}", devices, made, tensors)


def layered(ops, devices, seed, width=64):
    chance = random.Random(seed)
    speeds = [chance.uniform(0.7, 2) for _ in range(devices)]
    made = [_op(i, chance, speeds) for i in range(ops)]
    readers = {}
    for i in range(width, ops):
        above = (i // width - 1) * width
        for _ in range(chance.randint(1, 2)):
            readers.setdefault(above + chance.randrange(width), set()).add(i)
    tensors = [
        {"from": f"op{producer}", "to": [f"op{i}" for i in sorted(to)], "bytes": 1, "time": round(chance.uniform(0.5, 5), 3) * 1e-3}
        for producer, to in sorted(readers.items())
    ]
    return _problem(f"layered-{ops}-{seed}", devices, made, tensors)
