#include "solve/completion/window_moves.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/random.h"
#include "evaluate/sweep.h"
#include "solve/local_search/ordered_plan.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostFree = 8;             // a byte each in the key of a beginning
constexpr std::size_t kMostBeginnings = 20'000;  // that devices and subsets give, before orders
constexpr std::size_t kStretch = 24, kMargin = 3;
constexpr std::uint64_t kVisitsOfPart = 60'000, kVisitsBetweenPolls = 20'000;
constexpr std::size_t kMostTails = 4'000'000;
constexpr std::uint8_t kNotTaken = 255;

class Windows {
 public:
  Windows(const Problem& problem, const Plan& start, Random random)
      : problem_(problem),
        sweep_(problem),
        random_(random),
        n_(problem.opCount()),
        devices_(problem.deviceCount()),
        models_(problem.graph.modelCount()),
        plan_(problem, start.assignment),
        is_free_(n_, 0),
        tail_(n_ * models_),
        unit_device_(problem.unitCount(), DeviceId(0)),
        unit_open_(problem.unitCount(), 0) {
    plan_.setOrder(orderOfStarts(problem, start));
    width_ = 2;
    for (std::size_t ways = (devices_ + 1) * (devices_ + 1) * (devices_ + 1);
         width_ < kMostFree && ways <= kMostBeginnings; ways *= devices_ + 1)
      ++width_;
  }

  WalkResult run(std::uint64_t visits, const Budget& budget) {
    budget_ = &budget;
    value_ = sweep_.run(plan_.order, plan_.assignment);
    const double first = value_;
    // Neighbours from the beginning to the end, until a pass gains nothing; then drawn parts.
    for (bool gained = true; gained && visits_ < visits && !stopped_;) {
      gained = false;
      for (std::size_t at = 0; at < n_ && visits_ < visits && !stopped_; at += (width_ + 1) / 2) {
        chooseNeighbours(at);
        gained = solvePart() || gained;
      }
    }
    while (visits_ < visits && !stopped_) {
      drawPart();
      solvePart();
    }
    if (!(value_ < first)) return {kInfinity, {}};
    Plan found;
    sweep_.record(plan_.order, plan_.assignment, found);
    found.assignment = plan_.assignment;
    found.modes = problem_.modes;
    return {value_, std::move(found)};
  }

