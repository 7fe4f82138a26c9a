// Good files with one bad value: numbers out of range, counts that do not match, unknown names, missing
// fields.
#include <gtest/gtest.h>

#include "bad_input_support.h"

namespace allot {
namespace {

TEST(BadValues, BadNumbers) {
  for (const char* bad : {"NaN", "Infinity", "-1", "1e13", "1e400", "\"nan\"", "\"inf\"", "\"-3us\"",
                          "\"5 parsecs\"", "\"\"", "true", "{}", "[[]]"}) {
    expectError(asProblem, with(kPlanned, "\"time\": [1]", std::string("\"time\": [") + bad + "]"), {});
    expectError(asProblem, with(kPlanned, "\"time\": 0.5", std::string("\"time\": ") + bad), {});
    expectError(asGraph,
                with(data("graph.json"), "\"time\": 0.1",
                     std::string("\"time\": ") + (std::string(bad) == "{}" ? "[]" : bad)),
                {});
    expectError(asCluster, with(data("cluster.json"), "\"launch\": 4e-6", std::string("\"launch\": ") + bad),
                {});
  }
  for (const char* bad : {"NaN", "Infinity", "-1", "1e16", "1e400", "\"5\"", "true", "null", "{}"}) {
    const std::string value(bad);
    expectError(asProblem,
                with(data("dnn_partitioning.json"), "\"fpgaLatency\": 2", "\"fpgaLatency\": " + value), {});
    expectError(asProblem, with(data("dnn_partitioning.json"), "\"cost\": 0.25,", "\"cost\": " + value + ","),
                {});
    if (value != "null")
      expectError(asProblem, with(data("moirai.json"), "[1.5, 3]", "[1.5, " + value + "]"), {});
    expectError(asProblem, with(data("moirai.json"), "[[0, 1], [1, 0]]", "[[0, 1], [" + value + ", 0]]"), {});
    expectError(asProblem, with(data("piper.json"), "\"timePerSample\": 0.25", "\"timePerSample\": " + value),
                {});
    expectError(asGraph, with(data("pipedream.json"), "\"fwd\": 0.539", "\"fwd\": " + value), {});
  }
  for (const char* bad : {"-5", "0.5", "1e19", "\"3 bananas\"", "\"-1GiB\"", "\"1e30GiB\"", "NaN", "true"}) {
    const std::string value(bad);
    expectError(asCluster, with(data("cluster.json"), "\"memory\": 85899345920", "\"memory\": " + value), {});
    expectError(asProblem, with(data("problem.json"), "\"memory\": 1,", "\"memory\": " + value + ","), {});
    expectError(asProblem, with(data("dnn_partitioning.json"), "\"size\": 1024.0", "\"size\": " + value), {});
    expectError(asProblem, with(data("moirai.json"), "\"mem\": 60", "\"mem\": " + value), {});
    expectError(asGraph, with(data("pipedream.json"), "\"param_bytes\": 36", "\"param_bytes\": " + value),
                {});
    if (value != "0.5") expectError(asProblem, with(data("piper.json"), "8192.0", value), {});
  }
  for (const char* bad : {"0", "-1", "1e-9", "1e300", "\"5GB\"", "\"1e308TB/s\"", "\"0GB/s\""}) {
    expectError(asCluster, with(data("cluster.json"), "12500000000.0", bad), {"links[0].bandwidth"});
    expectError(asProblem, with(data("piper.json"), "25000000000.0", bad), {"bandwidth"});
  }
  for (const char* bad : {"nan", "inf", "-1", "1e300", "abc", "", "1;2", "1 2"}) {
    expectError(asGraph,
                with(data("pipedream_graph.txt"), "forward_compute_time=0.539",
                     std::string("forward_compute_time=") + bad),
                {"line 2"});
  }
  for (const char* bad : {"nan", "-1", "1e300", "[1; 2", "[1; x]", ""}) {
    expectError(
        asGraph,
        with(data("pipedream_graph.txt"), "activation_size=4000.0", std::string("activation_size=") + bad),
        {"line 2"});
  }
  for (const char* bad : {"0", "-1", "1e300", "\"2\""})
    expectError(asCluster, with(data("cluster.json"), "\"speed\": 2", std::string("\"speed\": ") + bad),
                {"classes[0].speed"});
  for (const char* bad : {"-1", "0.5", "\"x\"", "1e30"})
    expectError(asPlan, with(data("plan.json"), "18446744073709551615", bad), {"seed"});
  expectError(asPlan, with(data("plan.json"), "0.38461538461538464", "0.5"),
              {"gap", "(value - bound) / value"});
  std::string heavy = kPlanned;
  for (const char* name : {"\"name\": \"a\"", "\"name\": \"b\"", "\"name\": \"c\""}) {
    heavy =
        with(heavy, name, std::string(name) + ", \"memory\": \"1024TiB\", \"weights\": 1152921504606846976");
  }
  heavy = with(heavy, "\"name\": \"a\"", "\"name\": \"a\", \"workspace\": 1152921504606846976");
  heavy = with(heavy, "\"time\": 0.5", "\"time\": 0.5, \"bytes\": 1152921504606846976");
  expectError(asProblem, heavy, {"add up"});
}

TEST(BadValues, CountsThatDoNotMatch) {
  expectError(asProblem, with(kPlanned, "\"time\": [1]", "\"time\": []"),
              {"ops[0].time", "0 times for 1 classes"});
  expectError(asProblem, with(kPlanned, "\"time\": [1]", "\"time\": [1, 2]"), {"2 times for 1 classes"});
  expectError(asProblem, with(kPlanned, "\"time\": 0.5", "\"time\": [[0, 1]]"), {"1 rows for 2 devices"});
  expectError(asProblem, with(kPlanned, "\"time\": 0.5", "\"time\": [[0, 1], [1]]"),
              {"tensors[0].time[1]", "1 times for 2 devices"});
  expectError(asProblem, with(data("moirai.json"), "[1.5, 3]", "[1.5]"),
              {"nodes[1].time", "1 times for 2 devices"});
  expectError(asProblem, with(data("moirai.json"), "[[0, 1], [1, 0]]", "[[0, 1], [1, 0, 2]]"),
              {"edges[3].time[1]"});
  expectError(asProblem, with(data("moirai.json"), "[[0, 1], [1, 0]]", "[[0, 1]]"),
              {"edges[3].time", "1 rows"});
  expectError(asProblem, with(data("moirai.json"), "{\"id\": 1}", "{\"id\": 2}"), {"devices[1].id"});
  expectError(asProblem, with(data("dnn_partitioning.json"), "0.2500000001", "0.26"),
              {"edges[1].cost", "node \"10\""});
  expectError(asPlan, with(data("plan.json"), "[0.2, 3.25, 2]", "[0.2, 3.25]"), {"curve[1]"});
}

TEST(BadValues, NothingThere) {
  const std::string head = R"({"schema": "allot.problem/1", "classes": [{"name": "g", "kind": "cpu"}], )";
  expectError(asProblem, head + R"("devices": [{"name": "d", "class": "g"}], "ops": []})", {"no ops"});
  expectError(asProblem, head + R"("devices": [], "ops": [{"name": "a", "time": [1]}]})", {"no devices"});
  expectError(asProblem, head + R"("devices": [{"name": "d", "class": "g"}]})", {"\"ops\" is missing"});
  expectError(asGraph, R"({"schema": "allot.graph/1", "ops": []})", {"no ops"});
  expectError(asCluster, R"({"schema": "allot.cluster/1", "classes": [], "devices": []})", {"no devices"});
  expectError(asProblem, R"({"maxFPGAs": 1, "maxCPUs": 0, "maxSizePerFPGA": 1, "nodes": [], "edges": []})",
              {"no nodes"});
  expectError(asProblem, R"({"format": "moirai-v1", "devices": [], "nodes": [], "edges": []})",
              {"no devices"});
  expectError(asGraph, R"({"format": "pipedream-v1", "nodes": [], "edges": []})", {"no nodes"});
  expectError(asProblem, with(data("piper.json"), "\"maxDevices\": 3", "\"maxDevices\": 0"),
              {"maxDevices", "no devices"});
  expectError(asProblem,
              with(with(data("dnn_partitioning.json"), "\"maxFPGAs\": 2", "\"maxFPGAs\": 0"),
                   "\"maxCPUs\": 1", "\"maxCPUs\": 0"),
              {"no devices"});
}

TEST(BadValues, AbsurdCountsOfDevices) {
  for (const char* bad : {"4097", "1000000000", "-1", "1.5", "\"many\"", "1e300"}) {
    expectError(asProblem,
                with(data("dnn_partitioning.json"), "\"maxFPGAs\": 2", std::string("\"maxFPGAs\": ") + bad),
                {"maxFPGAs"});
    expectError(asProblem,
                with(data("dnn_partitioning.json"), "\"maxCPUs\": 1", std::string("\"maxCPUs\": ") + bad),
                {"maxCPUs"});
    expectError(asProblem,
                with(data("piper.json"), "\"maxDevices\": 3", std::string("\"maxDevices\": ") + bad),
                {"maxDevices"});
  }
  std::string many =
      R"({"schema": "allot.cluster/1", "classes": [{"name": "g", "kind": "cpu"}], "devices": [)";
  for (int i = 0; i < 5000; ++i)
    many += (i ? ", " : "") + std::string("{\"name\": \"d") + std::to_string(i) + "\", \"class\": \"g\"}";
  expectError(asCluster, many + "]}", {"devices", "absurd"});
}

TEST(BadValues, UnknownNames) {
  expectError(asProblem, with(kPlanned, "\"class\": \"gpu\"", "\"class\": \"tpu\""),
              {"devices[0].class", "unknown class \"tpu\""});
  expectError(asProblem, with(kPlanned, "accelerator", "quantum"), {"classes[0].kind"});
  expectError(asProblem, with(kPlanned, "\"goal\": \"latency\"", "\"goal\": \"fame\""),
              {"goal", "throughput"});
  expectError(asProblem, with(kPlanned, "\"goal\"", "\"options\": {\"link-mode\": \"magic\"}, \"goal\""),
              {"options.link-mode"});
  expectError(asProblem, with(kPlanned, "\"goal\"", "\"constraints\": {\"pin\": {\"a\": \"g7\"}}, \"goal\""),
              {"constraints.pin.a", "g7"});
  expectError(asProblem, with(kPlanned, "\"goal\"", "\"constraints\": {\"pin\": {\"z\": \"g0\"}}, \"goal\""),
              {"constraints.pin.z"});
  expectError(asProblem,
              with(kPlanned, "\"goal\"", "\"constraints\": {\"forbid\": [[\"a\", \"g7\"]]}, \"goal\""),
              {"constraints.forbid[0][1]"});
  expectError(asProblem, with(kPlanned, "\"goal\"", "\"constraints\": {\"forbid\": [[\"a\"]]}, \"goal\""),
              {"constraints.forbid[0]", "[op, device]"});
  expectError(asProblem,
              with(kPlanned, "\"goal\"", "\"constraints\": {\"together\": [[\"a\", \"z\"]]}, \"goal\""),
              {"constraints.together[0][1]"});
  expectError(asProblem,
              with(kPlanned, "\"goal\"", "\"constraints\": {\"order\": [[\"a\", \"z\"]]}, \"goal\""),
              {"constraints.order[0][1]"});
  expectError(asProblem, with(data("problem.json"), "\"phase\": \"backward\"", "\"phase\": \"sideways\""),
              {"ops[2].phase"});
  expectError(asProblem, with(data("problem.json"), "\"model\": \"m1\"", "\"model\": \"m9\""),
              {"ops[3].model"});
  expectError(asCluster, with(data("cluster.json"), "\"from\": \"node1\"", "\"from\": \"node7\""),
              {"links[2].from"});
  expectError(asProblem, with(kPlanned, ", \"time\": 0.5", ""), {"no link from g0 to g1"});
  expectError(asProblem, with(data("moirai.json"), "ms (assumed)", "fortnights"),
              {"time_unit", "--time-unit"});
  expectError(asPlan, with(data("plan.json"), "\"feasible\"", "\"splendid\""), {"status"});
  Warnings warnings;
  EXPECT_FALSE(readProblem(data("piper.json"), "bad.json", inUnit("days"), nullptr, warnings));
}

TEST(BadValues, MissingFields) {
  for (const char* key : {"maxFPGAs", "maxCPUs", "maxSizePerFPGA", "nodes", "edges", "id", "cpuLatency",
                          "fpgaLatency", "sourceId", "destId", "cost"}) {
    const std::string quoted = "\"" + std::string(key) + "\"";
    expectError(forcedReader(Format::kDnnPartitioning),
                with(data("dnn_partitioning.json"), quoted, "\"other\""), {quoted.c_str(), "missing"});
  }
  for (const char* key : {"devices", "nodes", "edges", "src", "dst"}) {
    const std::string quoted = "\"" + std::string(key) + "\"";
    expectError(forcedReader(Format::kMoirai), with(data("moirai.json"), quoted, "\"other\""),
                {quoted.c_str(), "missing"});
  }
  for (const char* key : {"maxDevices", "maxMemoryPerDevice", "bandwidth", "nodes", "edges", "TMPCs", "1",
                          "communicationCost"}) {
    const std::string quoted = "\"" + std::string(key) + "\"";
    expectError(forcedReader(Format::kPiper), with(data("piper.json"), quoted, "\"other\""),
                {quoted.c_str(), "missing"});
  }
  for (const char* key : {"nodes", "edges", "id", "op", "fwd", "bwd"}) {
    const std::string quoted = "\"" + std::string(key) + "\"";
    expectError(forcedReader(Format::kPipeDreamJson), with(data("pipedream.json"), quoted, "\"other\""),
                {quoted.c_str(), "missing"});
  }
  for (const char* key :
       {"forward_compute_time", "backward_compute_time", "activation_size", "parameter_size"}) {
    expectError(forcedReader(Format::kPipeDreamText), with(data("pipedream_graph.txt"), key, "other"),
                {"line 1", key, "missing"});
  }
  expectError(forcedReader(Format::kPipeDreamText), "node1 -- Conv\n", {"line 1", "not a layer"});
  expectError(forcedReader(Format::kPipeDreamText), data("pipedream_graph.txt") + "\tnode1\n",
              {"line 9", "not an edge"});
}

}  // namespace
}  // namespace allot
