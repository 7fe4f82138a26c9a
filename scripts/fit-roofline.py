#!/usr/bin/env python3
"""Fits the constants of the cost model (src/cost/families.cpp) to public measurements and prints its errors.

    ALLOT_DATA=/path/to/data scripts/fit-roofline.py [--quick]

Needs numpy and scipy, and the folders op-times/neusight and op-times/aiconfigurator below ALLOT_DATA. Device
figures come from the project's own catalogue.

Model: t = o + max(c, m) + (1 - overlap) * min(c, m), where c = flops / (peak * sustained * compute) and
m = bytes / (bandwidth * memory). By family of operators, `compute`, `memory` and `overlap` are fitted to the mean
absolute relative error, every device having the same weight; both efficiencies stay at or below 1, so no estimate is
below the datasheet. o is what one call costs in the harness that took the times; it is fitted by source and NOT part of
the model, which takes the overhead of the device instead.

Printed by device: the error of the fit over all devices, and in brackets that of a fit without the device.
"""
import ast
import csv
import os
import pathlib
import sys

import numpy as np
from scipy.optimize import minimize

PROJECT = pathlib.Path(__file__).resolve().parent.parent
QUICK = "--quick" in sys.argv

NEUSIGHT = {"NVIDIA A100 80GB PCIe": "a100-80gb-pcie", "NVIDIA A100-PCIE-40GB": "a100-40gb-pcie", "NVIDIA L4": "l4",
            "Tesla P4": "p4", "Tesla T4": "t4", "Tesla V100-PCIE-32GB": "v100-pcie-32gb", "AMD Instinct MI210": "mi210"}
AICONFIGURATOR = {"a100_sxm": "a100-80gb", "h200_sxm": "h200", "l40s": "l40s", "rtx_pro_6000_server": "rtx-pro-6000",
                  "b60": "arc-b60"}
EMBEDDINGS = ("wte", "wpe", "word_embeddings", "token_type_embeddings", "position_embeddings")


