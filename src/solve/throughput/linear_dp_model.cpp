#include "solve/throughput/linear_dp_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "graph/contraction.h"

namespace allot {
namespace {

// Joining free items builds the model anew for every round of joins.
constexpr std::size_t kJoinLimit = 50'000;

// Neighbours of parts, each once and none of them the part itself.
Csr<std::uint32_t> joinRows(const Csr<std::uint32_t>& rows, std::span<const std::uint32_t> part,
                            const Csr<std::uint32_t>& members) {
  Csr<std::uint32_t> out;
  std::vector<std::uint32_t> seen(members.rows(), UINT32_MAX);
  for (std::uint32_t p = 0; p < members.rows(); ++p) {
    for (const std::uint32_t item : members[p]) {
      for (const std::uint32_t other : rows[item]) {
        const std::uint32_t q = part[other];
        if (q == p || seen[q] == p) continue;
        seen[q] = p;
        out.items.push_back(q);
      }
    }
    out.closeRow();
  }
  return out;
}

}  // namespace

LineModel::LineModel(const Problem& p) : problem(&p) {
  PipelineModel model(p, PipelineModel::Items::kBlocks);
  if (model.itemCount() <= kJoinLimit) model.joinFreeItems(true);
  pools = std::move(model.pools);
  const std::size_t k = pools.size();
  parts = p.modes.training_load == TrainingLoad::kMaxParts ? 2 : 1;
  per_destination = p.transfers() == Transfers::kByLink;
  item_count = model.itemCount();
  if (parts == 1) {
    seconds = std::move(model.seconds);
  } else {
    seconds.resize(item_count * k * 2);
    for (std::size_t i = 0; i < item_count * k; ++i) {
      const bool runs = model.seconds[i] < kCannotRun;
      seconds[2 * i] = runs ? model.seconds[i] - model.rest_seconds[i] : kCannotRun;
      seconds[2 * i + 1] = runs ? model.rest_seconds[i] : 0;
    }
  }
  resident = std::move(model.resident);
  weights = std::move(model.weights);
  trains = std::move(model.trains);
  net_items = std::move(model.net_items);
  item_nets = std::move(model.item_nets);
  net_producer = std::move(model.net_producer);
  net_part = std::move(model.net_rest);
  if (parts == 1) std::fill(net_part.begin(), net_part.end(), std::uint8_t{0});
  send = std::move(model.send);
  receive = std::move(model.receive);
  before = std::move(model.before);
  after = std::move(model.after);
  stash_readers = std::move(model.stash_readers);
  stash_bytes = std::move(model.stash_bytes);
  item_stashes = std::move(model.item_stashes);
  item_of_unit_ = std::move(model.item_of_unit);
  fillSync();
  fillWork();
  fillNetWeights();
}

void LineModel::fillSync() {
  sync_bandwidth_.assign(pools.size(), std::numeric_limits<double>::infinity());
  sync_latency_.assign(pools.size(), 0);
  for (std::size_t k = 0; k < pools.size(); ++k) {
    if (!problem->modes.replicate || pools[k].devices.size() < 2) continue;
    const Link* link = problem->pairLink(pools[k].devices[0], pools[k].devices[1]);
    if (link == nullptr) continue;
    sync_bandwidth_[k] = link->bandwidth_bytes_per_second;
    sync_latency_[k] = link->latency_seconds;
  }
}

// For any shares of the pools, the largest load is at least the work of all items, each where its share of a
// device's time is least. Multiplicative updates look for shares that make this tight.
void LineModel::fillWork() {
  const std::size_t k = pools.size();
  std::vector<double> count(k);
  for (std::size_t pool = 0; pool < k; ++pool) count[pool] = static_cast<double>(pools[pool].devices.size());
  const double devices = std::accumulate(count.begin(), count.end(), 0.0);
  capacity.assign(k, 1 / devices);
  work.assign(item_count, 0);
  const auto itemTime = [&](std::size_t item, std::size_t pool) {
    const double* t = times(item, pool);
    return parts == 1 ? t[0] : t[0] + t[1];
  };
  const std::size_t rounds = std::clamp<std::size_t>(20'000'000 / (item_count * k + 1), 3, 60);
  std::vector<double> best = capacity;
  double most = -1;
  for (std::size_t round = 0; k > 1 && round < rounds; ++round) {
    std::vector<double> load(k, 0);
    double total = 0;
    for (std::size_t i = 0; i < item_count; ++i) {
      double least = kCannotRun;
      std::size_t where = 0;
      for (std::size_t pool = 0; pool < k; ++pool) {
        const double share = itemTime(i, pool) * capacity[pool];
        if (!(share < least)) continue;
        least = share;
        where = pool;
      }
      if (least == kCannotRun) continue;
      total += least;
      load[where] += itemTime(i, where);
    }
    if (total > most) {
      most = total;
      best = capacity;
    }
    if (total <= 0) break;
    const double step = 0.5 / std::sqrt(1.0 + static_cast<double>(round));
    double sum = 0;
    for (std::size_t pool = 0; pool < k; ++pool) {
      capacity[pool] *= std::exp(std::clamp(step * (load[pool] / count[pool] / total - 1), -1.0, 1.0));
      sum += capacity[pool] * count[pool];
    }
    for (double& c : capacity) c /= sum;
  }
  capacity = best;
  total_work = 0;
  for (std::size_t i = 0; i < item_count; ++i) {
    double least = kCannotRun;
    for (std::size_t pool = 0; pool < k; ++pool) least = std::min(least, itemTime(i, pool) * capacity[pool]);
    work[i] = least == kCannotRun ? 0 : least;
    total_work += work[i];
  }
}

void LineModel::fillNetWeights() {
  const std::size_t k = pools.size();
  net_weight.assign(netCount(), 0);
  for (std::size_t net = 0; net < netCount(); ++net) {
    double sum = 0;
    for (std::size_t pool = 0; pool < k; ++pool) sum += cost(net, pool, true) + cost(net, pool, false);
    net_weight[net] = static_cast<float>(sum / static_cast<double>(2 * k));
  }
}

double LineModel::load(const StageSums& sums, std::size_t pool, std::uint32_t replicas) const {
  double all = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    all += problem->modes.overlap == Overlap::kSum ? sums.compute[part] + sums.communication[part]
                                                   : std::max(sums.compute[part], sums.communication[part]);
  }
  if (replicas == 1) return all;
  const double r = replicas;
  const double sync =
      sums.trains ? 2 * (r - 1) / r * sums.weights / sync_bandwidth_[pool] + 2 * (r - 1) * sync_latency_[pool]
                  : 0;
  return all / r + sync;
}

