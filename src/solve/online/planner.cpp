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

// The jobs to plan, the shortest rest by weight first.
std::vector<std::uint32_t> Planner::window() const {
  std::vector<std::pair<double, std::uint32_t>> keys;
  for (const std::uint32_t j : world_.open_jobs) {
    const Job& job = world_.jobs[j];
    if (job.waiting == 0) continue;
    keys.emplace_back(job.report.weight > 0 ? job.work / job.report.weight : kNever, j);
  }
  const std::uint64_t most =
      std::max<std::uint64_t>(1, world_.options.work / (passes() * world_.devices.size()));
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
  used_.assign(devices, 0);
  for (const Activity& run : world_.running) {
    const Job& job = world_.jobs[run.job];
    used_[run.to.index()] += world_.problem.residentBytes(world_.planOf(job).ops[run.item]);
  }
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
  const std::vector<std::uint32_t> shortest = window();
  first_op_.resize(world_.jobs.size());
  std::size_t ops = 0;
  for (const std::uint32_t j : shortest) {
    first_op_[j] = ops;
    ops += world_.jobs[j].runs.size();
  }
  FuturePlan best = pass(shortest, Rule::kKeep);
  kept_value = best.value;
  const auto consider = [&](const std::vector<std::uint32_t>& order, Rule rule) {
    FuturePlan next = limited(order, rule);
    if (!better(next.value, best.value)) return false;
    best = std::move(next);
    return true;
  };
  Rule rule = Rule::kEarliestEnd;
  consider(shortest, rule);
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
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.gain > b.gain; });
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

FuturePlan Planner::pass(const std::vector<std::uint32_t>& order, Rule rule) {
  resetTimes();
  FuturePlan plan;
  plan.order = order;
  double value = 0, latest = world_.now, held_weight = 0;
  for (const std::uint32_t j : order) {
    const Job& job = world_.jobs[j];
    const std::size_t activities = plan.activities.size(), moves = plan.moves.size();
    const std::vector<double> used = used_;
    if (!placeJob(j, rule, plan)) {
      takeBack(activities, plan);
      plan.moves.resize(moves);
      plan.held.push_back(j);
      used_ = used;
      held_weight += job.report.weight;
      continue;
    }
    double completion = world_.now;
    for (const double end : end_) completion = std::max(completion, end);
    latest = std::max(latest, completion);
    value += job.report.weight * completion;
  }
  for (const Move& move : plan.moves) {
    const Job& job = world_.jobs[move.job];
    plan.moved_bytes += world_.problem.residentBytes(world_.planOf(job).ops[move.op]);
  }
  // A held job ends behind all others at best.
  plan.value = value + held_weight * 2 * latest + world_.options.move_cost * plan.moved_bytes;
  return plan;
}

// Drops what was placed from activity `first` on.
void Planner::takeBack(std::size_t first, FuturePlan& plan) {
  const LinkMode mode = world_.problem.modes.link_mode;
  for (std::size_t k = first; k < plan.activities.size(); ++k) {
    const Activity& activity = plan.activities[k];
    if (!(activity.end > activity.start)) continue;
    if (!activity.send) {
      device_[activity.to.index()].release(activity.start, activity.end + world_.launch(activity.to));
    } else if (mode != LinkMode::kFree) {
      send_[activity.from.index()].release(activity.start, activity.end);
      (mode == LinkMode::kHalfDuplex ? send_ : receive_)[activity.to.index()].release(activity.start,
                                                                                      activity.end);
    }
  }
  plan.activities.resize(first);
}

bool Planner::placeJob(std::uint32_t j, Rule rule, FuturePlan& plan) {
  const Job& job = world_.jobs[j];
  const ModelPlan& model = world_.planOf(job);
  end_.assign(model.ops.size(), 0);
  there_ = job.there;
  source_ = job.source;
  unit_device_.assign(model.units, DeviceId());
  unit_bytes_.assign(model.units, 0);
  for (std::uint32_t i = 0; i < model.ops.size(); ++i) {
    const Run& run = job.runs[i];
    if (run.state == RunState::kWaiting) {
      unit_bytes_[model.unit[i]] += world_.problem.residentBytes(model.ops[i]);
      continue;
    }
    end_[i] = run.end;
    if (run.state == RunState::kRunning) end_[i] = std::max(run.end, world_.now);
    if (model.shared[model.unit[i]] && world_.devices[run.device.index()].up)
      unit_device_[model.unit[i]] = run.device;
    if (run.state != RunState::kRunning) continue;
    for (const std::uint32_t t : model.outputs[i]) {
      there_[t * world_.devices.size() + run.device.index()] = end_[i];
      source_[t] = run.device;
    }
  }
  for (std::uint32_t i = 0; i < model.ops.size(); ++i) {
    if (job.runs[i].state == RunState::kWaiting && !placeOp(j, i, rule, plan)) return false;
  }
  return true;
}

// When the inputs can be on each device, were all ports free.
void Planner::findArrivals(const ModelPlan& model, std::uint32_t op) {
  const std::size_t devices = facts_.size();
  const Problem& problem = world_.problem;
  ready_.assign(devices, world_.now);
  for (const std::uint32_t t : model.inputs[op]) {
    const double* there = &there_[t * devices];
    const DeviceId from = source_[t];
    const double start = std::max(world_.now, there[from.index()]);
    const TensorId tensor = model.tensors[t];
    const double single =
        problem.tensor_matrix[tensor.index()] < 0 ? problem.tensor_seconds[tensor.index()] : std::nan("");
    for (std::size_t d = 0; d < devices; ++d) {
      double time = there[d];
      if (time == kNever)
        time = start + (single == single ? single : problem.transferSeconds(tensor, from, DeviceId(d)));
      ready_[d] = std::max(ready_[d], time);
    }
  }
}

