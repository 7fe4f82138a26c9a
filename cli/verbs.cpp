// The tables of verbs and of the command's own options.
#include "arguments.h"

namespace allot::cli {
namespace {

constexpr unsigned kInput = kJson | kReading | kModes | kRun;
constexpr unsigned kPlanned = kInput | kConstraints;

std::vector<Verb> makeVerbs() {
  return {
      {"import",
       "read a file and say what is in it; -o writes it in Allot's own format",
       "INPUT",
       1,
       3,
       {},
       kJson | kOutput | kReading | kModes,
       "import model.json\nimport graph.txt --time-unit ms -o graph.json\nimport graph.json --cluster "
       "rig.yaml --goal latency -o problem.json\nimport cpu_trace.json gpu_trace.json -o model.json\nimport "
       "chain.csv types.csv --pack 0.5,2,10ms -o packed.json",
       runImport},
      {"plan",
       "decide where every operator runs",
       "INPUT",
       1,
       0,
       {},
       kPlanned | kOutput | kStart | kTable | kStrict,
       "plan problem.json --goal throughput\nplan problem.json --goal latency --gap 1% --time-limit 30 -o "
       "plan.json\n"
       "plan graph.json --cluster rig.yaml --goal latency --pin 'embed*=cpu0' --together 'head.*' --json",
       runPlan},
      {"check",
       "re-compute a plan independently and name what is wrong with it",
       "PROBLEM PLAN",
       2,
       0,
       {},
       kPlanned | kProve | kStart | kStrict,
       "check problem.json plan.json\ncheck problem.json plan.json --prove --time-limit 30",
       runCheck},
      {"compare",
       "run several solvers, the rules in use today among them, on one problem",
       "INPUT",
       1,
       0,
       {},
       kPlanned | kSolvers | kStart,
       "compare problem.json --goal throughput\ncompare problem.json --goal latency --solvers "
       "single,heft,portfolio --json\ncompare model.json --start expert-split.json",
       runCompare},
      {"affinity",
       "say which of several models to place on the same devices",
       "INPUT",
       1,
       0,
       {},
       kJson | kReading | kModes,
       "affinity alexnet.csv resnet50.csv bert.csv\naffinity problem.json --json",
       runAffinity},
      {"devices",
       "list and show known devices, write a cluster to edit, detect this machine",
       "ACTION NAME",
       1,
       0,
       {"list", "show", "new", "detect"},
       kJson | kOutput | kDevices,
       "devices list nvidia\ndevices show A100-80GB\ndevices new 2xA100-80GB,1xT4,cpu:16 -o "
       "rig.yaml\ndevices "
       "detect --measure -o here.yaml",
       runDevices},
      {"simulate",
       "value an assignment (and its orders, where it has them) and list what it violates; or replay events",
       "PROBLEM [PLAN]",
       1,
       0,
       {},
       kPlanned | kOutput | kNoise | kEvents,
       "simulate problem.json plan.json\nsimulate problem.json plan.json --noise 10% --seed 7\n"
       "simulate problem.json --events events.jsonl --max-moves 20 -o decisions.jsonl",
       runSimulate},
      {"explain",
       "say what limits a plan, why an op is where it is, and what more hardware would give",
       "PROBLEM PLAN",
       2,
       0,
       {},
       kPlanned | kOp,
       "explain problem.json plan.json\nexplain problem.json plan.json --op layer.3.mlp --time-limit 0",
       runExplain},
      {"report",
       "write a plan as one HTML file: timeline, loads, graph, ops, what-ifs",
       "PROBLEM PLAN",
       2,
       0,
       {},
       kPlanned | kOutput,
       "report problem.json plan.json\nreport problem.json plan.json -o plan.html --time-limit 10",
       runReport},
      {"export",
       "write a plan for other tools",
       "PROBLEM PLAN",
       2,
       0,
       {},
       kPlanned | kOutput | kTo,
       "export problem.json plan.json --to chrome -o trace.json\nexport problem.json plan.json --to dot -o "
       "graph.dot",
       runExport},
      {"demo",
       "plan a built-in model and compare with the rules in use today",
       "",
       0,
       0,
       {},
       kJson | kOutput | kRun,
       "demo\ndemo -o demo.json",
       runDemo},
      {"completion",
       "print a completion script for a shell",
       "SHELL",
       1,
       1,
       {"bash", "zsh", "fish"},
       0,
       "completion bash > /etc/bash_completion.d/allot\ncompletion fish > "
       "~/.config/fish/completions/allot.fish",
       runCompletion},
      {"version",
       "print the version",
       "",
       0,
       0,
       {},
       kJson | kOptionsDoc,
       "version\nversion --json",
       runVersion},
  };
}

std::vector<CommandOption> makeOptions() {
  using A = Arguments;
  std::vector<CommandOption> table;
  const auto text = [&](std::string_view name, char letter, std::string_view value, std::string_view help,
                        unsigned family, std::string A::*member, std::vector<std::string_view> choices = {}) {
    table.push_back({name, letter, value, help, std::move(choices), family, member, nullptr, nullptr});
  };
  const auto flag = [&](std::string_view name, char letter, std::string_view help, unsigned family,
                        bool A::*member) {
    table.push_back({name, letter, "", help, {}, family, nullptr, member, nullptr});
  };
  const auto list = [&](std::string_view name, std::string_view value, std::string_view help, unsigned family,
                        std::vector<std::string> A::*member) {
    table.push_back({name, 0, value, help, {}, family, nullptr, nullptr, member});
  };
  flag("quiet", 'q', "print no summary, warnings or progress", 0, &A::quiet);
  flag("verbose", 'v', "print more", 0, &A::verbose);
  flag("json", 0, "print one JSON document on standard output", kJson, &A::json);
  text("output", 'o', "FILE", "write the result to this file; - is standard output", kOutput, &A::output);
  text("from", 0, "FORMAT", "what the input is, where it is not recognised", kReading, &A::from);
  text("time-unit", 0, "UNIT", "unit of the times in a foreign file", kReading, &A::time_unit,
       {"s", "ms", "us"});
  flag("merge-edges", 0, "join edges of one producer whose transfer times are equal", kReading,
       &A::merge_edges);
  text("pack", 0, "LOW,HIGH,TIME",
       "op chains: merge ops that follow one another while their speed-up stays within LOW..HIGH times the "
       "first one's, or TIME is not over; for example 0.5,2,10ms",
       kReading, &A::pack);
  text("cluster", 0, "DEVICES",
       "devices for inputs that have none: a file, or for example 2xA100-80GB,1xT4,cpu:16", kReading,
       &A::cluster);
  text("link", 0, "LINK",
       "what joins devices named on the command line, for example pcie4, nvlink3 or 25GB/s,5us",
       kReading | kDevices, &A::link);
  list("dim", "NAME=SIZE", "ONNX: value of a symbolic dimension; may be repeated", kReading, &A::dim);
  text("times", 0, "FILE", "measured times of ops, which go before all others: CSV or allot.profile/1",
       kReading, &A::times);
  text("config", 0, "FILE", "a YAML or JSON map of option: value", kModes | kRun, &A::config);
  list("set", "NAME=VALUE", "set any option of docs/options.md; may be repeated", kModes | kRun, &A::set);
  list("pin", "PATTERN=DEVICE", "run the ops whose names match on this device; may be repeated", kConstraints,
       &A::pin);
  list("forbid", "PATTERN=DEVICE", "keep the ops whose names match off this device; may be repeated",
       kConstraints, &A::forbid);
  list("together", "PATTERN", "keep the ops whose names match on one device; may be repeated", kConstraints,
       &A::together);
  flag("table", 0, "throughput: also print the best value of every smaller cluster", kTable, &A::table);
  flag("prove", 0, "prove the value of a small problem again, by another method", kProve, &A::prove);
  flag("strict", 0, "exit with 5 where the gap asked for is not reached, or --prove does not prove", kStrict,
       &A::strict);
  text("start", 0, "PLAN", "a plan or a split to start the search from", kStart, &A::start);
  text("noise", 0, "SHARE", "also value the plan with op times off by this much, for example 10%", kNoise,
       &A::noise);
  text("events", 0, "FILE",
       "instead of a plan: models arrive and leave, devices fail, slow down and return, as in this file",
       kEvents, &A::events);
  text("solvers", 0, "NAMES", "which solvers to compare: a,b,c or all", kSolvers, &A::solvers);
  text("op", 0, "NAME", "explain this op, or all ops of this layer", kOp, &A::op);
  text("to", 0, "FORMAT", "what to write", kTo, &A::to, {"chrome", "dot", "json", "dnn-partitioning", "mps"});
  flag("measure", 0, "detect: measure memory bandwidth and a matrix product, about two seconds", kDevices,
       &A::measure);
  flag("options-doc", 0, "print docs/options.md", kOptionsDoc, &A::options_doc);
  flag("man-page", 0, "print the manual page", kOptionsDoc, &A::man_page);
  return table;
}

}  // namespace

std::span<const Verb> verbs() {
  static const std::vector<Verb> table = makeVerbs();
  return table;
}

std::span<const CommandOption> commandOptions() {
  static const std::vector<CommandOption> table = makeOptions();
  return table;
}

}  // namespace allot::cli
