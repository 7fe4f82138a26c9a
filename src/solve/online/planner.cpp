#include "solve/online/planner.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace allot::online {
namespace {

// A plan counts as better only by more than rounding.
constexpr double kGain = 1e-12;

bool better(double value, double than) {
  return value < than - kGain * std::abs(than);
}

}  // namespace

std::uint32_t FuturePlan::freeMoves() const {
  return static_cast<std::uint32_t>(
      std::count_if(moves.begin(), moves.end(), [](const Move& move) { return !move.forced; }));
}

bool Planner::unlikeDevices() const {
  const Facts* first = nullptr;
  for (const Facts& facts : facts_) {
    if (!facts.up) continue;
    if (first == nullptr) first = &facts;
    if (facts.cls != first->cls || facts.factor != first->factor) return true;
  }
  return false;
}

// Two plans that may use any device must fit the work where queues have a say, else one.
std::uint64_t Planner::mostOps() const {
  const std::uint64_t plans = use_queues && unlikeDevices() ? 2 : 1;
  return std::max<std::uint64_t>(1, world_.options.work / (plans * passes() * world_.devices.size()));
}

// The jobs to plan, the shortest rest by weight first, without those known to be held.
std::vector<std::uint32_t> Planner::window() const {
  std::vector<std::pair<double, std::uint32_t>> keys;
  for (const std::uint32_t j : world_.open_jobs) {
    const Job& job = world_.jobs[j];
    if (job.waiting == 0 || (j < held_.size() && held_[j])) continue;
    keys.emplace_back(job.report.weight > 0 ? job.work / job.report.weight : kNever, j);
  }
  const std::uint64_t most = mostOps();
  if (keys.size() > most) {
    std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(most), keys.end());
    keys.resize(most);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> order;
  std::uint64_t ops = 0;
  for (const auto& [key, j] : keys) {
    const std::uint32_t waiting = world_.jobs[j].waiting;
    if (!order.empty() && ops + waiting > most) break;
    ops += waiting;
    order.push_back(j);
  }
  return order;
}

void Planner::resetTimes() {
  const std::size_t devices = world_.devices.size();
  device_.resize(devices);
  send_.resize(devices);
  receive_.resize(devices);
  const bool half = world_.problem.modes.link_mode == LinkMode::kHalfDuplex;
  for (std::size_t d = 0; d < devices; ++d) {
    const DeviceState& device = world_.devices[d];
    device_[d].reset(std::max(world_.now, device.busy_until));
    const double both = std::max(device.sending_until, device.receiving_until);
    send_[d].reset(std::max(world_.now, half ? both : device.sending_until));
    receive_[d].reset(std::max(world_.now, half ? both : device.receiving_until));
  }
  room_.clear();
  // Ops of one job after another: they share blocks.
  std::vector<const Activity*> running;
  for (const Activity& run : world_.running) running.push_back(&run);
  std::stable_sort(running.begin(), running.end(),
                   [](const Activity* a, const Activity* b) { return a->job < b->job; });
  for (std::size_t k = 0; k < running.size(); ++k) {
    const Activity& run = *running[k];
    if (k == 0 || running[k - 1]->job != run.job) room_.beginJob();
    need_.clear();
    room_.add(need_, world_.planOf(world_.jobs[run.job]).ops[run.item]);
    room_.put(need_, run.to);
  }
}

// Whether more jobs wait than those.
bool Planner::leavesOut(std::size_t known) const {
  const auto waiting = std::count_if(world_.open_jobs.begin(), world_.open_jobs.end(),
                                     [&](std::uint32_t j) { return world_.jobs[j].waiting > 0; });
  return static_cast<std::size_t>(waiting) > known;
}

bool Planner::affords(const std::vector<std::uint32_t>& order) const {
  std::uint64_t looks = 0;
  for (const std::uint32_t j : order) looks += world_.jobs[j].waiting * facts_.size();
  return passes() * looks <= work_left_;
}

