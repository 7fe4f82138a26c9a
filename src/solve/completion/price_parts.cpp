#include "solve/completion/price_parts.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kCompletions = 1024;
constexpr std::size_t kOpsBetweenPolls = 128;

// First multiple of `width` above `time`, as a count.
std::size_t slotAbove(double time, double width) {
  return time < 0 ? 0 : static_cast<std::size_t>(time / width) + 1;
}

}  // namespace

PartPricer::PartPricer(const PricedModel& model, const PricedPart& part)
    : model_(model),
      part_(part),
      classes_(model.classes),
      n_(part.seconds.size() / model.classes),
      others_(part.other_seconds.size() / model.classes),
      rest_((n_ + 1) * model.classes),
      best_start_(model.classes) {}

bool PartPricer::price(const Prices& prices, double tolerance, const Budget& budget) {
  prices_ = &prices;
  usage_.assign(classes_ * prices.slots(), 0);
  if (others_ > 0 && !priceOthers(budget)) return false;
  return pricePath(tolerance / static_cast<double>(n_ + 1), budget);
}

void PartPricer::use(std::size_t cls, double start, double seconds) {
  const double width = prices_->width;
  double* row = &usage_[cls * prices_->slots()];
  const double end = std::min(start + seconds, prices_->horizon());
  for (auto slot = static_cast<std::size_t>(start / width); slot < prices_->slots(); ++slot) {
    const double begin = static_cast<double>(slot) * width;
    if (begin >= end) break;
    row[slot] += std::max(0.0, std::min(end, begin + width) - std::max(start, begin));
  }
}

// cost_(s): what op and rest cost if the op starts at s on the class.
void PartPricer::startCost(std::size_t op, std::size_t cls) {
  const double seconds = part_.seconds[op * classes_ + cls], hold = held(seconds, cls);
  const Curve& rest = rest_[(op + 1) * classes_ + (part_.has_transfer ? cls : 0)];
  const double start = part_.earliest[op], width = prices_->width;
  cost_.clear();
  cost_.slope = part_.weight;
  std::size_t hint = 0;
  const auto add = [&](double s) { cost_.add(s, rest.walk(s + seconds, hint) + costOf(cls, s, hold)); };
  add(start);
  // Slopes change at the points of the rest and where op's start or end meets a slot.
  std::size_t k = 0, first = slotAbove(start, width), last = slotAbove(start + hold, width);
  const std::size_t slots = prices_->slots();
  while (k < rest.x.size() && rest.x[k] - seconds <= start) ++k;
  while (k < rest.x.size() || first <= slots || last <= slots) {
    double next = kInfinity;
    if (k < rest.x.size()) next = rest.x[k] - seconds;
    if (first <= slots) next = std::min(next, static_cast<double>(first) * width);
    if (last <= slots) next = std::min(next, static_cast<double>(last) * width - hold);
    if (next > cost_.x.back()) add(next);
    if (k < rest.x.size() && rest.x[k] - seconds <= next) ++k;
    if (first <= slots && static_cast<double>(first) * width <= next) ++first;
    if (last <= slots && static_cast<double>(last) * width - hold <= next) ++last;
  }
}

bool PartPricer::pricePath(double tolerance, const Budget& budget) {
  const std::size_t befores = part_.has_transfer ? classes_ : 1;
  endCurve(tolerance, rest_[n_ * classes_]);
  for (std::size_t c = 1; c < befores; ++c) rest_[n_ * classes_ + c] = rest_[n_ * classes_];
  for (std::size_t i = n_; i-- > 0;) {
    if (i % kOpsBetweenPolls == 0 && budget.stopped()) return false;
    for (std::size_t c = 0; c < classes_; ++c) {
      best_start_[c].clear();
      if (part_.seconds[i * classes_ + c] == kInfinity) continue;
      startCost(i, c);
      suffixMinimum(cost_, best_start_[c]);
    }
    for (std::size_t before = 0; before < befores; ++before) {
      smaller_.clear();
      for (std::size_t c = 0; c < classes_; ++c) {
        if (best_start_[c].x.empty()) continue;
        const double transfer =
            i > 0 && part_.has_transfer ? part_.transfer[((i - 1) * classes_ + before) * classes_ + c] : 0;
        shifted_ = best_start_[c];
        for (double& x : shifted_.x) x -= transfer;
        if (smaller_.x.empty()) {
          smallerOf(shifted_, shifted_, part_.earliest[i], smaller_);
        } else {
          smallerOf(smaller_, shifted_, part_.earliest[i], cost_);
          std::swap(smaller_, cost_);
        }
      }
      simplifyBelow(smaller_, tolerance, rest_[i * classes_ + before]);
    }
  }
  least_price_ = restAt(0, 0, part_.release);
  tracePath(tolerance);
  return true;
}

