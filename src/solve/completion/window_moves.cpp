#include "solve/completion/window_moves.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/random.h"
#include "evaluate/sweep.h"
#include "solve/completion/window_bound.h"

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
        plan_(problem, start.assignment),
        part_(problem),
        bound_(problem),
        unit_device_(problem.unitCount(), DeviceId(0)) {
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
  // What a step is to leave as it found it.
  struct Level {
    Sweep::Mark mark;
    WindowBound::Ends bound;
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
  std::size_t n_, devices_, width_;
  OrderedPlan plan_;
  double value_ = 0;
  std::uint64_t visits_ = 0, last_visit_ = 0, next_poll_ = 0;
  bool stopped_ = false;

  // The part that is planned anew.
  WindowPart part_;
  WindowBound bound_;
  std::vector<DeviceId> unit_device_;                     // by unit
  std::vector<OpId> taken_;                               // in this order
  std::vector<std::uint8_t> on_;                          // by free op
  std::vector<Level> levels_;                             // by how many have been taken
  std::unordered_map<Key, std::uint32_t, KeyHash> seen_;  // the last beginning of a key
  std::vector<Seen> beginnings_;
  Sweep::Mark now_mark_;
  std::vector<double> times_, now_;  // of beginnings seen; of this one
  std::vector<OpId> best_order_;
  std::vector<DeviceId> best_devices_;
  double cutoff_ = 0;

  void chooseNeighbours(std::size_t at) {
    part_.free.clear();
    part_.begin = at;
    part_.end = std::min(n_, at + width_);
    part_.free.assign(plan_.order.begin() + static_cast<std::ptrdiff_t>(part_.begin),
                      plan_.order.begin() + static_cast<std::ptrdiff_t>(part_.end));
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
    part_.free.clear();
    for (std::size_t p = at; p < last && part_.free.size() < width_; ++p) {
      const OpId op = plan_.order[p];
      if (kind == 3 ? plan_.assignment[op.index()] != device : model(p) != model(at) && model(p) != second)
        continue;
      part_.free.push_back(op);
      part_.end = p + 1;
    }
    part_.begin = at - std::min(at, kMargin);
    part_.end = std::min(n_, part_.end + kMargin);
  }

  // True where a better plan was found; it is the plan then.
  bool solvePart() {
    for (const OpId op : part_.free) part_.is_free[op.index()] = 1;
    part_.others.clear();
    for (std::size_t p = part_.begin; p < part_.end; ++p) {
      if (part_.is_free[plan_.order[p].index()] == 0) part_.others.push_back(plan_.order[p]);
    }
    const std::vector<DeviceId> before = plan_.assignment;
    const std::vector<double> used = plan_.used;
    openUnits();
    bound_.prepare(plan_, part_);
    levels_.resize(part_.end - part_.begin + 2);
    WindowBound::Ends& bound = levels_[0].bound;
    bound = bound_.none();
    sweep_.begin();
    for (std::size_t p = 0; p < part_.begin; ++p) take(plan_.order[p], bound);
    on_.assign(part_.free.size(), kNotTaken);
    taken_.clear();
    seen_.clear();
    beginnings_.clear();
    times_.clear();
    best_order_.clear();
    cutoff_ = value_ * (1 - 1e-10);
    last_visit_ = visits_ + kVisitsOfPart;
    grow(0, bound);
    for (const OpId op : part_.free) {
      part_.is_free[op.index()] = 0;
      part_.unit_open[problem_.unit(op).index()] = 0;
    }
    plan_.assignment = before;
    plan_.used = used;
    if (best_order_.empty()) return false;
    acceptBest();
    return true;
  }

  void acceptBest() {
    std::vector<OpId> order = plan_.order;
    std::copy(best_order_.begin(), best_order_.end(),
              order.begin() + static_cast<std::ptrdiff_t>(part_.begin));
    for (std::size_t i = 0; i < part_.free.size(); ++i)
      plan_.place(problem_.unit(part_.free[i]), best_devices_[i]);
    plan_.accept();
    plan_.setOrder(std::move(order));
    value_ = sweep_.run(plan_.order, plan_.assignment);
  }

  // Units of which all ops are free lose their device, and their bytes are taken off it.
  void openUnits() {
    for (const OpId op : part_.free) {
      const UnitId unit = problem_.unit(op);
      unit_device_[unit.index()] = plan_.assignment[op.index()];
      const auto ops = problem_.unitOps(unit);
      const bool whole =
          std::all_of(ops.begin(), ops.end(), [&](OpId o) { return part_.is_free[o.index()] != 0; });
      if (!whole || part_.unit_open[unit.index()] != 0) continue;
      part_.unit_open[unit.index()] = 1;
      plan_.used[plan_.assignment[op.index()].index()] -= plan_.bytes(unit);
    }
  }

  void take(OpId op, WindowBound::Ends& bound) {
    bound_.raise(bound, op, sweep_.append(op, plan_.assignment));
    ++visits_;
  }

  // From a beginning with so many of the others taken.
  void grow(std::size_t others, const WindowBound::Ends& bound) {
    if (bound.sum >= cutoff_ || exhausted()) return;
    if (taken_.size() == part_.end - part_.begin) return finish(bound);
    if (!isNew(others)) return;
    if (others < part_.others.size() && ready(part_.others[others]))
      step(part_.others[others], others + 1, bound);
    for (std::size_t i = 0; i < part_.free.size(); ++i) {
      if (on_[i] != kNotTaken || !ready(part_.free[i])) continue;
      const UnitId unit = problem_.unit(part_.free[i]);
      if (part_.unit_open[unit.index()] == 0) {
        stepFree(i, unit_device_[unit.index()], others, bound);
        continue;
      }
      part_.unit_open[unit.index()] = 0;
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
      part_.unit_open[unit.index()] = 1;
    }
  }

  void stepFree(std::size_t i, DeviceId device, std::size_t others, const WindowBound::Ends& bound) {
    on_[i] = static_cast<std::uint8_t>(device.index());
    plan_.assignment[part_.free[i].index()] = device;
    step(part_.free[i], others, bound);
    on_[i] = kNotTaken;
  }

  void step(OpId op, std::size_t others, const WindowBound::Ends& bound) {
    Level& level = levels_[taken_.size() + 1];
    sweep_.mark(level.mark);
    WindowBound::Ends& next = level.bound;
    next = bound;
    take(op, next);
    const DeviceId on = plan_.assignment[op.index()];
    const OpId after = bound_.nextOther(others, on);
    if (after != OpId(n_)) bound_.raise(next, after, sweep_.deviceFree(on) + problem_.opSeconds(after, on));
    taken_.push_back(op);
    grow(others, next);
    taken_.pop_back();
    sweep_.undo(level.mark);
  }

  bool ready(OpId op) const {
    for (const TensorId tensor : problem_.graph.inputs(op)) {
      const OpId producer = problem_.graph.producer(tensor);
      if (plan_.position(producer) < part_.begin) continue;
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
    for (std::size_t i = 0; i < part_.free.size(); ++i) {
      key.devices |= static_cast<std::uint64_t>(on_[i]) << (8 * i);
      if (on_[i] != kNotTaken) add(part_.free[i]);
    }
    for (std::size_t i = 0; i < others; ++i) add(part_.others[i]);
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
  void finish(const WindowBound::Ends& bound) {
    Level& level = levels_.back();
    sweep_.mark(level.mark);
    WindowBound::Ends& next = level.bound;
    next = bound;
    for (std::size_t p = part_.end; p < n_ && next.sum < cutoff_; ++p) take(plan_.order[p], next);
    sweep_.undo(level.mark);
    if (next.sum >= cutoff_) return;
    cutoff_ = next.sum * (1 - 1e-10);
    best_order_ = taken_;
    best_devices_.clear();
    for (const OpId op : part_.free) best_devices_.push_back(plan_.assignment[op.index()]);
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
