// One pass of the planner: jobs one after another, ops where they end first.
#include <algorithm>
#include <cmath>

#include "solve/online/planner.h"

namespace allot::online {
namespace {

constexpr std::uint64_t kLeastLooks = 4;

}  // namespace

FuturePlan Planner::pass(const std::vector<std::uint32_t>& order, Rule rule) {
  resetTimes();
  FuturePlan plan;
  plan.order = order;
  plan.priced = rule == Rule::kPriced;
  if (plan.priced) beginPrices(order);
  double value = 0, latest = world_.now, held_weight = 0;
  for (const std::uint32_t j : order) {
    const Job& job = world_.jobs[j];
    const std::size_t activities = plan.activities.size(), moves = plan.moves.size();
    const std::vector<Occupancy::Held> held = room_.held();
    if (plan.priced) setPrices(j);
    bool placed = placeJob(j, rule, plan);
    if (!placed) {
      takeBack(activities, plan);
      plan.moves.resize(moves);
      room_.restore(held);
      placed = world_.running.empty() && plan.activities.empty() && packJob(j, rule, plan);
    }
    if (!placed) {
      plan.held.push_back(j);
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

void Planner::beginPrices(const std::vector<std::uint32_t>& order) {
  behind_.assign(queues_.groupCount(), 0);
  for (const std::uint32_t j : order) {
    const std::uint32_t home = queues_.homeOf(j);
    if (home != QueueFlow::kNone) behind_[home] += world_.jobs[j].report.weight / queues_.devicesOf(home);
  }
}

// A second of the job's ops delays the jobs behind it in the device's queue.
void Planner::setPrices(std::uint32_t j) {
  const double weight = world_.jobs[j].report.weight;
  const std::uint32_t home = queues_.homeOf(j);
  if (home != QueueFlow::kNone)
    behind_[home] = std::max(0.0, behind_[home] - weight / queues_.devicesOf(home));
  price_.resize(facts_.size());
  for (std::size_t d = 0; d < facts_.size(); ++d) {
    const double behind = facts_[d].up ? behind_[queues_.groupOf(DeviceId(d))] : 0;
    // A job without weight gives way, at prices that keep the difference between devices.
    price_[d] = behind > 0 ? behind / std::max(weight, 1e-6 * behind) : 0;
  }
}

// Drops what was placed from activity `first` on.
void Planner::takeBack(std::size_t first, FuturePlan& plan) {
  const LinkMode mode = world_.problem.modes.link_mode;
  for (std::size_t k = first; k < plan.activities.size(); ++k) {
    const Activity& activity = plan.activities[k];
    if (!activity.send) {
      const OpId op = world_.planOf(world_.jobs[activity.job]).ops[activity.item];
      const double seconds = world_.seconds(op, activity.to);
      if (seconds > 0)
        device_[activity.to.index()].release(activity.start,
                                             activity.start + (seconds + world_.launch(activity.to)));
    } else if (mode != LinkMode::kFree) {
      send_[activity.from.index()].release(activity.start, activity.end);
      (mode == LinkMode::kHalfDuplex ? send_ : receive_)[activity.to.index()].release(activity.start,
                                                                                      activity.end);
    }
  }
  plan.activities.resize(first);
}

// What has run of the job, and what runs.
void Planner::beginJob(std::uint32_t j) {
  const Job& job = world_.jobs[j];
  const ModelPlan& model = world_.planOf(job);
  end_.assign(model.ops.size(), 0);
  there_ = job.there;
  source_ = job.source;
  unit_device_ = job.home;
  unit_placed_.assign(model.units, 0);
  room_.beginJob();
  for (std::uint32_t i = 0; i < model.ops.size(); ++i) {
    const Run& run = job.runs[i];
    if (run.state == RunState::kWaiting) continue;
    end_[i] = run.end;
    if (run.state != RunState::kRunning) continue;
    end_[i] = std::max(run.end, world_.now);
    room_.know(model.ops[i], run.device);
    putOutputs(model, i, run.device);
  }
}

bool Planner::placeJob(std::uint32_t j, Rule rule, FuturePlan& plan) {
  beginJob(j);
  return placeOps(j, rule, plan);
}

bool Planner::placeOps(std::uint32_t j, Rule rule, FuturePlan& plan) {
  const Job& job = world_.jobs[j];
  for (std::uint32_t i = 0; i < job.runs.size(); ++i) {
    if (job.runs[i].state == RunState::kWaiting && !placeOp(j, i, rule, plan)) return false;
  }
  return true;
}

// On devices that hold nothing else. Units leave where they ran only if there is no other way.
bool Planner::packJob(std::uint32_t j, Rule rule, FuturePlan& plan) {
  const Job& job = world_.jobs[j];
  const ModelPlan& model = world_.planOf(job);
  std::vector<std::uint8_t> waiting(model.ops.size()), up(facts_.size());
  for (std::size_t i = 0; i < waiting.size(); ++i) waiting[i] = job.runs[i].state == RunState::kWaiting;
  for (std::size_t d = 0; d < up.size(); ++d) up[d] = facts_[d].up;
  std::uint32_t unplaced = 0;
  std::vector<DeviceId> devices = packUnits(world_.problem, model, waiting, up, job.home, unplaced);
  if (devices.empty()) devices = packUnits(world_.problem, model, waiting, up, {}, unplaced);
  // What is left of a model fits where all of it does.
  if (devices.empty()) devices = model.packing;
  if (devices.empty()) return false;
  beginJob(j);
  unit_device_ = std::move(devices);
  const std::size_t moves = plan.moves.size();
  const std::vector<Occupancy::Held> held = room_.held();
  if (placeOps(j, rule, plan)) return true;
  takeBack(0, plan);
  plan.moves.resize(moves);
  room_.restore(held);
  return false;
}

// Copies that are elsewhere stay.
void Planner::putOutputs(const ModelPlan& model, std::uint32_t op, DeviceId device) {
  for (const std::uint32_t t : model.outputs[op]) {
    double& there = there_[t * world_.devices.size() + device.index()];
    there = std::min(there, end_[op]);
    if (!source_[t].valid()) source_[t] = device;
  }
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
  const std::uint32_t u = model.unit[i];
  // The first op of a unit takes the room for all that wait.
  need_.clear();
  if (!unit_placed_[u]) {
    for (const std::uint32_t other : model.unit_ops[u]) {
      if (job.runs[other].state == RunState::kWaiting) room_.add(need_, model.ops[other]);
    }
  }
  const DeviceId before = job.runs[i].device, fixed = unit_device_[u];
  const UnitId unit = world_.problem.unit(op);
  const auto fits = [&](DeviceId device) {
    const Facts& facts = facts_[device.index()];
    return facts.up && world_.problem.allowed(unit, device) &&
           (unit_placed_[u] || facts.limit == kNever || room_.bytesWith(need_, device) <= facts.limit);
  };
  const bool can_stay = before.valid() && fits(before) && (!fixed.valid() || fixed == before);
  const bool stays =
      can_stay && (rule == Rule::kKeep || (!may_move_.empty() && !may_move_[first_op_[j] + i]));
  const double move_cost = world_.options.move_cost * bytes / std::max(job.report.weight, 1e-300);
  DeviceId best;
  double best_key = kNever, best_end = kNever, key_before = kNever, end_before = kNever;
  findArrivals(model, i);
  const double* op_seconds = &world_.op_seconds[op.index() * classes];
  for (std::size_t d = 0; d < facts_.size(); ++d) {
    const DeviceId device(d);
    if (stays ? device != before : (fixed.valid() && device != fixed) || !fits(device)) continue;
    const Facts& facts = facts_[d];
    const double seconds = op_seconds[facts.cls] * facts.factor;
    double extra =
        rule == Rule::kLookAhead || rule == Rule::kPriced ? model.rest[i * classes + facts.cls] : 0;
    if (rule == Rule::kPriced) extra += seconds * price_[d];
    if (can_stay && device != before) extra += move_cost;
    if (device != before && ready_[d] + seconds + extra >= best_key) continue;
    double end = ready_[d];
    if (seconds > 0) end = device_[d].earliest(end, seconds + facts.launch) + seconds;
    if (device == before) {
      end_before = end;
      key_before = end + extra;
    }
    if (best.valid() && !(end + extra < best_key)) continue;
    best = device;
    best_key = end + extra;
    best_end = end;
  }
  // An op that looks at one device alone still takes the time of a few looks.
  const std::uint64_t looks = std::max<std::uint64_t>(kLeastLooks, stays ? 1 : world_.devices.size());
  work_left_ -= std::min(work_left_, looks);
  if (!best.valid()) return false;
  const double seconds = world_.seconds(op, best);
  double start = sendInputs(j, i, best, plan);
  if (seconds > 0) {
    // The very sum that was looked for: what is taken must not reach into the next op by rounding.
    const double busy = seconds + world_.launch(best);
    start = device_[best.index()].earliest(start, busy);
    device_[best.index()].take(start, start + busy);
  }
  if (!unit_placed_[u]) room_.put(need_, best);
  unit_placed_[u] = 1;
  if (model.shared[u]) unit_device_[u] = best;
  end_[i] = start + seconds;
  putOutputs(model, i, best);
  plan.activities.push_back({start, end_[i], j, i, {}, best, false});
  if (before.valid() && before != best) {
    Move made{j, i, before, best, 0, 0, !can_stay};
    if (can_stay) {
      made.gain = end_before - best_end;
      made.worth = key_before - best_key;
    }
    plan.moves.push_back(made);
  }
  return true;
}

}  // namespace allot::online
