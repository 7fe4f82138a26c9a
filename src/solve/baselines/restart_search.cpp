#include "solve/baselines/restart_search.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/random.h"
#include "base/thread_pool.h"
#include "evaluate/load_state.h"
#include "solve/local_search/local_search.h"
#include "solve/throughput/pipeline_model.h"

namespace allot::baseline {
namespace {

constexpr std::size_t kStarts = 10;
constexpr std::uint64_t kTries = 100'000;  // moves tried from each start
constexpr double kLeastGain = 1e-7;        // of the value
constexpr int kDraws = 30;                 // random starts drawn until one fits

class Descent {
 public:
  Descent(const PipelineModel& model, const Budget& budget, std::uint64_t start)
      : model_(model),
        problem_(*model.problem),
        budget_(budget),
        random_(budget.seed, 1000 + start),
        tries_left_(budget.work_limit > 0 ? budget.work_limit / kStarts + 1 : kTries),
        chain_(problem_.modes.contiguity != Contiguity::kNone) {
    for (std::size_t p = 0; p < model.poolCount(); ++p) {
      for (const DeviceId d : model.pools[p].devices) {
        if (pool_of_.size() <= d.index()) pool_of_.resize(d.index() + 1);
        pool_of_[d.index()] = p;
      }
    }
  }

  // The assignment reached, or nothing when no random start fits.
  std::vector<DeviceId> run() {
    bool found = false;
    for (int draw = 0; draw < kDraws && !found && !budget_.stopped(); ++draw)
      found = chain_ ? drawChain() : drawFree();
    if (!found) return {};
    state_.emplace(problem_, model_.assignment(place_));
    while (step()) {
    }
    return model_.assignment(place_);
  }

 private:
  const PipelineModel& model_;
  const Problem& problem_;
  const Budget& budget_;
  Random random_;
  std::uint64_t tries_left_;
  bool chain_;
  std::vector<std::size_t> pool_of_;  // by device
  std::vector<DeviceId> place_;       // by item
  std::vector<std::uint32_t> rank_;   // by device: place in the chain
  std::vector<double> used_;          // by device: resident bytes
  std::vector<std::uint32_t> count_;  // by device: items
  std::optional<LoadState> state_;

  bool mayHold(std::size_t item, DeviceId device) const {
    return model_.runs(item, pool_of_[device.index()]) &&
           used_[device.index()] + model_.resident[item] <= problem_.memoryLimit(device);
  }

  std::vector<DeviceId> shuffledDevices() {
    std::vector<DeviceId> devices;
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) devices.emplace_back(d);
    for (std::size_t i = devices.size(); i > 1; --i)
      std::swap(devices[i - 1], devices[random_.below(static_cast<std::uint32_t>(i))]);
    rank_.assign(devices.size(), 0);
    for (std::uint32_t i = 0; i < devices.size(); ++i) rank_[devices[i].index()] = i;
    const std::size_t most = problem_.modes.max_stages;
    if (most > 0 && devices.size() > most) devices.resize(most);
    return devices;
  }

  void clear() {
    place_.assign(model_.itemCount(), DeviceId());
    used_.assign(problem_.deviceCount(), 0);
    count_.assign(problem_.deviceCount(), 0);
  }

  void put(std::size_t item, DeviceId device) {
    place_[item] = device;
    used_[device.index()] += model_.resident[item];
    ++count_[device.index()];
  }

  // Each item on a random device that can hold it.
  bool drawFree() {
    clear();
    const std::vector<DeviceId> devices = shuffledDevices();
    for (std::size_t i = 0; i < model_.itemCount(); ++i) {
      const std::uint32_t first = random_.below(static_cast<std::uint32_t>(devices.size()));
      for (std::size_t k = 0; k < devices.size() && !place_[i].valid(); ++k) {
        const DeviceId device = devices[(first + k) % devices.size()];
        if (mayHold(i, device)) put(i, device);
      }
      if (!place_[i].valid()) return false;
    }
    return true;
  }

  // Blocks in order on devices in random order, cut at random places; a device that cannot hold the next
  // block ends there.
  bool drawChain() {
    clear();
    const std::vector<DeviceId> devices = shuffledDevices();
    std::vector<std::uint32_t> cuts;
    for (std::size_t d = 1; d < devices.size(); ++d)
      cuts.push_back(random_.below(static_cast<std::uint32_t>(model_.itemCount()) + 1));
    std::sort(cuts.begin(), cuts.end());
    std::size_t on = 0;
    for (std::size_t i = 0; i < model_.itemCount(); ++i) {
      while (on < cuts.size() && i >= cuts[on]) ++on;
      while (on < devices.size() && !mayHold(i, devices[on])) ++on;
      if (on == devices.size()) return false;
      put(i, devices[on]);
    }
    return true;
  }

