#!/usr/bin/env python3
"""Holds Allot's peak of live memory against what a process really takes under ONNX Runtime.

Each model is loaded alone in a process: one thread, no arena, no memory pattern, and an allocator that gives freed
blocks back at once. Its peak is VmHWM during one run above VmRSS of the loaded session, inputs included. Allot's
is the largest sum of live bytes on one unlimited cpu device less the weights, for throughput, whose reference
order is one that runtimes can follow, and for latency.

Models come from scripts/export-onnx-models.py; sizes of their inputs are raised until activations are what counts.
Needs onnxruntime and numpy; without them it says so and does nothing.

    scripts/check-live-memory.py FOLDER [--build build/release] [--level all|basic|none] [--tolerance 0.25]
"""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Sizes for dimensions that exports leave open, by their names.
DIMS = {"batch": 8, "sequence": 256, "target": 64, "samples": 48000}


def memory_of_process(field):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status: no {field}")


def run_once(path, level):
    """In a process of its own: bytes that one run takes above the loaded session."""
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.log_severity_level = 3
    options.graph_optimization_level = {
        "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
        "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
        "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL}[level]
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32,
             "tensor(bool)": numpy.bool_}
    random = numpy.random.default_rng(1)

    def feed(scale):
        values = {}
        for entry in session.get_inputs():
            shape = [size if isinstance(size, int) else max(1, DIMS[size] // scale) for size in entry.shape]
            kind = types[entry.type]
            value = random.random(shape).astype(kind) if kind == numpy.float32 else numpy.ones(shape, kind)
            values[entry.name] = onnxruntime.OrtValue.ortvalue_from_numpy(value)
        return values

    outputs = [entry.name for entry in session.get_outputs()]
    session.run_with_ort_values(outputs, feed(8))  # what is made once, at the first run, belongs to the session
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = memory_of_process("VmRSS")
    session.run_with_ort_values(outputs, feed(1))
    named = sorted({size for entry in session.get_inputs() for size in entry.shape if isinstance(size, str)})
    print(json.dumps({"peak": memory_of_process("VmHWM") - before, "dims": named}))


def measured(path, level):
    environment = dict(os.environ, MALLOC_MMAP_THRESHOLD_="65536", MALLOC_TRIM_THRESHOLD_="65536",
                       MALLOC_TOP_PAD_="0", MALLOC_ARENA_MAX="1", OMP_NUM_THREADS="1")
    done = subprocess.run([sys.executable, os.path.abspath(__file__), path, "--one", "--level", level],
                          capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def predicted(allot, path, goal, dims):
    """Bytes above the weights."""
    held = {}
    for memory in ("live", "static"):
        words = [word for name in dims for word in ("--dim", f"{name}={DIMS[name]}")]
        done = subprocess.run([allot, "plan", path, "--cluster", "cpu:1", "--goal", goal, "--memory", memory, "--json",
                               "--time-limit", "5", *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        held[memory] = json.loads(done.stdout)["devices"][0]["memory"]
    return held["live"] - held["static"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="of .onnx files")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--level", choices=["all", "basic", "none"], default="all", help="of graph optimisation")
    parser.add_argument("--tolerance", type=float, default=0.25, help="largest error that passes")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return run_once(options.folder, options.level)
    try:
        import onnxruntime  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}; pip install onnxruntime numpy")
        return 0
    allot = os.path.join(options.build, "allot")
    worst = 0
    print(f"{'model':28} {'measured':>12} {'throughput':>12} {'error':>8} {'latency':>12} {'error':>8}")
    for name in sorted(os.listdir(options.folder)):
        if not name.endswith(".onnx"):
            continue
        path = os.path.join(options.folder, name)
        real = measured(path, options.level)
        row = f"{name:28} {real['peak'] / 2**20:8.1f} MiB"
        for goal in ("throughput", "latency"):
            said = predicted(allot, path, goal, real["dims"])
            error = said / real["peak"] - 1
            worst = max(worst, abs(error))
            row += f" {said / 2**20:8.1f} MiB {100 * error:+7.1f}%"
        print(row, flush=True)
    print(f"largest error {100 * worst:.1f} %")
    return 0 if worst <= options.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