 private:
  struct Key {
    std::uint64_t devices;  // by free op, a byte each
    std::size_t others;     // how many of the others are taken
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return (key.devices + 0x9E3779B97F4A7C15ull * (key.others + 1)) * 0xD1B54A32D192ED03ull >> 7;
    }
  };
  struct Bound {
    std::vector<double> end;  // by model, at least
    double sum = 0;
  };

  // What a step is to leave as it found it.
  struct Level {
    Sweep::Mark mark;
    Bound bound;
  };
  struct Seen {
    std::uint32_t times;     // index into times_
    std::uint32_t previous;  // beginning of the same key
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  const Problem& problem_;
  Sweep sweep_;
  Random random_;
  const Budget* budget_ = nullptr;
  std::size_t n_, devices_, models_, width_;
  OrderedPlan plan_;
  double value_ = 0;
  std::uint64_t visits_ = 0, last_visit_ = 0, next_poll_ = 0;
  bool stopped_ = false;

  // The part that is planned anew: ops at places [begin_, end_) of the order.
  std::size_t begin_ = 0, end_ = 0;
  std::vector<OpId> free_, others_;
  std::vector<std::uint8_t> is_free_;    // by op
  std::vector<double> tail_;             // [op * models + model]: from the op's end to the model's, at least
  std::vector<OpId> next_other_;         // [taken * devices + device]: next fixed op that uses the device
  std::vector<DeviceId> unit_device_;    // by unit
  std::vector<std::uint8_t> unit_open_;  // by unit: all its ops are free, and none has been taken
  std::vector<OpId> taken_;              // in this order
  std::vector<std::uint8_t> on_;         // by free op
  std::vector<Level> levels_;            // by how many have been taken
  std::unordered_map<Key, std::uint32_t, KeyHash> seen_;  // the last beginning of a key
  std::vector<Seen> beginnings_;
  Sweep::Mark now_mark_;
  std::vector<double> times_, now_;  // of beginnings seen; of this one
  std::vector<OpId> best_order_;
  std::vector<DeviceId> best_devices_;
  double cutoff_ = 0;

  void chooseNeighbours(std::size_t at) {
    free_.clear();
    begin_ = at;
    end_ = std::min(n_, at + width_);
    free_.assign(plan_.order.begin() + static_cast<std::ptrdiff_t>(begin_),
                 plan_.order.begin() + static_cast<std::ptrdiff_t>(end_));
  }

  // The next ops of one model, of two, or of one device.
  void drawPart() {
    const std::size_t at = random_.below(static_cast<std::uint32_t>(n_));
    const std::uint32_t kind = random_.below(4);
    if (kind == 0) return chooseNeighbours(at);
    const OpGraph& graph = problem_.graph;
    const auto model = [&](std::size_t place) { return graph.op_model[plan_.order[place].index()]; };
    const std::size_t last = std::min(n_, at + kStretch);
    ModelId second = model(at);
    if (kind == 2) second = model(at + random_.below(static_cast<std::uint32_t>(last - at)));
    const DeviceId device = plan_.assignment[plan_.order[at].index()];
    free_.clear();
    for (std::size_t p = at; p < last && free_.size() < width_; ++p) {
      const OpId op = plan_.order[p];
      if (kind == 3 ? plan_.assignment[op.index()] != device : model(p) != model(at) && model(p) != second)
        continue;
      free_.push_back(op);
      end_ = p + 1;
    }
    begin_ = at - std::min(at, kMargin);
    end_ = std::min(n_, end_ + kMargin);
  }

  // True where a better plan was found; it is the plan then.
  bool solvePart() {
    for (const OpId op : free_) is_free_[op.index()] = 1;
    others_.clear();
    for (std::size_t p = begin_; p < end_; ++p) {
      if (is_free_[plan_.order[p].index()] == 0) others_.push_back(plan_.order[p]);
    }
    const std::vector<DeviceId> before = plan_.assignment;
    const std::vector<double> used = plan_.used;
    openUnits();
    prepareTails();
    levels_.resize(end_ - begin_ + 2);
    Bound& bound = levels_[0].bound;
    bound.end.assign(models_, 0);
    bound.sum = 0;
    sweep_.begin();
    for (std::size_t p = 0; p < begin_; ++p) take(plan_.order[p], bound);
    on_.assign(free_.size(), kNotTaken);
    taken_.clear();
    seen_.clear();
    beginnings_.clear();
    times_.clear();
    best_order_.clear();
    cutoff_ = value_ * (1 - 1e-10);
    last_visit_ = visits_ + kVisitsOfPart;
    grow(0, bound);
    for (const OpId op : free_) {
      is_free_[op.index()] = 0;
      unit_open_[problem_.unit(op).index()] = 0;
    }
    plan_.assignment = before;
    plan_.used = used;
    if (best_order_.empty()) return false;
    acceptBest();
    return true;
  }

  void acceptBest() {
    std::vector<OpId> order = plan_.order;
    std::copy(best_order_.begin(), best_order_.end(), order.begin() + static_cast<std::ptrdiff_t>(begin_));
    for (std::size_t i = 0; i < free_.size(); ++i) plan_.place(problem_.unit(free_[i]), best_devices_[i]);
    plan_.accept();
    plan_.setOrder(std::move(order));
    value_ = sweep_.run(plan_.order, plan_.assignment);
  }

  // Units of which all ops are free lose their device, and their bytes are taken off it.
  void openUnits() {
    for (const OpId op : free_) {
      const UnitId unit = problem_.unit(op);
      unit_device_[unit.index()] = plan_.assignment[op.index()];
      const auto ops = problem_.unitOps(unit);
      const bool whole =
          std::all_of(ops.begin(), ops.end(), [&](OpId o) { return is_free_[o.index()] != 0; });
      if (!whole || unit_open_[unit.index()] != 0) continue;
      unit_open_[unit.index()] = 1;
      plan_.used[plan_.assignment[op.index()].index()] -= plan_.bytes(unit);
    }
  }

  double leastSeconds(OpId op) const {
    if (is_free_[op.index()] == 0 || unit_open_[problem_.unit(op).index()] == 0)
      return problem_.opSeconds(op, plan_.assignment[op.index()]);
    double least = kInfinity;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (problem_.allowed(problem_.unit(op), DeviceId(d)))
        least = std::min(least, problem_.opSeconds(op, DeviceId(d)));
    }
    return least;
  }

  void prepareTails() {
    const OpGraph& graph = problem_.graph;
    std::fill(tail_.begin(), tail_.end(), -kInfinity);
    std::vector<OpId> next(devices_, OpId(n_));
    next_other_.assign((others_.size() + 1) * devices_, OpId(n_));
    const auto follow = [&](OpId op, double gap, OpId then) {
      const double seconds = gap + leastSeconds(then);
      for (std::size_t m = 0; m < models_; ++m) {
        double& tail = tail_[op.index() * models_ + m];
        tail = std::max(tail, seconds + tail_[then.index() * models_ + m]);
      }
    };
    std::size_t taken = others_.size();
    for (std::size_t p = n_; p-- > 0;) {
      if (p + 1 == end_)
        std::copy(next.begin(), next.end(), next_other_.end() - static_cast<std::ptrdiff_t>(devices_));
      const OpId op = plan_.order[p];
      const DeviceId on = plan_.assignment[op.index()];
      const bool fixed = is_free_[op.index()] == 0;
      tail_[op.index() * models_ + graph.op_model[op.index()].index()] = 0;
      for (const TensorId tensor : graph.outputs(op)) {
        for (const OpId consumer : graph.consumers(tensor)) {
          const DeviceId to = plan_.assignment[consumer.index()];
          const bool known = fixed && is_free_[consumer.index()] == 0 && to != on;
          follow(op, known ? problem_.transferSeconds(tensor, on, to) : 0, consumer);
        }
      }
      if (!fixed) continue;
      if (problem_.opSeconds(op, on) > 0) {
        if (next[on.index()] != OpId(n_))
          follow(op, problem_.cluster.classOf(on).launch_seconds, next[on.index()]);
        next[on.index()] = op;
      }
      if (begin_ <= p && p < end_) {
        --taken;
        std::copy(next.begin(), next.end(),
                  next_other_.begin() + static_cast<std::ptrdiff_t>(taken * devices_));
      }
    }
  }

  // What an end at `seconds` and the way behind it mean for the models.
  void raise(Bound& bound, double seconds, OpId op) const {
    for (std::size_t m = 0; m < models_; ++m) {
      const double end = seconds + tail_[op.index() * models_ + m];
      if (end <= bound.end[m]) continue;
      bound.sum += problem_.model_weight[m] * (end - bound.end[m]);
      bound.end[m] = end;
    }
  }

  void take(OpId op, Bound& bound) {
    raise(bound, sweep_.append(op, plan_.assignment), op);
    ++visits_;
  }

  // From a beginning with so many of the others taken.
  void grow(std::size_t others, const Bound& bound) {
    if (bound.sum >= cutoff_ || exhausted()) return;
    if (taken_.size() == end_ - begin_) return finish(bound);
    if (!isNew(others)) return;
    if (others < others_.size() && ready(others_[others])) step(others_[others], others + 1, bound);
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (on_[i] != kNotTaken || !ready(free_[i])) continue;
      const UnitId unit = problem_.unit(free_[i]);
      if (unit_open_[unit.index()] == 0) {
        stepFree(i, unit_device_[unit.index()], others, bound);
        continue;
      }
      unit_open_[unit.index()] = 0;
      const DeviceId before = unit_device_[unit.index()];
      for (std::size_t d = 0; d < devices_; ++d) {
        const DeviceId device(d);
        if (!problem_.allowed(unit, device)) continue;
        double& used = plan_.used[d];
        const double without = used;
        used += plan_.bytes(unit);
        unit_device_[unit.index()] = device;
        if (used <= problem_.memoryLimit(device)) stepFree(i, device, others, bound);
        used = without;
      }
      unit_device_[unit.index()] = before;
      unit_open_[unit.index()] = 1;
    }
  }

  void stepFree(std::size_t i, DeviceId device, std::size_t others, const Bound& bound) {
    on_[i] = static_cast<std::uint8_t>(device.index());
    plan_.assignment[free_[i].index()] = device;
    step(free_[i], others, bound);
    on_[i] = kNotTaken;
  }

  void step(OpId op, std::size_t others, const Bound& bound) {
    Level& level = levels_[taken_.size() + 1];
    sweep_.mark(level.mark);
    Bound& next = level.bound;
    next = bound;
    take(op, next);
    const DeviceId on = plan_.assignment[op.index()];
    const OpId after = next_other_[others * devices_ + on.index()];
    if (after != OpId(n_)) raise(next, sweep_.deviceFree(on) + problem_.opSeconds(after, on), after);
    taken_.push_back(op);
    grow(others, next);
    taken_.pop_back();
    sweep_.undo(level.mark);
  }

  bool ready(OpId op) const {
    for (const TensorId tensor : problem_.graph.inputs(op)) {
      const OpId producer = problem_.graph.producer(tensor);
      if (plan_.position(producer) < begin_) continue;
      if (std::find(taken_.begin(), taken_.end(), producer) == taken_.end()) return false;
    }
    return true;
  }

  bool exhausted() {
    if (visits_ >= next_poll_) {
      next_poll_ = visits_ + kVisitsBetweenPolls;
      stopped_ = stopped_ || budget_->stopped();
    }
    return stopped_ || visits_ >= last_visit_;
  }

  // Times that the rest sees; false where a beginning with the same ops and devices is nowhere later.
  bool isNew(std::size_t others) {
    sweep_.mark(now_mark_);
    now_ = now_mark_.free;
    const auto add = [&](OpId op) {
      now_.push_back(sweep_.end(op));
      if (!sweep_.keepsArrivals()) return;
      const DeviceId on = plan_.assignment[op.index()];
      for (const TensorId tensor : problem_.graph.inputs(op)) {
        const DeviceId from = plan_.assignment[problem_.graph.producer(tensor).index()];
        if (from != on) now_.push_back(sweep_.arrival(tensor, on));
      }
    };
    Key key{0, others};
    for (std::size_t i = 0; i < free_.size(); ++i) {
      key.devices |= static_cast<std::uint64_t>(on_[i]) << (8 * i);
      if (on_[i] != kNotTaken) add(free_[i]);
    }
    for (std::size_t i = 0; i < others; ++i) add(others_[i]);
    const auto place = seen_.try_emplace(key, kNone).first;
    for (std::uint32_t i = place->second; i != kNone; i = beginnings_[i].previous) {
      if (std::equal(now_.begin(), now_.end(), times_.begin() + beginnings_[i].times, std::greater_equal<>()))
        return false;
    }
    beginnings_.push_back({static_cast<std::uint32_t>(times_.size()), place->second});
    place->second = static_cast<std::uint32_t>(beginnings_.size() - 1);
    times_.insert(times_.end(), now_.begin(), now_.end());
    return true;
  }

  // The rest of the order behind the part, as far as it can still be better.
  void finish(const Bound& bound) {
    Level& level = levels_.back();
    sweep_.mark(level.mark);
    Bound& next = level.bound;
    next = bound;
    for (std::size_t p = end_; p < n_ && next.sum < cutoff_; ++p) take(plan_.order[p], next);
    sweep_.undo(level.mark);
    if (next.sum >= cutoff_) return;
    cutoff_ = next.sum * (1 - 1e-10);
    best_order_ = taken_;
    best_devices_.clear();
    for (const OpId op : free_) best_devices_.push_back(plan_.assignment[op.index()]);
  }
};

}  // namespace

WalkResult improveWindows(const Problem& problem, const Plan& start, std::uint64_t visits,
                          std::uint64_t stream, const Budget& budget) {
  if (problem.opCount() * problem.graph.modelCount() > kMostTails || problem.deviceCount() >= kNotTaken)
    return {kInfinity, {}};
  return Windows(problem, start, Random(budget.seed, stream)).run(visits, budget);
}

}  // namespace allot
