#include "solve/online/queue_flow.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace allot::online {
namespace {

constexpr std::size_t kMostArcs = 1500;
// The first so many positions are blocks of their own; then so many blocks of 2, of 4, ...
constexpr std::size_t kBlocksBySize = 8;
constexpr std::size_t kSpareBlocks = 2;  // to grow into
// The flow engine's limits hold with room to spare.
constexpr double kMostCost = static_cast<double>(std::int64_t{1} << 42);
constexpr double kUnits = 1 << 20;  // costs of the longest model at position 1

// To a power of 4: weights that differ little count as equal, so that few kinds of jobs remain.
double rounded(double weight) {
  return weight > 0 ? std::exp2(2 * std::round(0.5 * std::log2(weight))) : 0;
}

}  // namespace

QueueFlow::QueueFlow(const World& world) : world_(world), group_of_(world.devices.size(), kNone) {
  const Problem& problem = world.problem;
  std::vector<double> work(problem.graph.modelCount(), 0);
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    double least = kCannotRun;
    for (std::size_t c = 0; c < problem.cluster.classCount(); ++c)
      least = std::min(least, problem.opSeconds(OpId(i), ClassId(c)));
    work[problem.graph.op_model[i].index()] += least;
  }
  double longest = 0;
  for (const double seconds : work) longest = std::max(longest, seconds);
  scale_ = longest > 0 ? kUnits / longest : 1;
  sink_ = flow_.addNode().value();
}

bool QueueFlow::assign(std::span<const std::uint32_t> jobs) {
  if (!updateGroups() || !addBlocks(jobs.size()) || !updateKinds(jobs) || !solve()) return false;
  readHomes();
  return true;
}

bool QueueFlow::updateGroups() {
  for (Group& group : groups_) group.devices = 0;
  for (std::size_t d = 0; d < world_.devices.size(); ++d) {
    group_of_[d] = kNone;
    if (!world_.devices[d].up) continue;
    const auto cls = static_cast<std::uint32_t>(world_.problem.cluster.devices[d].cls.index());
    const double factor = world_.devices[d].factor;
    std::size_t g = 0;
    while (g < groups_.size() && (groups_[g].cls != cls || groups_[g].factor != factor)) ++g;
    if (g == groups_.size()) {
      groups_.push_back({cls, factor, 0, {}});
      for (auto& [key, kind] : kinds_) {
        kind.arcs.emplace_back();
        kind.priced_seconds.clear();
      }
    }
    ++groups_[g].devices;
    group_of_[d] = static_cast<std::uint32_t>(g);
  }
  for (std::size_t g = groups_.size(); g-- > 0;) {
    if (groups_[g].devices == 0 && !removeGroup(g)) return false;
  }
  for (const Group& group : groups_) {
    for (const Block& block : group.blocks) {
      if (!flow_.setCapacity(block.to_sink, group.devices * block.size)) return false;
    }
  }
  return !groups_.empty();
}

bool QueueFlow::removeGroup(std::size_t group) {
  for (const Block& block : groups_[group].blocks) {
    if (!flow_.removeNode(block.node)) return false;
  }
  const auto at = static_cast<std::ptrdiff_t>(group);
  groups_.erase(groups_.begin() + at);
  for (auto& [key, kind] : kinds_) {
    kind.arcs.erase(kind.arcs.begin() + at);
    kind.priced_seconds.clear();
  }
  for (std::uint32_t& g : group_of_) {
    if (g != kNone && g > group) --g;
  }
  return true;
}

QueueFlow::Key QueueFlow::keyOf(std::uint32_t j) const {
  const Job& job = world_.jobs[j];
  return {static_cast<std::uint32_t>(job.report.model.index()), job.waiting, rounded(job.report.weight)};
}

// Of the last ops of a model, by group; what a group may not run runs elsewhere.
std::vector<double> QueueFlow::secondsOf(const Key& key) const {
  const ModelPlan& model = world_.plans.models[std::get<0>(key)];
  std::vector<double> seconds(groups_.size(), 0);
  std::vector<double> here(groups_.size());
  for (std::size_t i = model.ops.size() - std::get<1>(key); i < model.ops.size(); ++i) {
    const OpId op = model.ops[i];
    std::fill(here.begin(), here.end(), kNever);
    for (std::size_t d = 0; d < group_of_.size(); ++d) {
      if (world_.mayRun(op, DeviceId(d))) here[group_of_[d]] = world_.seconds(op, DeviceId(d));
    }
    for (std::size_t g = 0; g < groups_.size(); ++g)
      seconds[g] += here[g] < kNever ? here[g] : world_.leastSeconds(op);
  }
  return seconds;
}