LineModel LineModel::coarser(std::span<const std::uint32_t> part, std::size_t part_count) const {
  LineModel out;
  out.problem = problem;
  out.pools = pools;
  out.parts = parts;
  out.per_destination = per_destination;
  out.capacity = capacity;
  out.sync_bandwidth_ = sync_bandwidth_;
  out.sync_latency_ = sync_latency_;
  out.item_count = part_count;
  out.total_work = total_work;
  const std::size_t row = pools.size() * parts;
  out.seconds.assign(part_count * row, 0);
  out.resident.assign(part_count, 0);
  out.weights.assign(part_count, 0);
  out.trains.assign(part_count, 0);
  out.work.assign(part_count, 0);
  Csr<std::uint32_t> of;
  for (std::uint32_t i = 0; i < item_count; ++i) {
    const std::uint32_t p = part[i];
    for (std::size_t c = 0; c < row; ++c) out.seconds[p * row + c] += seconds[i * row + c];
    out.resident[p] += resident[i];
    out.weights[p] += weights[i];
    out.trains[p] = out.trains[p] | trains[i];
    out.work[p] += work[i];
    of.items.push_back(p);
    of.closeRow();
  }
  const Csr<std::uint32_t> members = transposed(of, part_count);
  out.before = joinRows(before, part, members);
  out.after = joinRows(after, part, members);

  std::vector<std::uint32_t> seen(part_count, UINT32_MAX);
  const auto joinEnds = [&](const Csr<std::uint32_t>& from, std::uint32_t r, Csr<std::uint32_t>& to) {
    const std::size_t first = to.items.size();
    for (const std::uint32_t item : from[r]) {
      if (seen[part[item]] == r) continue;
      seen[part[item]] = r;
      to.items.push_back(part[item]);
    }
    return to.items.size() - first;
  };
  const std::size_t k = pools.size();
  for (std::uint32_t net = 0; net < netCount(); ++net) {
    if (joinEnds(net_items, net, out.net_items) < 2) {
      out.net_items.items.pop_back();
      continue;
    }
    out.net_items.closeRow();
    out.net_producer.push_back(part[net_producer[net]]);
    out.net_part.push_back(net_part[net]);
    out.net_weight.push_back(net_weight[net]);
    for (std::size_t pool = 0; pool < k; ++pool) {
      out.send.push_back(send[net * k + pool]);
      out.receive.push_back(receive[net * k + pool]);
    }
  }
  out.item_nets = transposed(out.net_items, part_count);
  std::fill(seen.begin(), seen.end(), UINT32_MAX);
  for (std::uint32_t s = 0; s < stash_bytes.size(); ++s) {
    joinEnds(stash_readers, s, out.stash_readers);
    out.stash_readers.closeRow();
  }
  out.stash_bytes = stash_bytes;
  out.item_stashes = transposed(out.stash_readers, part_count);
  return out;
}

