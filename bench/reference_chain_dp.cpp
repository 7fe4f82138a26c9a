// The published dynamic programme over chains of ideals (Tarnawski et al., NeurIPS 2020), plainly: a peer for
// the benchmark.
//
// Every ideal of the contracted forward graph is listed, every pair of an ideal and one inside it is priced
// from scratch and stored, then a table over (ideal, devices used by kind) is filled. Optimal for contiguity
// chain, via-host transfers, overlap `sum`, resident memory and no replicas. Nothing is pruned, as in the
// published program; like there, more than 60,000 ideals are refused, and so are more than 2 GB of pairs or
// 60 seconds. Usage: allot_reference_chain_dp PROBLEM. Prints one JSON document: {value, ideals, pairs,
// seconds}, or {skipped}.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>

#include "allot/formats.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostIdeals = 60'000;
constexpr double kMostBytes = 2e9;
constexpr double kMostSeconds = 60;

using Ideal = std::vector<std::uint64_t>;  // one bit per item

bool holds(const Ideal& ideal, std::size_t item) {
  return (ideal[item / 64] >> (item % 64) & 1) != 0;
}

struct Pair {
  std::uint32_t inner, outer;
};

class Reference {
 public:
  explicit Reference(const Problem& problem) : model_(problem, PipelineModel::Items::kBlocks) {
    model_.joinFreeItems(true);
  }

  std::string run() {
    if (!listIdeals()) return skipped(fmt::format("more than {} ideals", kMostIdeals));
    if (const std::string reason = pricePairs(); !reason.empty()) return skipped(reason);
    fillTable();
    if (late()) return skipped(fmt::format("more than {} s", kMostSeconds));
    if (best_ == kInfinity) return skipped("no chain fits");
    return fmt::format(R"({{"value": {:.17g}, "ideals": {}, "pairs": {}, "seconds": {:.3f}}})", best_,
                       ideals_.size(), pairs_.size(), seconds());
  }

 private:
  std::clock_t start_ = std::clock();
  PipelineModel model_;
  std::vector<Ideal> ideals_;  // smaller ones first
  std::vector<Pair> pairs_;    // by outer ideal
  std::vector<double> loads_;  // [pair * pools + pool]
  double best_ = kInfinity;

