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
      best_start_(model.classes) {
  if (!part.is_chain) return;
  rest_.resize((n_ + 1) * classes_);
  double time = part.release;
  for (std::size_t i = 0; i < n_; ++i) {
    earliest_.push_back(time);
    time += *std::min_element(part.seconds.begin() + static_cast<std::ptrdiff_t>(i * classes_),
                              part.seconds.begin() + static_cast<std::ptrdiff_t>((i + 1) * classes_));
  }
  earliest_.push_back(time);
}

bool PartPricer::price(const Prices& prices, double tolerance, const Budget& budget) {
  prices_ = &prices;
  usage_.assign(classes_ * prices.slots(), 0);
  return part_.is_chain ? priceChain(tolerance / static_cast<double>(n_), budget) : priceWindows(budget);
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
  const double seconds = part_.seconds[op * classes_ + cls], hold = held(op, cls);
  const Curve& rest = rest_[(op + 1) * classes_ + (part_.has_transfer ? cls : 0)];
  const double start = earliest_[op], width = prices_->width;
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

bool PartPricer::priceChain(double tolerance, const Budget& budget) {
  const std::size_t befores = part_.has_transfer ? classes_ : 1;
  for (std::size_t c = 0; c < befores; ++c) {
    Curve& end = rest_[n_ * classes_ + c];
    end.clear();
    end.add(earliest_[n_], part_.weight * earliest_[n_]);
    end.slope = part_.weight;
  }
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
          smallerOf(shifted_, shifted_, earliest_[i], smaller_);
        } else {
          smallerOf(smaller_, shifted_, earliest_[i], cost_);
          std::swap(smaller_, cost_);
        }
      }
      simplifyBelow(smaller_, tolerance, rest_[i * classes_ + before]);
    }
  }
  least_price_ = restAt(0, 0, part_.release);
  traceChain(tolerance);
  return true;
}

void PartPricer::traceChain(double tolerance) {
  double time = part_.release;
  std::size_t before = 0;
  const double width = prices_->width;
  const std::size_t slots = prices_->slots();
  for (std::size_t i = 0; i < n_; ++i) {
    const double target = restAt(i, before, time) + 2 * tolerance;
    double best = kInfinity, best_start = time;
    std::size_t best_class = 0;
    for (std::size_t c = 0; c < classes_ && !(best <= target); ++c) {
      const double seconds = part_.seconds[i * classes_ + c], hold = held(i, c);
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
    use(best_class, best_start, held(i, best_class));
    time = best_start + part_.seconds[i * classes_ + best_class];
    before = best_class;
  }
  completion_ = time;
}

// Calls visit(start, cost) for starts in the window of an op that ends it by `latest`; the least cost is
// among them.
template <class Visit>
void PartPricer::visitWindow(std::size_t op, std::size_t cls, double latest, Visit&& visit) const {
  const double seconds = part_.seconds[op * classes_ + cls], hold = held(op, cls);
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

bool PartPricer::priceWindows(const Budget& budget) {
  double begin = part_.release, end = prices_->horizon();
  for (std::size_t i = 0; i < n_; ++i) {
    double shortest = kInfinity, longest = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      const std::size_t at = i * classes_ + c;
      if (part_.seconds[at] == kInfinity) continue;
      shortest = std::min(shortest, part_.head[at] + part_.seconds[at] + part_.tail[at]);
      // Behind the horizon it is free.
      longest = std::max(longest,
                         std::max(prices_->horizon(), part_.head[at]) + part_.seconds[at] + part_.tail[at]);
    }
    if (shortest < kInfinity) begin = std::max(begin, shortest);
    end = std::max(end, longest);
  }
  end = std::max(end, begin);
  const double step = (end - begin) / static_cast<double>(kCompletions);
  // sum_[k]: cost of all ops if the model ends by the (k + 1)-th completion.
  sum_.assign(kCompletions, 0);
  for (std::size_t i = 0; i < n_; ++i) {
    if (i % kOpsBetweenPolls == 0 && budget.stopped()) return false;
    least_.assign(kCompletions, kInfinity);
    for (std::size_t c = 0; c < classes_; ++c) {
      const std::size_t at = i * classes_ + c;
      if (part_.seconds[at] == kInfinity) continue;
      const double hold = held(i, c), behind = part_.tail[at] + part_.seconds[at];
      std::size_t k = 0;
      double running = kInfinity, last_start = part_.head[at];
      const auto settle = [&](double until) {
        // Completions whose latest start lies before the next visited one.
        for (; k < kCompletions; ++k) {
          const double start = begin + step * static_cast<double>(k + 1) - behind;
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
  double best = part_.weight * end;
  std::size_t best_k = kCompletions;
  for (std::size_t k = kCompletions; k-- > 0;) {
    const double value = part_.weight * (begin + step * static_cast<double>(k)) + sum_[k];
    if (value >= best) continue;
    best = value;
    best_k = k;
  }
  completion_ = begin + step * static_cast<double>(std::min(best_k + 1, kCompletions));
  for (std::size_t i = 0; i < n_; ++i) {
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
    if (cheapest < kInfinity) use(cls, start, held(i, cls));
  }
  least_price_ = best;
  return true;
}

}  // namespace allot