double Planner::sendInputs(std::uint32_t j, std::uint32_t op, DeviceId device, FuturePlan& plan) {
  const ModelPlan& model = world_.planOf(world_.jobs[j]);
  const std::size_t devices = world_.devices.size();
  const LinkMode mode = world_.problem.modes.link_mode;
  double time = world_.now;
  crossing_.clear();
  for (const std::uint32_t t : model.inputs[op]) {
    const double there = there_[t * devices + device.index()];
    if (there == kNever)
      crossing_.push_back(t);
    else
      time = std::max(time, there);
  }
  const auto ready = [&](std::uint32_t t) { return there_[t * devices + source_[t].index()]; };
  std::stable_sort(crossing_.begin(), crossing_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return ready(a) < ready(b); });
  for (const std::uint32_t t : crossing_) {
    const DeviceId from = source_[t];
    const double seconds = world_.problem.transferSeconds(model.tensors[t], from, device);
    double start = std::max(world_.now, ready(t));
    if (mode != LinkMode::kFree && seconds > 0) {
      // In half duplex both directions are the same port.
      Timeline& out = send_[from.index()];
      Timeline& in = mode == LinkMode::kHalfDuplex ? send_[device.index()] : receive_[device.index()];
      start = earliestOfBoth(out, in, start, seconds);
      out.take(start, start + seconds);
      in.take(start, start + seconds);
    }
    there_[t * devices + device.index()] = start + seconds;
    time = std::max(time, start + seconds);
    if (!world_.problem.isOrder(model.tensors[t]))
      plan.activities.push_back({start, start + seconds, j, t, from, device, true});
  }
  return time;
}

bool Planner::placeOp(std::uint32_t j, std::uint32_t i, Rule rule, FuturePlan& plan) {
  const Job& job = world_.jobs[j];
  const ModelPlan& model = world_.planOf(job);
  const OpId op = model.ops[i];
  const std::size_t classes = world_.problem.cluster.classCount();
  const double bytes = world_.problem.residentBytes(op);
  double& reserve = unit_bytes_[model.unit[i]];
  const DeviceId before = job.runs[i].device, fixed = unit_device_[model.unit[i]];
  const UnitId unit = world_.problem.unit(op);
  const auto fits = [&](DeviceId device) {
    const Facts& facts = facts_[device.index()];
    return facts.up && world_.problem.allowed(unit, device) && used_[device.index()] + reserve <= facts.limit;
  };
  const bool can_stay = before.valid() && fits(before) && (!fixed.valid() || fixed == before);
  const bool stays =
      can_stay && (rule == Rule::kKeep || (!may_move_.empty() && !may_move_[first_op_[j] + i]));
  const double move = world_.options.move_cost * bytes / std::max(job.report.weight, 1e-300);
  DeviceId best;
  double best_key = kNever, best_end = kNever, end_before = kNever;
  findArrivals(model, i);
  const double* op_seconds = &world_.op_seconds[op.index() * classes];
  for (std::size_t d = 0; d < facts_.size(); ++d) {
    const DeviceId device(d);
    if (stays ? device != before : (fixed.valid() && device != fixed) || !fits(device)) continue;
    const Facts& facts = facts_[d];
    const double seconds = op_seconds[facts.cls] * facts.factor;
    double extra = rule == Rule::kLookAhead ? model.rest[i * classes + facts.cls] : 0;
    if (can_stay && device != before) extra += move;
    if (device != before && ready_[d] + seconds + extra >= best_key) continue;
    double end = ready_[d];
    if (seconds > 0) end = device_[d].earliest(end, seconds + facts.launch) + seconds;
    if (device == before) end_before = end;
    if (best.valid() && !(end + extra < best_key)) continue;
    best = device;
    best_key = end + extra;
    best_end = end;
  }
  const std::uint64_t looks = stays ? 1 : world_.devices.size();
  work_left_ -= std::min(work_left_, looks);
  if (!best.valid()) return false;
  const double seconds = world_.seconds(op, best);
  double start = sendInputs(j, i, best, plan);
  if (seconds > 0) {
    start = device_[best.index()].earliest(start, seconds + world_.launch(best));
    device_[best.index()].take(start, start + seconds + world_.launch(best));
  }
  used_[best.index()] += reserve;
  reserve = 0;
  if (model.shared[model.unit[i]]) unit_device_[model.unit[i]] = best;
  end_[i] = start + seconds;
  for (const std::uint32_t t : model.outputs[i]) {
    for (std::size_t d = 0; d < world_.devices.size(); ++d) there_[t * world_.devices.size() + d] = kNever;
    there_[t * world_.devices.size() + best.index()] = end_[i];
    source_[t] = best;
  }
  plan.activities.push_back({start, end_[i], j, i, {}, best, false});
  if (before.valid() && before != best)
    plan.moves.push_back({j, i, before, best, end_before == kNever ? 0 : end_before - best_end, !can_stay});
  return true;
}

}  // namespace allot::online
