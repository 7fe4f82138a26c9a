#!/usr/bin/env python3
"""Holds Allot's ONNX shape rules against the ONNX project's own test cases and shape inference.

Every operator test of the installed package `onnx` becomes a model without declared output types; small inputs
(axes, shapes, scales) become initialisers. Allot's answer is compared with the shapes and types of the outputs
that the project computed, and for inner values with onnx.shape_inference; pools also over a grid of windows. Whole models of the package (light,
pytorch-converted, pytorch-operator, simple) and any folder given with --models are compared the same way.

Prints, by operator: right, unknown, wrong. The exit code is 1 where anything is wrong.

    scripts/check-onnx-rules.py --build build/release
"""
import argparse
import collections
import glob
import itertools
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARIES = ["-lfmt", "-lyaml-cpp", "-lsimdjson", "-lClp", "-lCoinUtils", "-ldl", "-lpthread"]
SMALL = 64  # elements of an input that becomes an initialiser


def build_tool(build):
    """The program that prints types, compiled against the library of a build folder."""
    tool = os.path.join(build, "print_types")
    source = os.path.join(ROOT, "tests", "onnx", "print_types.cpp")
    archive = os.path.join(build, "liballot.a")
    if not os.path.exists(archive):
        sys.exit(f"{archive}: not there; build the library first")
    includes = [f"-I{os.path.join(ROOT, 'include')}", f"-I{os.path.join(ROOT, 'src')}",
                f"-I{os.path.join(build, 'include')}"]
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-DFMT_SHARED", *includes, source, archive,
                    *LIBRARIES, "-o", tool], check=True)
    return tool


def tensor_shape(value):
    """Shape of a declared tensor type, or None where it is not complete."""
    if value.type.WhichOneof("value") != "tensor_type" or not value.type.tensor_type.HasField("shape"):
        return None
    dims = value.type.tensor_type.shape.dim
    if any(d.WhichOneof("value") != "dim_value" for d in dims):
        return None
    return [d.dim_value for d in dims]


def expectations(onnx, model):
    """Shapes and types of values by onnx.shape_inference."""
    try:
        full = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # the project's own inference refuses some of its own expanded tests
        full = model
    expected = {}
    for value in list(full.graph.value_info) + list(full.graph.output):
        if value.type.WhichOneof("value") == "tensor_type":
            expected[value.name] = (value.type.tensor_type.elem_type or None, tensor_shape(value))
    return expected


def strip(model):
    """Takes away what is declared of all values but the inputs."""
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.ClearField("type")


def to_tensor(onnx, numpy, data, name):
    if isinstance(data, onnx.TensorProto):
        copy = onnx.TensorProto()
        copy.CopyFrom(data)
        copy.name = name
        return copy
    return onnx.numpy_helper.from_array(numpy.asarray(data), name)


def operator_cases(onnx, numpy):
    """(name, model, expected) of the package's operator tests."""
    import onnx.backend.test.case.node as node_cases

    for case in node_cases.collect_testcases(None):
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        expected = expectations(onnx, case.model)
        inputs, outputs = case.data_sets[0]
        for declared, data in zip(case.model.graph.output, outputs):
            if declared.type.WhichOneof("value") == "tensor_type" and not isinstance(data, (list, dict)):
                shape = list(data.dims) if isinstance(data, onnx.TensorProto) else list(numpy.asarray(data).shape)
                expected[declared.name] = (declared.type.tensor_type.elem_type, shape)
        strip(model)
        for declared, data in zip(list(model.graph.input), inputs):
            if declared.type.WhichOneof("value") != "tensor_type" or isinstance(data, (list, dict)):
                continue
            tensor = to_tensor(onnx, numpy, data, declared.name)
            count = 1
            for dim in tensor.dims:
                count *= dim
            if count <= SMALL:
                model.graph.initializer.append(tensor)
        yield case.name, model, expected