def figures():
    table = {}
    with open(PROJECT / "src/cluster/catalogue/figures.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            table.setdefault(row["device"], {})[row["figure"]] = row["value"]
    return table


DEVICES = figures()


def peak(device, arithmetic):
    value = DEVICES[device].get(arithmetic)
    return float(value) * 1e12 if value else None


class Samples:
    """By family, then (source, device): rows of flops, bytes, seconds, peak, bandwidth, sustained."""

    def __init__(self):
        self.families = {}

    def add(self, family, source, device, flops, size, seconds, arithmetic):
        rate = peak(device, arithmetic)
        if rate is None:
            return
        own = DEVICES[device]
        row = (flops, size, seconds, rate, float(own["bandwidth"]) * 1e9, float(own.get("sustained", 1)))
        self.families.setdefault(family, {}).setdefault((source, device), []).append(row)

    def finish(self):
        for groups in self.families.values():
            for key in groups:
                groups[key] = np.array(groups[key])


def rows_of(folder, name):
    with open(folder / name, encoding="utf-8") as file:
        yield from csv.DictReader(file)


def read_neusight(folder, samples):
    for row in rows_of(folder, "gemm.csv"):
        batch, m, n, k = (float(row[c] or 1) for c in "BMNK")
        batch = 1 if row["op"] == "linear" else batch
        size = 4 * batch * (m * n + n * k + m * k)
        samples.add("matmul fp32", row["op"], NEUSIGHT[row["device"]], 2 * batch * m * n * k, size,
                    float(row["latency_ms"]) / 1e3, "fp32")
    for row in rows_of(folder, "conv.csv"):
        batch, inputs, outputs, kernel, side, stride, padding = (
            float(row[c]) for c in ("B", "Cin", "Cout", "kernel_size", "input_size", "stride", "padding"))
        out = np.floor((side + 2 * padding - kernel) / stride) + 1
        if out < 1:
            continue
        samples.add("conv fp32", "conv", NEUSIGHT[row["device"]], 2 * batch * outputs * out**2 * inputs * kernel**2,
                    4 * (batch * inputs * side**2 + outputs * inputs * kernel**2 + batch * outputs * out**2),
                    float(row["latency_ms"]) / 1e3, "fp32")
    for row in rows_of(folder, "vec.csv"):
        op, count = row["op"], float(row["B"]) * float(row["H"])
        streams = 3 if op in ("add", "mul", "div", "pow") else 2
        family = "normalisation" if op in ("softmax", "ln") else "elementwise"
        samples.add(family, op if family == "normalisation" else "vec", NEUSIGHT[row["device"]], count,
                    4 * count * streams, float(row["latency_ms"]) / 1e3, "fp32")
    nodes = {(row["graph"], row["node"]): row for row in rows_of(folder, "graph_nodes.csv")}
    names = {key.replace(" ", "_"): value for key, value in NEUSIGHT.items()}
    for row in rows_of(folder, "graph_times.csv"):
        node = nodes[row["graph"], row["node"]]
        if node["target"].split(".")[-1] in EMBEDDINGS and row["device"] in names:
            count = float(np.prod(ast.literal_eval(node["output_shape"])))
            samples.add("gather", "embedding", names[row["device"]], count, 8 * count, float(row["fw_ms"]) / 1e3, "fp32")


def read_aiconfigurator(folder, samples):
    width = {"bfloat16": (2, "bf16", "matmul 16 bit"), "fp8": (1, "fp8", "matmul 8 bit"),
             "nvfp4": (0.5, "fp4", "matmul 4 bit")}
    for row in rows_of(folder, "gemm.csv"):
        size, arithmetic, family = width[row["dtype"]]
        m, n, k = (float(row[c]) for c in "mnk")
        samples.add(family, "gemm", AICONFIGURATOR[row["device"]], 2 * m * n * k, size * (m * k + n * k) + 2 * m * n,
                    float(row["latency_ms"]) / 1e3, arithmetic)
    for row in rows_of(folder, "attention.csv"):
        batch, new, past, heads, kv_heads, width_of_head, window = (
            float(row[c]) for c in ("batch", "isl", "past_kv", "heads", "kv_heads", "head_dim", "window"))
        if window > 0:
            continue
        decode = row["phase"] == "decode"
        queries, keys = (1, past + new) if decode else (new, past + new)
        pairs = keys if decode else new * past + new * new / 2
        samples.add("attention", row["phase"], AICONFIGURATOR[row["device"]], 4 * batch * heads * width_of_head * pairs,
                    4 * batch * width_of_head * (heads * queries + kv_heads * keys), float(row["latency_ms"]) / 1e3,
                    "bf16")


def logistic(x):
    return 1 / (1 + np.exp(-x))


class Fit:
    def __init__(self, groups, sustained, without=None):
        self.sustained = sustained
        self.sources = sorted({source for source, _ in groups})
        limit = 300 if QUICK else 800
        data = [(key, rows[::max(1, len(rows) // limit)]) for key, rows in sorted(groups.items()) if key[1] != without]

        def loss(x):
            return np.mean([self.errors(x, key, rows).mean() for key, rows in data])

        best = None
        for overlap in (-2.0, 2.0):
            start = np.array([1.0, 1.0, overlap] + [np.log(1e-5)] * len(self.sources))
            found = minimize(loss, start, method="Nelder-Mead", options=dict(maxiter=1500, xatol=1e-3, fatol=1e-5))
            best = found if best is None or found.fun < best.fun else best
        self.x, self.error = best.x, best.fun

    def errors(self, x, key, rows):
        compute, memory, overlap = logistic(x[:3])
        held = rows[:, 5] if self.sustained else 1
        c = rows[:, 0] / (rows[:, 3] * held * compute)
        m = rows[:, 1] / (rows[:, 4] * memory)
        seconds = np.exp(x[3 + self.sources.index(key[0])]) + np.maximum(c, m) + (1 - overlap) * np.minimum(c, m)
        return np.abs(seconds / rows[:, 2] - 1)

    def constants(self):
        return logistic(self.x[:3])


def main():
    data = os.environ.get("ALLOT_DATA")
    if not data:
        sys.exit("fit-roofline: set ALLOT_DATA to the folder of public data")
    samples = Samples()
    read_neusight(pathlib.Path(data) / "op-times/neusight", samples)
    read_aiconfigurator(pathlib.Path(data) / "op-times/aiconfigurator", samples)
    samples.finish()
    print("| family | compute | memory | overlap | call of the harness | mean error by device: fitted with it (without it) |")
    print("|---|---|---|---|---|---|")
    for family, groups in samples.families.items():
        sustained = family.startswith("matmul") or family == "attention"
        fit = Fit(groups, sustained)
        calls = ", ".join(f"{source} {np.exp(o) * 1e6:.0f} us" for source, o in zip(fit.sources, fit.x[3:]))
        cells = []
        left_out = {}
        for key, rows in sorted(groups.items()):
            device = key[1]
            alone = len({d for _, d in groups}) == 1
            if not alone and device not in left_out:
                left_out[device] = Fit(groups, sustained, device)
            text = f"{device} {key[0]} {100 * fit.errors(fit.x, key, rows).mean():.0f} %"
            if not alone:
                text += f" ({100 * left_out[device].errors(left_out[device].x, key, rows).mean():.0f} %)"
            cells.append(text)
        compute, memory, overlap = fit.constants()
        print(f"| {family} | {compute:.2f} | {memory:.2f} | {overlap:.2f} | {calls} | {', '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
