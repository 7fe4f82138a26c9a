"""Problems and plans for the tests of `allot report`, as JSON files: as many ops as wanted, with names like those of exported models."""
import json
import random
import subprocess

DEVICES = [("gpu-a", "large"), ("gpu-b", "small"), ("gpu-c", "small"), ("cpu-0", "cpu")]
PARTS = ["norm/Reduce", "norm/Scale", "attention/query/MatMul", "attention/key/MatMul", "attention/value/MatMul", "attention/Softmax",
         "attention/Context", "attention/out/MatMul", "mlp/up/MatMul", "mlp/Gelu", "mlp/down/MatMul", "Add"]


def problem(ops, name="a model", odd_names=()):
    """A chain of layers with branches inside; `odd_names` replace the first names."""
    rng = random.Random(7)
    names = [f"/model/layers.{i // len(PARTS)}/{PARTS[i % len(PARTS)]}" for i in range(ops)]
    names[:len(odd_names)] = odd_names
    items, tensors = [], []
    for i, op in enumerate(names):
        work = rng.uniform(0.2, 2.0) * 1e-4
        items.append({"name": op, "type": PARTS[i % len(PARTS)].split("/")[-1], "weights": int(work * 1e10),
                      "time": [work, 3 * work, 20 * work]})
        if i + 1 < ops:
            targets = [i + 1] + ([i + 3] if i % len(PARTS) == 1 and i + 3 < ops else [])
            tensors.append({"from": op, "to": [names[t] for t in targets], "bytes": rng.randrange(1, 64) << 14})
    return {"schema": "allot.problem/1", "name": name,
            "classes": [{"name": "large", "kind": "accelerator"}, {"name": "small", "kind": "accelerator"}, {"name": "cpu", "kind": "cpu"}],
            "devices": [{"name": device, "class": cls} for device, cls in DEVICES],
            "ops": items, "tensors": tensors,
            "links": [{"from": "*", "to": "*", "latency": 1e-5, "bandwidth": 1e10}]}


def plan(whole, goal):
    """Blocks of neighbours on the devices in turn: no good plan, but one that shows everything a report can."""
    names = [op["name"] for op in whole["ops"]]
    blocks = len(DEVICES) if goal == "throughput" else min(len(names), 6 * len(DEVICES))
    place = {op: DEVICES[i * blocks // len(names) % len(DEVICES)][0] for i, op in enumerate(names)}
    return {"schema": "allot.plan/1", "goal": goal, "assignment": place}


def save(path, document):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)


def two_models():
    whole = problem(60, "two models")
    whole["models"] = [{"name": "first"}, {"name": "second", "release": 1e-3}]
    for i, op in enumerate(whole["ops"]):
        op["model"] = "first" if i < 30 else "second"
    whole["tensors"] = [t for t in whole["tensors"] if not (t["from"] == whole["ops"][29]["name"])]
    first = {op["name"] for op in whole["ops"][:30]}
    for tensor in whole["tensors"]:
        tensor["to"] = [op for op in tensor["to"] if (op in first) == (tensor["from"] in first)]
    return whole


def training():
    """Forward and backward ops that share devices."""
    whole = problem(40, "a model in training")
    for i, op in enumerate(whole["ops"]):
        op["phase"] = "forward" if i < 20 else "backward"
        op["group"] = f"g{i if i < 20 else 39 - i}"
    return whole


def run(program, *arguments):
    """Runs the command; 5 means that the limit was met, with a plan."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 5):
        raise RuntimeError(f"allot {' '.join(arguments)}: {done.stderr}")