def pool_cases(onnx):
    """(name, model, expected) of pools over a grid of windows, by the project's shape inference.

    Left out are windows that reach a stride or more beyond the padded input: the inference gives negative sizes
    there, or one place where runtimes make none.
    """
    helper, kinds = onnx.helper, ["MaxPool", "AveragePool", "LpPool"]
    grid = itertools.product([1, 2, 3, 7], [1, 2, 3, 9], [1, 2, 3, 10], [1, 2], [0, 1], [0, 2], [0, 1],
                             ["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    for number, (size, kernel, stride, dilation, before, after, up, pad) in enumerate(grid):
        if pad != "NOTSET" and (before or after):
            continue
        room = size + before + after - dilation * (kernel - 1) - 1
        if room <= -stride and not pad.startswith("SAME"):
            continue
        place = {"pads": [before, after]} if pad == "NOTSET" else {"auto_pad": pad}
        node = helper.make_node(kinds[number % 3], ["x"], ["y"], kernel_shape=[kernel], strides=[stride],
                                dilations=[dilation], ceil_mode=up, **place)
        graph = helper.make_graph([node], "pool", [helper.make_tensor_value_info("x", 1, [1, 1, size])],
                                  [helper.make_tensor_value_info("y", 1, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
        expected = expectations(onnx, model)
        strip(model)
        yield f"{node.op_type} {size} kernel {kernel} stride {stride} dilation {dilation} pads {before} {after} " \
              f"ceil {up} {pad}", model, expected


def whole_models(onnx, folders):
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "**", "*.onnx"), recursive=True)):
            model = onnx.load(path, load_external_data=False)
            expected = expectations(onnx, model)
            strip(model)
            yield path, model, expected


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="folder with liballot.a")
    parser.add_argument("--tool", help="the compiled tests/onnx/print_types.cpp, instead of building it")
    parser.add_argument("--models", action="append", default=[], help="a folder of further models")
    parser.add_argument("--dim", action="append", default=[],
                        help="name=value for a symbolic dimension of the inputs; =value for all others")
    parser.add_argument("--all", action="store_true", help="list every unknown value, not only the counts")
    options = parser.parse_args()
    try:
        import numpy
        import onnx
        import onnx.numpy_helper
        import onnx.shape_inference
    except ImportError as error:
        print(f"skipped: {error}; pip install onnx")
        return 0
    tool = options.tool or build_tool(options.build)
    data = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    cases = list(operator_cases(onnx, numpy)) + list(pool_cases(onnx))
    cases += whole_models(onnx, [os.path.join(data, part) for part in
                                 ("light", "simple", "pytorch-converted", "pytorch-operator")] + options.models)
    counts = collections.defaultdict(collections.Counter)
    unknown_costs = collections.Counter()
    wrong = []
    unknown = []
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, (_, model, _) in enumerate(cases):
            paths.append(os.path.join(folder, f"{number}.onnx"))
            with open(paths[-1], "wb") as file:
                file.write(model.SerializeToString())
        done = subprocess.run([tool, *options.dim], input="\n".join(paths) + "\n", capture_output=True, text=True)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        if len(answers) != len(cases):
            sys.exit(f"{tool} stopped at {cases[len(answers)][0]}: {done.stderr[-500:]}")
    for (name, model, expected), answer in zip(cases, answers):
        if "error" in answer:
            op = model.graph.node[0].op_type if model.graph.node else "?"
            counts[op]["wrong"] += 1
            wrong.append(f"{name}: {answer['error']}")
            continue
        for node in answer["nodes"]:
            if not node["known"]:
                unknown_costs[node["op"]] += 1
        for node in model.graph.node:
            for output in node.output:
                if output not in expected:
                    continue
                element, shape = expected[output]
                found = answer["values"].get(output, {"shape": None, "type": 0})
                verdict = "right"
                if found["type"] and element and found["type"] != element:
                    verdict = "wrong"
                elif shape is not None and found["shape"] is not None and found["shape"] != shape:
                    verdict = "wrong"
                elif (shape is not None and found["shape"] is None) or (element and not found["type"]):
                    verdict = "unknown"
                counts[node.op_type][verdict] += 1
                text = f"{name}: {node.op_type} '{output}' is type {element} {shape}, Allot says " \
                       f"{found['type']} {found['shape']}"
                if verdict == "wrong":
                    wrong.append(text)
                elif verdict == "unknown":
                    unknown.append(text)
    for op in sorted(counts):
        row = counts[op]
        if row["wrong"] or row["unknown"] or options.all:
            print(f"{op:32} right {row['right']:5}  unknown {row['unknown']:4}  wrong {row['wrong']:4}")
    for text in wrong + (unknown if options.all else []):
        print(text)
    total = sum(counts.values(), collections.Counter())
    print(f"{len(cases)} models, {len(counts)} operators: right {total['right']}, unknown {total['unknown']}, "
          f"wrong {total['wrong']}")
    print("costs not known:", ", ".join(f"{op} {n}" for op, n in unknown_costs.most_common()) or "none")
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