void PartPricer::tracePath(double tolerance) {
  double time = part_.release;
  std::size_t before = 0;
  const double width = prices_->width;
  const std::size_t slots = prices_->slots();
  for (std::size_t i = 0; i < n_; ++i) {
    const double target = restAt(i, before, time) + 2 * tolerance;
    double best = kInfinity, best_start = time;
    std::size_t best_class = 0;
    for (std::size_t c = 0; c < classes_ && !(best <= target); ++c) {
      const double seconds = part_.seconds[i * classes_ + c], hold = held(seconds, c);
      if (seconds == kInfinity) continue;
      const double transfer =
          i > 0 && part_.has_transfer ? part_.transfer[((i - 1) * classes_ + before) * classes_ + c] : 0;
      const double start = time + transfer;
      const Curve& rest = rest_[(i + 1) * classes_ + (part_.has_transfer ? c : 0)];
      std::size_t k = static_cast<std::size_t>(
          std::upper_bound(rest.x.begin(), rest.x.end(), start + seconds) - rest.x.begin());
      std::size_t hint = k > 0 ? k - 1 : 0;
      std::size_t first = slotAbove(start, width), last = slotAbove(start + hold, width);
      double s = start;
      while (true) {
        const double value = rest.walk(s + seconds, hint) + costOf(c, s, hold);
        if (value < best) {
          best = value;
          best_start = s;
          best_class = c;
          if (best <= target) break;
        }
        double next = kInfinity;
        if (k < rest.x.size()) next = rest.x[k] - seconds;
        if (first <= slots) next = std::min(next, static_cast<double>(first) * width);
        if (last <= slots) next = std::min(next, static_cast<double>(last) * width - hold);
        if (next == kInfinity) break;
        if (k < rest.x.size() && rest.x[k] - seconds <= next) ++k;
        if (first <= slots && static_cast<double>(first) * width <= next) ++first;
        if (last <= slots && static_cast<double>(last) * width - hold <= next) ++last;
        s = std::max(s, next);
      }
    }
    const double taken = part_.seconds[i * classes_ + best_class];
    use(best_class, best_start, held(taken, best_class));
    time = best_start + taken;
    before = best_class;
  }
  completion_ = time;
  if (others_ > 0) traceOthers();
}

// What is left when the path has ended: the completion, and the other ops by it.
void PartPricer::endCurve(double tolerance, Curve& end) {
  const double start = part_.earliest[n_];
  end.clear();
  end.slope = cost_.slope = part_.weight;
  if (others_ == 0) {
    end.add(start, part_.weight * start);
    return;
  }
  cost_.clear();
  for (std::size_t k = 0; k < kCompletions; ++k) {
    const double completion = first_completion_ + step_ * static_cast<double>(k);
    if (k == 0 || completion > cost_.x.back()) cost_.add(completion, part_.weight * completion + sum_[k]);
  }
  const double last = first_completion_ + step_ * static_cast<double>(kCompletions);
  if (last > cost_.x.back()) cost_.add(last, part_.weight * last);
  suffixMinimum(cost_, smaller_);
  // Before the first completion nothing is gained.
  smallerOf(smaller_, smaller_, start, cost_);
  simplifyBelow(cost_, tolerance, end);
}