FuturePlan Planner::plan(const std::vector<std::uint32_t>& last_order, double& kept_value) {
  work_left_ = world_.options.work;
  facts_.resize(world_.devices.size());
  for (std::size_t d = 0; d < facts_.size(); ++d) {
    facts_[d] = {world_.devices[d].up, world_.problem.cluster.devices[d].cls.index(),
                 world_.devices[d].factor, world_.launch(DeviceId(d)),
                 world_.problem.memoryLimit(DeviceId(d))};
  }
  std::vector<std::uint32_t> shortest, held;
  FuturePlan best;
  for (bool more = true; more;) {
    shortest = window();
    std::size_t ops = 0;
    first_op_.resize(world_.jobs.size());
    for (const std::uint32_t j : shortest) {
      first_op_[j] = ops;
      ops += world_.jobs[j].runs.size();
    }
    best = pass(shortest, Rule::kKeep);
    // Jobs for which there is no room or device do not keep others out of the window.
    const bool idle = world_.running.empty() && best.activities.empty();
    more = !best.held.empty() && leavesOut(shortest.size() + held.size()) && (idle || affords(shortest));
    if (!more) break;
    held_.resize(world_.jobs.size());
    for (const std::uint32_t j : best.held) held_[j] = 1;
    held.insert(held.end(), best.held.begin(), best.held.end());
  }
  held_.clear();
  kept_value = best.value;
  const auto consider = [&](const std::vector<std::uint32_t>& order, Rule rule) {
    FuturePlan next = limited(order, rule);
    // No job waits that another plan has room for: what a held job will be worth is a guess.
    if (next.held.size() > best.held.size() || !better(next.value, best.value)) return false;
    best = std::move(next);
    return true;
  };
  Rule rule = Rule::kEarliestEnd;
  consider(shortest, rule);
  if (use_queues && shortest.size() > 1 && unlikeDevices() && queues_.assign(shortest) &&
      consider(shortest, Rule::kPriced))
    rule = Rule::kPriced;
  const std::vector<std::uint32_t> last = joined(last_order, shortest);
  if (affords(last) && last != shortest) consider(last, rule);
  if (affords(shortest) && consider(best.order.empty() ? shortest : best.order, Rule::kLookAhead))
    rule = Rule::kLookAhead;
  std::vector<std::uint32_t> order = best.order;
  bool gained = true;
  while (gained && order.size() > 1 && affords(order)) {
    gained = false;
    for (std::size_t i = 0; i + 1 < order.size() && affords(order); ++i) {
      std::swap(order[i], order[i + 1]);
      if (consider(order, rule))
        gained = true;
      else
        std::swap(order[i], order[i + 1]);
    }
  }
  std::vector<std::uint32_t> by_start(best.activities.size());
  std::iota(by_start.begin(), by_start.end(), 0);
  // What was placed first stays first at equal times: producers before consumers.
  std::stable_sort(by_start.begin(), by_start.end(), [&](std::uint32_t a, std::uint32_t b) {
    return best.activities[a].start < best.activities[b].start;
  });
  std::vector<Activity> sorted;
  sorted.reserve(by_start.size());
  for (const std::uint32_t i : by_start) sorted.push_back(best.activities[i]);
  best.activities = std::move(sorted);
  best.held.insert(best.held.end(), held.begin(), held.end());
  best.order.insert(best.order.end(), held.begin(), held.end());
  return best;
}

// The last order, each new job before the first one that is longer.
std::vector<std::uint32_t> Planner::joined(const std::vector<std::uint32_t>& last,
                                           const std::vector<std::uint32_t>& shortest) {
  place_.resize(world_.jobs.size(), 0);
  for (std::size_t i = 0; i < shortest.size(); ++i) place_[shortest[i]] = static_cast<std::uint32_t>(i + 1);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> known;  // job, place
  for (const std::uint32_t j : last) {
    if (place_[j] == 0) continue;
    known.emplace_back(j, place_[j]);
    place_[j] = 0;
  }
  std::vector<std::uint32_t> order;
  std::size_t next = 0;
  for (const std::uint32_t j : shortest) {
    if (place_[j] == 0) continue;
    for (; next < known.size() && known[next].second < place_[j]; ++next) order.push_back(known[next].first);
    order.push_back(j);
    place_[j] = 0;
  }
  for (; next < known.size(); ++next) order.push_back(known[next].first);
  return order;
}

FuturePlan Planner::limited(const std::vector<std::uint32_t>& order, Rule rule) {
  FuturePlan plan = pass(order, rule);
  const std::uint32_t most = world_.options.max_moves;
  if (plan.freeMoves() <= most) return plan;
  std::vector<Move> moves;
  for (const Move& move : plan.moves) {
    if (!move.forced) moves.push_back(move);
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const Move& a, const Move& b) { return a.worth > b.worth; });
  std::size_t ops = 0;
  for (const std::uint32_t j : order) ops = std::max(ops, first_op_[j] + world_.jobs[j].runs.size());
  may_move_.assign(ops, 0);
  for (std::size_t i = 0; i < most; ++i) may_move_[first_op_[moves[i].job] + moves[i].op] = 1;
  plan = pass(order, rule);
  may_move_.clear();
  // Ops of one unit move together: one that may carries along those that may not.
  if (plan.freeMoves() > most) plan.value = kNever;
  return plan;
}

}  // namespace allot::online