  // Devices whose load is the value: the largest, or under max-parts the largest of either part.
  std::vector<std::uint8_t> busiest() const {
    std::vector<std::uint8_t> marks(problem_.deviceCount(), 0);
    const bool parts = problem_.modes.training_load == TrainingLoad::kMaxParts;
    for (int part = 0; part < (parts ? 2 : 1); ++part) {
      std::vector<double> load;
      for (std::size_t d = 0; d < marks.size(); ++d) {
        load.push_back(parts ? stageLoad(problem_, state_->parts(DeviceId(d)), 1, part)
                             : state_->load(DeviceId(d)));
      }
      const double most = *std::max_element(load.begin(), load.end());
      for (std::size_t d = 0; d < marks.size(); ++d) marks[d] |= load[d] >= most ? 1 : 0;
    }
    return marks;
  }

  std::vector<std::uint32_t> candidates() const {
    const std::vector<std::uint8_t> busy = busiest();
    std::vector<std::uint8_t> chosen(model_.itemCount(), 0);
    for (std::uint32_t i = 0; i < model_.itemCount(); ++i) {
      if (!busy[place_[i].index()]) continue;
      chosen[i] = 1;
      for (const std::uint32_t net : model_.item_nets[i]) {
        for (const std::uint32_t other : model_.net_items[net]) chosen[other] = 1;
      }
    }
    std::vector<std::uint32_t> list;
    for (std::uint32_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i]) list.push_back(i);
    }
    return list;
  }

  bool mayMove(std::uint32_t item, DeviceId to) const {
    if (to == place_[item] || !mayHold(item, to)) return false;
    if (problem_.modes.max_stages > 0 && count_[to.index()] == 0) {
      const auto stages = static_cast<std::size_t>(
          std::count_if(count_.begin(), count_.end(), [](std::uint32_t n) { return n > 0; }));
      const std::size_t after = stages + 1 - (count_[place_[item].index()] == 1 ? 1 : 0);
      if (after > problem_.modes.max_stages) return false;
    }
    if (!chain_) return true;
    const std::uint32_t rank = rank_[to.index()];
    const auto rankOf = [&](std::uint32_t i) { return rank_[place_[i].index()]; };
    const auto before = model_.before[item], after = model_.after[item];
    return std::all_of(before.begin(), before.end(), [&](std::uint32_t i) { return rankOf(i) <= rank; }) &&
           std::all_of(after.begin(), after.end(), [&](std::uint32_t i) { return rankOf(i) >= rank; });
  }

  void shift(std::uint32_t item, DeviceId to) {
    for (const UnitId unit : model_.item_units[item]) state_->move(unit, to);
  }

  // The best single move; false when none gains or the tries are used up.
  bool step() {
    const double value = state_->value();
    double best = value * (1 - kLeastGain);
    std::uint32_t best_item = 0;
    DeviceId best_to;
    for (const std::uint32_t item : candidates()) {
      for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
        if (!mayMove(item, DeviceId(d))) continue;
        if (tries_left_ == 0 || (tries_left_ % 256 == 0 && budget_.stopped())) {
          tries_left_ = 0;
          return false;
        }
        --tries_left_;
        shift(item, DeviceId(d));
        const double candidate = state_->value();
        shift(item, place_[item]);
        if (candidate >= best) continue;
        best = candidate;
        best_item = item;
        best_to = DeviceId(d);
      }
    }
    if (!best_to.valid()) return false;
    const std::size_t from = place_[best_item].index();
    used_[from] -= model_.resident[best_item];
    --count_[from];
    put(best_item, best_to);
    state_.emplace(problem_, model_.assignment(place_));  // fresh sums: what is compared next has no drift
    return true;
  }
};

}  // namespace

SolveResult restartSearch(const Problem& problem, const Budget& budget, Progress& progress) {
  const PipelineModel model(problem, problem.modes.contiguity == Contiguity::kNone
                                         ? PipelineModel::Items::kUnits
                                         : PipelineModel::Items::kBlocks);
  std::vector<std::vector<DeviceId>> reached(kStarts);
  parallelFor(kStarts, budget.threads,
              [&](std::size_t start) { reached[start] = Descent(model, budget, start).run(); });
  for (std::vector<DeviceId>& assignment : reached) {
    if (assignment.empty()) continue;
    Plan plan;
    plan.modes = problem.modes;
    plan.assignment = std::move(assignment);
    if (problem.modes.replicate) progress.plan(addReplicas(problem, plan), "local-search-restarts");
    progress.plan(std::move(plan), "local-search-restarts");
  }
  return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, {}};
}

}  // namespace allot::baseline