// Calls visit(start, cost) for starts in the window of an op that ends it by `latest`; the least cost is
// among them.
template <class Visit>
void PartPricer::visitWindow(std::size_t op, std::size_t cls, double latest, Visit&& visit) const {
  const double seconds = part_.other_seconds[op * classes_ + cls], hold = held(seconds, cls);
  const double start = part_.head[op * classes_ + cls];
  const double stop = latest - part_.tail[op * classes_ + cls] - seconds;
  if (seconds == kInfinity || stop < start) return;
  const double width = prices_->width;
  const std::size_t slots = prices_->slots();
  visit(start, costOf(cls, start, hold));
  std::size_t first = slotAbove(start, width), last = slotAbove(start + hold, width);
  while (first <= slots || last <= slots) {
    double next = kInfinity;
    if (first <= slots) next = static_cast<double>(first) * width;
    if (last <= slots) next = std::min(next, static_cast<double>(last) * width - hold);
    if (next >= stop) break;
    visit(next, costOf(cls, next, hold));
    if (first <= slots && static_cast<double>(first) * width <= next) ++first;
    if (last <= slots && static_cast<double>(last) * width - hold <= next) ++last;
  }
  visit(stop, costOf(cls, stop, hold));
}

// sum_[k]: what the other ops cost if the model ends by the (k + 1)-th completion of the grid; behind its
// last all are free.
bool PartPricer::priceOthers(const Budget& budget) {
  double end = std::max(part_.completion, prices_->horizon());
  for (std::size_t at = 0; at < part_.other_seconds.size(); ++at) {
    if (part_.other_seconds[at] == kInfinity) continue;
    end = std::max(end,
                   std::max(prices_->horizon(), part_.head[at]) + part_.other_seconds[at] + part_.tail[at]);
  }
  first_completion_ = part_.completion;
  step_ = (end - first_completion_) / static_cast<double>(kCompletions);
  sum_.assign(kCompletions, 0);
  for (std::size_t i = 0; i < others_; ++i) {
    if (i % kOpsBetweenPolls == 0 && budget.stopped()) return false;
    least_.assign(kCompletions, kInfinity);
    for (std::size_t c = 0; c < classes_; ++c) {
      const std::size_t at = i * classes_ + c;
      const double seconds = part_.other_seconds[at];
      if (seconds == kInfinity) continue;
      const double hold = held(seconds, c), behind = part_.tail[at] + seconds;
      std::size_t k = 0;
      double running = kInfinity, last_start = part_.head[at];
      const auto settle = [&](double until) {
        // Completions whose latest start lies before the next visited one.
        for (; k < kCompletions; ++k) {
          const double start = first_completion_ + step_ * static_cast<double>(k + 1) - behind;
          if (start >= until) break;
          if (start < last_start) continue;
          least_[k] = std::min({least_[k], running, costOf(c, start, hold)});
        }
      };
      visitWindow(i, c, end + behind, [&](double start, double cost) {
        settle(start);
        running = std::min(running, cost);
        last_start = std::max(last_start, start);
      });
      settle(kInfinity);
    }
    for (std::size_t k = 0; k < kCompletions; ++k) {
      if (least_[k] < kInfinity) sum_[k] += least_[k];
    }
  }
  return true;
}

// The completion that is cheapest from the end of the path on, and each other op's cheapest time by it.
void PartPricer::traceOthers() {
  const double last = first_completion_ + step_ * static_cast<double>(kCompletions);
  double best = kInfinity, latest = std::max(last, completion_);
  for (std::size_t k = 0; k < kCompletions; ++k) {
    const double completion = first_completion_ + step_ * static_cast<double>(k);
    if (completion + step_ < completion_) continue;
    const double value = part_.weight * std::max(completion, completion_) + sum_[k];
    if (value >= best) continue;
    best = value;
    latest = completion + step_;
  }
  if (part_.weight * std::max(last, completion_) < best) latest = std::max(last, completion_);
  completion_ = latest;
  for (std::size_t i = 0; i < others_; ++i) {
    double cheapest = kInfinity, start = 0;
    std::size_t cls = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      visitWindow(i, c, completion_, [&](double at, double cost) {
        if (cost >= cheapest) return;
        cheapest = cost;
        start = at;
        cls = c;
      });
    }
    if (cheapest < kInfinity) use(cls, start, held(part_.other_seconds[i * classes_ + cls], cls));
  }
}

}  // namespace allot