Plan LineModel::toPlan(const LinePlan& line) const {
  Plan plan;
  plan.modes = problem->modes;
  plan.assignment.resize(problem->opCount());
  std::vector<std::size_t> taken(pools.size(), 0);
  for (const LineStage& stage : line.stages) {
    PlanStage& out = plan.stages.emplace_back();
    for (std::uint32_t r = 0; r < stage.replicas; ++r)
      out.devices.push_back(pools[stage.pool].devices[taken[stage.pool]++]);
  }
  for (std::size_t i = 0; i < problem->opCount(); ++i) {
    const std::uint32_t item = item_of_unit_[problem->unit(OpId(i)).index()];
    PlanStage& stage = plan.stages[line.stage_of[item]];
    stage.ops.emplace_back(i);
    plan.assignment[i] = stage.devices.front();
  }
  std::erase_if(plan.stages, [](const PlanStage& stage) { return stage.ops.empty(); });
  return plan;
}

LinePlan LineModel::fromPlan(const Plan& plan) const {
  LinePlan line;
  line.stage_of.assign(item_count, UINT32_MAX);
  for (std::uint32_t s = 0; s < plan.stages.size(); ++s) {
    for (const OpId op : plan.stages[s].ops) {
      std::uint32_t& stage = line.stage_of[item_of_unit_[problem->unit(op).index()]];
      if (stage != UINT32_MAX && stage != s) return {};
      stage = s;
    }
  }
  for (std::uint32_t i = 0; i < item_count; ++i) {
    if (line.stage_of[i] == UINT32_MAX) return {};
    for (const std::uint32_t next : after[i]) {
      if (line.stage_of[next] < line.stage_of[i]) return {};
    }
  }
  for (const PlanStage& stage : plan.stages) {
    const auto pool = std::find_if(pools.begin(), pools.end(), [&](const Pool& p) {
      return std::find(p.devices.begin(), p.devices.end(), stage.devices.front()) != p.devices.end();
    });
    if (pool == pools.end()) return {};
    for (const DeviceId d : stage.devices) {
      if (std::find(pool->devices.begin(), pool->devices.end(), d) == pool->devices.end()) return {};
    }
    line.stages.push_back(
        {static_cast<std::uint32_t>(pool - pools.begin()), static_cast<std::uint32_t>(stage.devices.size())});
  }
  line.value = plan.value;
  return line;
}

double lineModelBytes(const Problem& problem) {
  const double pools = static_cast<double>(std::min<std::size_t>(problem.deviceCount(), 8));
  const double ops = static_cast<double>(problem.opCount());
  const double tensors = static_cast<double>(problem.graph.tensorCount());
  const double ends = static_cast<double>(problem.graph.tensor_consumers.items.size()) + tensors;
  return ops * (100 + 16 * pools) + tensors * (160 + 32 * pools) + ends * 48;
}

}  // namespace allot
