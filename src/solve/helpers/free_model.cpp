#include "solve/helpers/free_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Beyond this general solvers do nothing of use within an hour.
constexpr std::size_t kMostBinaries = 200000;

}  // namespace

bool FreeModel::accepts(const Problem& problem) {
  const Modes& modes = problem.modes;
  return problem.unitCount() * problem.deviceCount() <= kMostBinaries &&
         problem.goal() == Goal::kThroughput && modes.contiguity == Contiguity::kNone && !modes.replicate &&
         !modes.in_flight && (modes.max_stages == 0 || modes.max_stages >= problem.deviceCount());
}

FreeModel::FreeModel(const Problem& problem, double upper) : items(problem, PipelineModel::Items::kUnits) {
  items.joinFreeItems(false);
  if (upper > 0 && upper < kInfinity) items.limitTimes(2 * upper);
  parts = problem.modes.training_load == TrainingLoad::kMaxParts && problem.hasTraining() ? 2 : 1;
  addPlaces();
  addMemory();
  addLoads();
  fixed.resize(binaries, 0);
}

void FreeModel::addPlaces() {
  for (std::uint32_t k = 0; k < items.poolCount(); ++k) {
    for (std::uint32_t r = 0; r < items.pools[k].devices.size(); ++r)
      places_.push_back({items.pools[k].devices[r], k, r});
  }
  const std::size_t n = items.itemCount();
  std::vector<double> work(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < items.poolCount(); ++k) {
      if (items.runs(i, k) && items.pools[k].accelerator) work[i] = std::max(work[i], items.time(i, k));
    }
  }
  ranked_.resize(n);
  std::iota(ranked_.begin(), ranked_.end(), 0u);
  std::stable_sort(ranked_.begin(), ranked_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return work[a] > work[b]; });
  std::vector<std::uint32_t> rank(n);
  for (std::uint32_t r = 0; r < n; ++r) rank[ranked_[r]] = r;
  x_.assign(n * places_.size(), kNone);
  for (std::size_t i = 0; i < n; ++i) {
    Row one{{}, 1, 1};
    for (std::size_t p = 0; p < places_.size(); ++p) {
      if (!items.runs(i, places_[p].pool)) continue;
      const auto column = static_cast<std::uint32_t>(binaries++);
      x_[i * places_.size() + p] = column;
      fixed.push_back(rank[i] < places_[p].rank ? 1 : 0);
      one.terms.push_back({column, 1});
    }
    logic.push_back(std::move(one));
  }
}

void FreeModel::addMemory() {
  const double total = std::accumulate(items.resident.begin(), items.resident.end(), 0.0);
  for (std::size_t p = 0; p < places_.size(); ++p) {
    const double most = items.pools[places_[p].pool].memory;
    if (total <= most) continue;
    Row row{{}, -kInfinity, most};
    for (std::size_t i = 0; i < items.itemCount(); ++i) {
      if (x(i, p) != kNone && items.resident[i] > 0) row.terms.push_back({x(i, p), items.resident[i]});
    }
    memory.push_back(std::move(row));
  }
}

void FreeModel::addLoads() {
  const bool apart = items.problem->modes.overlap == Overlap::kMax;
  for (std::uint32_t p = 0; p < places_.size(); ++p) {
    const std::size_t pool = places_[p].pool;
    for (std::uint32_t part = 0; part < parts; ++part) {
      std::vector<Term> compute, communication;
      for (std::size_t i = 0; i < items.itemCount(); ++i) {
        if (x(i, p) == kNone) continue;
        const double rest = items.rest_seconds[i * items.poolCount() + pool];
        const double seconds = parts == 1  ? items.time(i, pool)
                               : part == 1 ? rest
                                           : items.time(i, pool) - rest;
        if (seconds > 0) compute.push_back({x(i, p), seconds});
      }
      for (std::uint32_t e = 0; e < items.netCount(); ++e) {
        if (parts == 1 || items.net_rest[e] == part) addNet(e, p, communication);
      }
      if (!apart) {
        compute.insert(compute.end(), communication.begin(), communication.end());
        communication.clear();
      }
      for (auto* terms : {&compute, &communication}) {
        if (terms->empty()) continue;
        // Several nets may name the same column.
        std::stable_sort(terms->begin(), terms->end(),
                         [](const Term& a, const Term& b) { return a.column < b.column; });
        std::vector<Term> joined;
        for (const Term& term : *terms) {
          if (!joined.empty() && joined.back().column == term.column)
            joined.back().value += term.value;
          else
            joined.push_back(term);
        }
        loads.push_back({std::move(joined), part});
      }
    }
  }
}