  // Of CPU.
  double seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }
  bool late() const { return seconds() > kMostSeconds; }
  static std::string skipped(const std::string& reason) {
    return fmt::format(R"({{"skipped": "{}"}})", reason);
  }

  bool listIdeals() {
    std::vector<Ideal> level{Ideal((model_.itemCount() + 63) / 64, 0)};
    while (!level.empty()) {
      std::set<Ideal> next;  // all ideals of a level have the same number of items
      for (Ideal& ideal : level) {
        for (std::uint32_t i = 0; i < model_.itemCount(); ++i) {
          const auto before = model_.before[i];
          const auto in = [&](std::uint32_t j) { return holds(ideal, j); };
          if (in(i) || !std::all_of(before.begin(), before.end(), in)) continue;
          Ideal larger = ideal;
          larger[i / 64] |= std::uint64_t{1} << (i % 64);
          next.insert(std::move(larger));
        }
        ideals_.push_back(std::move(ideal));
        if (ideals_.size() + next.size() > kMostIdeals || late()) return false;
      }
      level.assign(next.begin(), next.end());
    }
    return true;
  }

  static bool inside(const Ideal& inner, const Ideal& outer) {
    for (std::size_t w = 0; w < inner.size(); ++w) {
      if ((inner[w] & ~outer[w]) != 0) return false;
    }
    return true;
  }

  // Why it cannot be done, or nothing.
  std::string pricePairs() {
    const std::string too_late = fmt::format("more than {} s", kMostSeconds);
    for (const bool counts_only : {true, false}) {
      std::size_t pairs = 0;
      for (std::uint32_t outer = 0; outer < ideals_.size(); ++outer) {
        if (late()) return too_late;
        for (std::uint32_t inner = 0; inner < outer; ++inner) {
          if (!inside(ideals_[inner], ideals_[outer])) continue;
          ++pairs;
          if (counts_only) continue;
          pairs_.push_back({inner, outer});
          price(ideals_[inner], ideals_[outer]);
        }
      }
      if (!counts_only) break;
      const double bytes = static_cast<double>(pairs * (sizeof(Pair) + model_.poolCount() * sizeof(double)));
      if (bytes > kMostBytes) return fmt::format("{} pairs need {:.1f} GB", pairs, bytes / 1e9);
      pairs_.reserve(pairs);
      loads_.reserve(pairs * model_.poolCount());
    }
    return {};
  }

  // Adds the loads of the stage between two ideals, by pool.
  void price(const Ideal& inner, const Ideal& outer) {
    const std::size_t pools = model_.poolCount();
    std::vector<std::uint8_t> stage(model_.itemCount());
    std::vector<double> sum(pools, 0);
    double bytes = 0;
    for (std::size_t i = 0; i < stage.size(); ++i) {
      stage[i] = holds(outer, i) && !holds(inner, i);
      if (!stage[i]) continue;
      bytes += model_.resident[i];
      for (std::size_t pool = 0; pool < pools; ++pool) sum[pool] += model_.time(i, pool);
    }
    for (std::size_t net = 0; net < model_.netCount(); ++net) {
      const auto ends = model_.net_items[net];
      std::size_t here = 0;
      for (const std::uint32_t i : ends) here += stage[i];
      if (here == 0 || here == ends.size()) continue;
      const bool sends = stage[model_.net_producer[net]] != 0;
      for (std::size_t pool = 0; pool < pools; ++pool) sum[pool] += model_.cost(net, pool, sends);
    }
    for (std::size_t pool = 0; pool < pools; ++pool)
      loads_.push_back(bytes > model_.pools[pool].memory ? kInfinity : sum[pool]);
  }

  void fillTable() {
    std::vector<std::size_t> stride;
    std::size_t states = 1;
    for (const Pool& pool : model_.pools) {
      stride.push_back(states);
      states *= pool.devices.size() + 1;
    }
    // [ideal * states + devices used]: the least largest load
    std::vector<double> table(ideals_.size() * states, kInfinity);
    table[0] = 0;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const Pair& pair = pairs_[p];
      for (std::size_t pool = 0; pool < model_.poolCount(); ++pool) {
        const double load = loads_[p * model_.poolCount() + pool];
        if (load == kInfinity) continue;
        for (std::size_t state = 0; state < states; ++state) {
          if (state / stride[pool] % (model_.pools[pool].devices.size() + 1) ==
              model_.pools[pool].devices.size())
            continue;
          double& to = table[pair.outer * states + state + stride[pool]];
          to = std::min(to, std::max(load, table[pair.inner * states + state]));
        }
      }
    }
    const double* all = &table[(ideals_.size() - 1) * states];
    best_ = *std::min_element(all, all + states);
  }
};

int run(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  Warnings warnings;
  const auto problem = readProblem(text.str(), path, {}, nullptr, warnings);
  if (!problem) {
    fmt::print(stderr, "{}\n", problem.error().text());
    return 3;
  }
  const Modes& modes = problem->modes;
  if (problem->goal() != Goal::kThroughput || modes.contiguity != Contiguity::kChain || modes.replicate ||
      problem->transfers() != Transfers::kViaHost || modes.overlap != Overlap::kSum || modes.in_flight ||
      modes.training_load != TrainingLoad::kSum || modes.max_stages > 0) {
    fmt::print(stderr, "{}: the published method knows none of these modes\n", path);
    return 2;
  }
  fmt::print("{}\n", Reference(*problem).run());
  return 0;
}

}  // namespace
}  // namespace allot

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: allot_reference_chain_dp PROBLEM\n");
    return 2;
  }
  return allot::run(argv[1]);
}