bool QueueFlow::updateKinds(std::span<const std::uint32_t> jobs) {
  for (auto& [key, kind] : kinds_) kind.jobs.clear();
  std::vector<std::uint32_t> others;
  for (const std::uint32_t j : jobs) {
    const auto found = kinds_.find(keyOf(j));
    if (found != kinds_.end())
      found->second.jobs.push_back(j);
    else
      others.push_back(j);
  }
  for (auto it = kinds_.begin(); it != kinds_.end();) {
    if (!it->second.jobs.empty()) {
      ++it;
      continue;
    }
    if (!flow_.removeNode(it->second.node)) return false;
    it = kinds_.erase(it);
  }
  const std::size_t blocks = blockCount();
  for (const std::uint32_t j : others) {
    auto found = kinds_.find(keyOf(j));
    if (found == kinds_.end()) {
      if (kinds_.size() * blocks >= kMostArcs) continue;
      const auto node = flow_.addNode();
      if (!node) return false;
      found = kinds_.emplace(keyOf(j), Kind{}).first;
      found->second.node = *node;
      found->second.arcs.resize(groups_.size());
    }
    found->second.jobs.push_back(j);
  }
  double weight = 0, count = 0;
  for (auto& [key, kind] : kinds_) {
    const auto alike = static_cast<double>(kind.jobs.size());
    weight += std::get<2>(key) * alike;
    count += alike;
    kind.seconds = secondsOf(key);
    if (!flow_.setSupply(kind.node, static_cast<std::int64_t>(kind.jobs.size()))) return false;
  }
  mean_weight_ = weight > 0 ? rounded(weight / count) : 1;
  return flow_.setSupply(sink_, -static_cast<std::int64_t>(count)).has_value();
}

std::size_t QueueFlow::blockCount() const {
  std::size_t blocks = 0;
  for (const Group& group : groups_) blocks += group.blocks.size();
  return blocks;
}

std::uint32_t QueueFlow::positions(const Group& group) {
  return group.blocks.empty() ? 0 : group.blocks.back().first + group.blocks.back().size;
}

// Room for so many jobs, and for some more in each queue.
bool QueueFlow::addBlocks(std::size_t jobs) {
  std::size_t devices = 0;
  for (const Group& group : groups_) devices += group.devices;
  for (Group& group : groups_) {
    while (positions(group) <= jobs / devices) {
      if (!addBlock(group)) return false;
    }
  }
  return true;
}

bool QueueFlow::addBlock(Group& group) {
  Block block;
  block.first = positions(group);
  if (group.blocks.size() >= kBlocksBySize) block.size = 1u << (group.blocks.size() / kBlocksBySize - 1);
  const auto node = flow_.addNode();
  if (!node) return false;
  const auto arc = flow_.addArc(*node, sink_, group.devices * block.size, 0);
  if (!arc) return false;
  block.node = *node;
  block.to_sink = *arc;
  group.blocks.push_back(block);
  return true;
}

// Queues have become shorter: blocks that stay empty go, but for some to grow into.
bool QueueFlow::dropBlocks(std::size_t group) {
  std::vector<Block>& blocks = groups_[group].blocks;
  std::size_t used = blocks.size();
  while (used > 0 && flow_.flow(blocks[used - 1].to_sink) == 0) --used;
  while (blocks.size() > used + kSpareBlocks) {
    if (!flow_.removeNode(blocks.back().node)) return false;
    blocks.pop_back();
    for (auto& [key, kind] : kinds_) kind.arcs[group].pop_back();
  }
  return true;
}

// Arcs to every block, at their present costs.
bool QueueFlow::priceArcs(const Key& key, Kind& kind) {
  const double weight = std::get<2>(key) / mean_weight_;
  const bool same = kind.priced_seconds == kind.seconds && kind.priced_weight == weight;
  kind.priced_seconds = kind.seconds;
  kind.priced_weight = weight;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (std::size_t b = same ? kind.arcs[g].size() : 0; b < groups_[g].blocks.size(); ++b) {
      const Block& block = groups_[g].blocks[b];
      const double delayed = block.first + 0.5 * (block.size - 1) + weight;
      const auto cost = static_cast<std::int64_t>(std::min(kind.seconds[g] * delayed * scale_, kMostCost));
      if (b < kind.arcs[g].size()) {
        if (!flow_.setCost(kind.arcs[g][b], cost)) return false;
        continue;
      }
      const auto arc = flow_.addArc(kind.node, block.node, flow::kUnlimited, cost);
      if (!arc) return false;
      kind.arcs[g].push_back(*arc);
    }
  }
  return true;
}

bool QueueFlow::solve() {
  std::size_t jobs = 0;
  for (const auto& [key, kind] : kinds_) jobs += kind.jobs.size();
  // A position costs more than the one before it: where the last one stays empty, none is missing.
  for (bool missing = true; missing;) {
    for (auto& [key, kind] : kinds_) {
      if (!priceArcs(key, kind)) return false;
    }
    if (!flow_.solve()) return false;
    missing = false;
    for (Group& group : groups_) {
      if (flow_.flow(group.blocks.back().to_sink) == 0 || positions(group) >= jobs) continue;
      if (kinds_.size() * (blockCount() + kSpareBlocks) > kMostArcs) continue;
      for (std::size_t b = 0; b < kSpareBlocks; ++b) {
        if (!addBlock(group)) return false;
      }
      missing = true;
    }
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!dropBlocks(g)) return false;
  }
  return true;
}

// Among jobs alike the more urgent ones take the places farther from the end.
void QueueFlow::readHomes() {
  home_.assign(world_.jobs.size(), kNone);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places;  // position, group
  for (const auto& [key, kind] : kinds_) {
    places.clear();
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t b = 0; b < kind.arcs[g].size(); ++b) {
        const auto jobs = static_cast<std::size_t>(flow_.flow(kind.arcs[g][b]));
        places.insert(places.end(), jobs, {groups_[g].blocks[b].first, g});
      }
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < kind.jobs.size(); ++i) home_[kind.jobs[i]] = places[i].second;
  }
}

}  // namespace allot::online