void FreeModel::addNet(std::uint32_t net, std::uint32_t place, std::vector<Term>& terms) {
  const std::size_t pool = places_[place].pool;
  const double send = items.cost(net, pool, true), receive = items.cost(net, pool, false);
  const auto ends = items.net_items[net];
  const std::uint32_t producer = items.net_producer[net];
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  if (send == receive) {
    // An end that may not run here is never here, so the others need not be compared with each other.
    std::uint32_t absent = kNone;
    for (const std::uint32_t end : ends) {
      if (x(end, place) == kNone) absent = end;
    }
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const std::uint32_t next = absent != kNone ? absent : ends[(k + 1) % ends.size()];
      pairs.emplace_back(x(ends[k], place), x(next, place));
    }
    addCut({net, place, Pays::kCut}, pairs, send, terms);
    return;
  }
  for (const std::uint32_t end : ends) {
    if (end != producer) pairs.emplace_back(x(producer, place), x(end, place));
  }
  addCut({net, place, Pays::kSend}, pairs, send, terms);
  for (auto& [high, low] : pairs) std::swap(high, low);
  addCut({net, place, Pays::kReceive}, pairs, receive, terms);
}

void FreeModel::addCut(NetColumn what, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs,
                       double cost, std::vector<Term>& terms) {
  if (cost == 0) return;
  // A column against nothing settles it: whoever is that column pays whenever it is 1.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> live;
  bool alone = false;
  for (const auto& [high, low] : pairs) {
    if (high == kNone) continue;
    if (low == kNone) alone = true;
    live.emplace_back(high, low);
  }
  if (live.empty()) return;
  const std::uint32_t only = live.front().first;
  const bool same =
      std::all_of(live.begin(), live.end(), [&](const auto& pair) { return pair.first == only; });
  if (same && alone) {
    terms.push_back({only, cost});
    return;
  }
  const auto y = static_cast<std::uint32_t>(binaries++);
  net_columns_.push_back(what);
  terms.push_back({y, cost});
  for (const auto& [high, low] : live) {
    Row row{{{y, 1}, {high, -1}}, 0, kInfinity};
    if (low != kNone) row.terms.push_back({low, 1});
    logic.push_back(std::move(row));
  }
}

bool FreeModel::pays(const NetColumn& column, std::span<const std::uint32_t> place_of_item) const {
  const auto ends = items.net_items[column.net];
  const auto here = [&](std::uint32_t end) { return place_of_item[end] == column.place; };
  const bool all = std::all_of(ends.begin(), ends.end(), here);
  const bool any = std::any_of(ends.begin(), ends.end(), here);
  const bool produced = here(items.net_producer[column.net]);
  switch (column.pays) {
    case Pays::kCut:
      return any && !all;
    case Pays::kSend:
      return produced && !all;
    case Pays::kReceive:
      return any && !produced;
  }
  return false;
}

std::vector<std::uint8_t> FreeModel::columnsOf(const Plan& plan) const {
  const Problem& problem = *items.problem;
  std::vector<std::uint32_t> place_of_device(problem.deviceCount(), kNone);
  for (std::uint32_t p = 0; p < places_.size(); ++p) place_of_device[places_[p].device.index()] = p;
  std::vector<std::uint32_t> at;
  for (const DeviceId device : items.devicesOf(plan.assignment))
    at.push_back(place_of_device[device.index()]);
  // Devices of a pool are numbered by the highest rank among their items.
  std::vector<std::uint32_t> renumbered(places_.size(), kNone), used(items.poolCount(), 0),
      first(places_.size());
  for (std::uint32_t p = 0; p < places_.size(); ++p) first[p] = p - places_[p].rank;
  for (const std::uint32_t item : ranked_) {
    const std::uint32_t p = at[item];
    if (renumbered[p] == kNone) renumbered[p] = first[p] + used[places_[p].pool]++;
  }
  std::vector<std::uint8_t> binary(binaries, 0);
  for (std::size_t i = 0; i < at.size(); ++i) {
    at[i] = renumbered[at[i]];
    if (x(i, at[i]) != kNone) binary[x(i, at[i])] = 1;
  }
  std::size_t column = binaries - net_columns_.size();
  for (const NetColumn& net : net_columns_) binary[column++] = pays(net, at) ? 1 : 0;
  return binary;
}

std::vector<double> FreeModel::loadsOf(std::span<const std::uint8_t> binary) const {
  std::vector<double> top(parts, 0);
  for (const LoadRow& row : loads) {
    double sum = 0;
    for (const Term& term : row.terms) sum += binary[term.column] * term.value;
    top[row.part] = std::max(top[row.part], sum);
  }
  return top;
}

double FreeModel::largestLoad() const {
  double most = 0;
  for (const LoadRow& row : loads) {
    double sum = 0;
    for (const Term& term : row.terms) sum += std::max(term.value, 0.0);
    most = std::max(most, sum);
  }
  return most * static_cast<double>(parts);
}

Plan FreeModel::planOf(const std::vector<double>& solution) const {
  std::vector<DeviceId> device(items.itemCount());
  for (std::size_t i = 0; i < device.size(); ++i) {
    double most = -1;
    for (std::size_t p = 0; p < places_.size(); ++p) {
      if (x(i, p) == kNone || solution[x(i, p)] <= most) continue;
      most = solution[x(i, p)];
      device[i] = places_[p].device;
    }
  }
  Plan plan;
  plan.modes = items.problem->modes;
  plan.assignment = items.assignment(device);
  return plan;
}

}  // namespace allot
