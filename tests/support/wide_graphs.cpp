#include "support/wide_graphs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"

namespace allot {
namespace {

class Maker {
 public:
  Maker(const char* name, const WideOptions& options) : options_(options), random_(options.seed, 5) {
    problem_.name = name;
    problem_.graph.model_name = {"model"};
    problem_.model_weight = {1};
    problem_.model_release = {0};
    problem_.modes.goal = Goal::kThroughput;
    Cluster& cluster = problem_.cluster;
    cluster.classes.push_back({.name = "fast"});
    if (options.unlike) {
      cluster.classes.push_back({.name = "slow"});
      cluster.classes.push_back({.name = "cpu", .kind = DeviceKind::kCpu});
    }
    for (std::uint32_t d = 0; d < options.devices; ++d) {
      const std::size_t cls = options.unlike ? d % 2 : 0;
      cluster.devices.push_back(
          {.name = "acc" + std::to_string(d), .cls = ClassId(cls), .memory_bytes = {}, .host = {}});
    }
    if (options.unlike)
      cluster.devices.push_back({.name = "cpu0", .cls = ClassId(2), .memory_bytes = {}, .host = {}});
  }

  OpId op() {
    const OpId id = problem_.graph.addOp("op" + std::to_string(problem_.graph.opCount()));
    const double seconds = 1e-3 * logNormal(0.6);
    problem_.op_seconds.push_back(seconds);
    if (options_.unlike) {
      problem_.op_seconds.push_back(seconds * 2.5 * logNormal(0.1));
      problem_.op_seconds.push_back(seconds * 10 * logNormal(0.3));
    }
    readers_.emplace_back();
    return id;
  }
  void edge(OpId from, OpId to) {
    auto& readers = readers_[from.index()];
    if (std::find(readers.begin(), readers.end(), to) == readers.end()) readers.push_back(to);
  }
  Random& random() { return random_; }

  Result<Problem> finish() {
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      if (readers_[i].empty()) continue;
      problem_.addTensor(OpId(i), readers_[i], 0, 1e-3 * options_.transfer * logNormal(0.6));
    }
    ALLOT_CHECK(problem_.finish());
    return std::move(problem_);
  }

 private:
  WideOptions options_;
  Random random_;
  Problem problem_;
  std::vector<std::vector<OpId>> readers_;

  // Mean 1; the sum of twelve uniform numbers is close enough to normal. Four digits keep files short.
  double logNormal(double sigma) {
    double normal = -6;
    for (int i = 0; i < 12; ++i) normal += random_.unit();
    return std::round(std::exp(sigma * normal - sigma * sigma / 2) * 1e4) / 1e4;
  }
};

}  // namespace

Result<Problem> branchGraph(std::uint32_t branches, std::uint32_t length, const WideOptions& options) {
  Maker maker("branches", options);
  const OpId source = maker.op();
  std::vector<OpId> last;
  for (std::uint32_t b = 0; b < branches; ++b) {
    OpId previous = source;
    for (std::uint32_t i = 0; i < length; ++i) {
      const OpId op = maker.op();
      maker.edge(previous, op);
      previous = op;
    }
    last.push_back(previous);
  }
  const OpId sink = maker.op();
  for (const OpId op : last) maker.edge(op, sink);
  return maker.finish();
}

Result<Problem> headGraph(std::uint32_t layers, std::uint32_t heads, std::uint32_t length,
                          const WideOptions& options) {
  Maker maker("heads", options);
  OpId input = maker.op();
  for (std::uint32_t l = 0; l < layers; ++l) {
    const OpId norm = maker.op();
    maker.edge(input, norm);
    std::vector<OpId> last;
    for (std::uint32_t h = 0; h < heads; ++h) {
      OpId previous = norm;
      for (std::uint32_t i = 0; i < length; ++i) {
        const OpId op = maker.op();
        maker.edge(previous, op);
        previous = op;
      }
      last.push_back(previous);
    }
    const OpId join = maker.op();
    for (const OpId op : last) maker.edge(op, join);
    maker.edge(input, join);
    const OpId up = maker.op();
    maker.edge(join, up);
    const OpId down = maker.op();
    maker.edge(up, down);
    maker.edge(join, down);
    input = down;
  }
  return maker.finish();
}

Result<Problem> gridGraph(std::uint32_t rows, std::uint32_t columns, const WideOptions& options) {
  Maker maker("grid", options);
  std::vector<OpId> above(columns);
  for (std::uint32_t r = 0; r < rows; ++r) {
    for (std::uint32_t c = 0; c < columns; ++c) {
      const OpId op = maker.op();
      if (r > 0) maker.edge(above[c], op);
      if (c > 0) maker.edge(above[c - 1], op);
      above[c] = op;
    }
  }
  return maker.finish();
}

Result<Problem> layeredGraph(std::uint32_t ops, std::uint32_t width, const WideOptions& options) {
  Maker maker("layered", options);
  constexpr std::uint32_t kNear = 8;
  std::vector<OpId> above, here;
  for (std::uint32_t i = 0; i < ops; ++i) {
    const OpId op = maker.op();
    const auto size = static_cast<std::uint32_t>(above.size());
    const std::uint32_t reads = size == 0 ? 0 : 1 + maker.random().below(3);
    for (std::uint32_t r = 0; r < reads; ++r) {
      const std::uint32_t place = static_cast<std::uint32_t>(here.size());
      const std::uint32_t near =
          (place + size + maker.random().below(2 * kNear + 1) - std::min(kNear, size)) % size;
      maker.edge(above[maker.random().chance(0.05) ? maker.random().below(size) : near], op);
    }
    here.push_back(op);
    if (here.size() < width) continue;
    above.swap(here);
    here.clear();
  }
  return maker.finish();
}

SolveOutcome solveFromLinearDp(const Problem& problem, const char* solver, double gap) {
  RunOptions run;
  run.threads = 1;
  run.solver = "linear-dp";
  const SolveOutcome start = solve(problem, run);
  run.solver = solver;
  run.gap = gap;
  return solve(problem, run, &start.plan);
}

}  // namespace allot
