#include "solve/completion/two_chains.h"

#include <algorithm>
#include <limits>

#include "solve/completion/speed_weights.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kWorkBetweenPolls = 20'000;  // cells and pairs

// Smallest T at which weighted capacity behind the free times reaches the work: `open` is the weight of
// devices free from `now`, the others become free at f[0] <= f[1].
double finish(double work, double now, double open, const double (&f)[2], const double (&y)[2]) {
  double time = now, rate = open;
  for (int k = 0; k < 2; ++k) {
    if (y[k] == 0) continue;
    const double room = rate * (f[k] - time);
    if (work <= room) break;
    work -= room;
    time = f[k];
    rate += y[k];
  }
  return rate > 0 ? time + work / rate : time;
}

}  // namespace

TwoChains::TwoChains(const ChainModel& model, const Chain& first, const Chain& second, const BusyTimes* busy)
    : model_(model), busy_(busy), devices_(model.devices) {
  const bool ports = model.link_mode != LinkMode::kFree;
  kinds_ = devices_ + 1 + (ports ? devices_ * devices_ : 0);
  std::vector<SpeedJob> jobs;
  std::size_t classes = 0;
  for (const std::uint32_t c : model.classes) classes = std::max<std::size_t>(classes, c + 1);
  std::vector<double> count(classes, 0);
  for (const std::uint32_t c : model.classes) ++count[c];
  for (const Chain* chain : {&first, &second}) {
    SpeedJob job{chain->weight, chain->release, std::vector<double>(chain->size() * classes, kInfinity)};
    for (std::size_t i = 0; i < chain->size(); ++i) {
      for (std::size_t d = 0; d < devices_; ++d) {
        double& seconds = job.seconds[i * classes + model.classes[d]];
        seconds = std::min(seconds, model.time(*chain, i, d));
      }
    }
    jobs.push_back(std::move(job));
  }
  for (const SpeedWeights& found : {weightsForSum(jobs, count), weightsForLoad(jobs, count)}) {
    std::vector<double>& weight = weights_.emplace_back();
    for (const std::uint32_t c : model.classes) weight.push_back(found.weight[c]);
  }
  sides_[0].chain = &first;
  sides_[1].chain = &second;
  for (Side& side : sides_) prepare(side);
}

void TwoChains::prepare(Side& side) {
  const Chain& chain = *side.chain;
  const bool ports = model_.link_mode != LinkMode::kFree;
  const std::size_t n = side.size = chain.size();
  side.moves.assign((n + 1) * kinds_, {});
  side.seconds.assign((n + 1) * kinds_, 0);
  side.holds.assign((n + 1) * kinds_, 0);
  side.tail.assign((n + 1) * kinds_, kInfinity);
  side.seconds[devices_] = kInfinity;
  const std::size_t receive = model_.link_mode == LinkMode::kHalfDuplex ? devices_ : 2 * devices_;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t to = 0; to < devices_; ++to) {
      const double seconds = model_.time(chain, i - 1, to);
      if (seconds == kCannotRun) continue;
      const std::size_t at = i * kinds_ + to;
      side.seconds[at] = seconds;
      if (seconds > 0) side.holds[at] = std::uint64_t{1} << to;
      if (i == 1) {
        side.moves[at].push_back({static_cast<std::uint32_t>(devices_), false, 0});
        continue;
      }
      for (std::size_t from = 0; from < devices_; ++from) {
        if (model_.time(chain, i - 2, from) == kCannotRun) continue;
        const double transfer = model_.transfer(chain, i - 2, from, to);
        if (!ports || transfer == 0) {
          side.moves[at].push_back({static_cast<std::uint32_t>(from), false, transfer});
          continue;
        }
        const std::size_t kind = transferKind(from, to), before = (i - 1) * kinds_ + kind;
        side.moves[at].push_back({static_cast<std::uint32_t>(kind), false, 0});
        side.moves[before].push_back({static_cast<std::uint32_t>(from), true, 0});
        side.seconds[before] = transfer;
        side.holds[before] = (std::uint64_t{1} << (devices_ + from)) | (std::uint64_t{1} << (receive + to));
      }
    }
  }
  for (std::size_t i = n + 1; i-- > 0;) {
    for (std::size_t k = 0; k <= devices_; ++k) {
      double& tail = side.tail[i * kinds_ + k];
      if (i == n) {
        tail = 0;
        continue;
      }
      for (std::size_t to = 0; to < devices_; ++to) {
        const double seconds = model_.time(chain, i, to);
        if (seconds == kCannotRun) continue;
        const double transfer = i > 0 && k < devices_ ? model_.transfer(chain, i - 1, k, to) : 0;
        const double behind = seconds + side.tail[(i + 1) * kinds_ + to];
        tail = std::min(tail, transfer + behind);
        if (ports && k < devices_) side.tail[i * kinds_ + transferKind(k, to)] = behind;
      }
    }
  }
  for (const std::vector<double>& weight : weights_) {
    std::vector<double>& rest = side.rest.emplace_back(n + 1, 0);
    for (std::size_t i = n; i-- > 0;) {
      double least = kInfinity;
      for (std::size_t d = 0; d < devices_; ++d) {
        const double seconds = model_.time(chain, i, d);
        if (seconds < kCannotRun) least = std::min(least, weight[d] * seconds);
      }
      rest[i] = rest[i + 1] + least;
    }
  }
}

double TwoChains::bound(const double end[2], double now, const std::size_t position[2],
                        const std::size_t kind[2]) const {
  double alone[2];
  const std::uint64_t devices = (std::uint64_t{1} << devices_) - 1;
  std::size_t held[2];  // device that the last activity of each chain holds, if any
  for (int s = 0; s < 2; ++s) {
    const std::size_t at = position[s] * kinds_ + kind[s];
    alone[s] = end[s] + sides_[s].tail[at];
    held[s] = (sides_[s].holds[at] & devices) != 0 ? kind[s] : devices_;
  }
  const double w[2] = {sides_[0].chain->weight, sides_[1].chain->weight};
  const double least = w[0] * alone[0] + w[1] * alone[1];
  if (least >= cutoff_) return least;
  // Latest ends by which chain ends first.
  double first_ends[2][2] = {{alone[0], alone[1]}, {alone[0], alone[1]}};
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    const std::vector<double>& weight = weights_[k];
    double f[2], y[2] = {0, 0};
    double open = 1;
    for (int s = 0; s < 2; ++s) {
      f[s] = end[s];
      const bool later = held[s] != devices_ && !(held[s] == held[1 - s] && end[s] < end[1 - s]) &&
                         !(s == 1 && held[0] == held[1] && end[0] == end[1]);
      if (later && end[s] > now) {
        y[s] = weight[held[s]];
        open -= y[s];
      }
    }
    open = std::max(open, 0.0);
    if (f[0] > f[1]) {
      std::swap(f[0], f[1]);
      std::swap(y[0], y[1]);
    }
    const double rest[2] = {sides_[0].rest[k][position[0]], sides_[1].rest[k][position[1]]};
    const double both = finish(rest[0] + rest[1], now, open, f, y);
    for (int s = 0; s < 2; ++s) {
      if (rest[s] > 0) first_ends[s][s] = std::max(first_ends[s][s], finish(rest[s], now, open, f, y));
      if (rest[1 - s] > 0) first_ends[s][1 - s] = std::max(first_ends[s][1 - s], both);
    }
  }
  return std::min(w[0] * first_ends[0][0] + w[1] * first_ends[0][1],
                  w[0] * first_ends[1][0] + w[1] * first_ends[1][1]);
}

double TwoChains::fit(std::uint64_t held, double start, double seconds) const {
  if (held == 0) return start;
  const auto& taken = (*busy_)[static_cast<std::size_t>(__builtin_ctzll(held))];
  auto next = std::partition_point(taken.begin(), taken.end(),
                                   [&](const auto& interval) { return interval.second <= start; });
  for (; next != taken.end() && next->first < start + seconds; ++next) start = std::max(start, next->second);
  return start;
}

void TwoChains::extend(int side, const Row& row, std::size_t cell_base, const Move& move,
                       const std::size_t position[2], const std::size_t kind[2]) {
  const std::size_t cell =
      cell_base + (side == 0 ? move.from_kind * kinds_ + kind[1] : kind[0] * kinds_ + move.from_kind);
  const std::size_t at = position[side] * kinds_ + kind[side];
  const std::size_t other = 1 - side, at_other = position[other] * kinds_ + kind[other];
  const double seconds = sides_[side].seconds[at], seconds_other = sides_[other].seconds[at_other];
  const std::uint64_t holds = sides_[side].holds[at];
  const bool conflict = (holds & sides_[other].holds[at_other]) != 0;
  for (std::uint32_t p = row.first[cell]; p < row.first[cell] + row.count[cell]; ++p) {
    const Point& from = points_[p];
    double start = std::max(from.end[side] + move.delay, from.end[other] - seconds_other);
    if (conflict) start = std::max(start, from.end[other]);
    if (busy_ != nullptr) start = fit(holds, start, seconds);
    Point to;
    to.end[side] = start + seconds;
    to.end[other] = from.end[other];
    if (bound(to.end, start, position, kind) >= cutoff_) continue;
    to.parent = p;
    to.from_kind = static_cast<std::uint16_t>(move.from_kind);
    to.side = static_cast<std::uint8_t>(side);
    found_.push_back(to);
  }
}

// Moves what is not dominated from `found_` to the end of `points_`.
void TwoChains::keep(std::size_t cap) {
  std::sort(found_.begin(), found_.end(), [](const Point& a, const Point& b) {
    return a.end[0] != b.end[0] ? a.end[0] < b.end[0] : a.end[1] < b.end[1];
  });
  double least = kInfinity;
  std::size_t kept = 0;
  for (const Point& point : found_) {
    if (point.end[1] >= least) continue;
    least = point.end[1];
    found_[kept++] = point;
  }
  found_.resize(kept);
  if (cap > 0 && kept > cap) {
    // Spread over the front: its ends lead to the schedules that put one chain first.
    for (std::size_t k = 0; k < cap; ++k) points_.push_back(found_[k * (kept - 1) / (cap - 1)]);
  } else {
    points_.insert(points_.end(), found_.begin(), found_.end());
  }
  found_.clear();
}

TwoChainsEnd TwoChains::run(double cutoff, std::size_t cap, const Budget& budget) {
  cutoff_ = cutoff;
  value_ = kInfinity;
  points_.clear();
  const std::size_t most_points = budget.memory_bytes / 2 / sizeof(Point);
  const std::size_t n = sides_[0].size, m = sides_[1].size, cells = (m + 1) * kinds_ * kinds_;
  Row rows[2];
  for (Row& row : rows) {
    row.first.assign(cells, 0);
    row.count.assign(cells, 0);
  }
  std::size_t work = 0, polled = 0;
  for (std::size_t i = 0; i <= n; ++i) {
    Row& row = rows[i % 2];
    const Row& before = rows[1 - i % 2];
    for (std::size_t j = 0; j <= m; ++j) {
      work += kinds_ * kinds_;
      if (work + points_.size() > polled + kWorkBetweenPolls) {
        polled = work + points_.size();
        if (budget.stopped()) return TwoChainsEnd::kStopped;
      }
      if (points_.size() > most_points) return TwoChainsEnd::kTooLarge;
      const std::size_t base = j * kinds_ * kinds_;
      const std::size_t position[2] = {i, j};
      for (std::size_t a = 0; a < kinds_; ++a) {
        for (std::size_t b = 0; b < kinds_; ++b) {
          const std::size_t kind[2] = {a, b};
          const std::size_t cell = base + a * kinds_ + b;
          row.first[cell] = static_cast<std::uint32_t>(points_.size());
          if (i == 0 && j == 0 && a == devices_ && b == devices_) {
            Point& start = points_.emplace_back();
            start.end[0] = sides_[0].chain->release;
            start.end[1] = sides_[1].chain->release;
          } else {
            for (const Move& move : sides_[0].moves[i * kinds_ + a])
              extend(0, move.same_op ? row : before, base, move, position, kind);
            for (const Move& move : sides_[1].moves[j * kinds_ + b])
              extend(1, row, move.same_op ? base : base - kinds_ * kinds_, move, position, kind);
            if (!found_.empty()) keep(cap);
          }
          row.count[cell] = static_cast<std::uint32_t>(points_.size()) - row.first[cell];
        }
      }
    }
  }
  const Row& last = rows[n % 2];
  for (std::uint16_t a = 0; a <= devices_; ++a) {
    for (std::uint16_t b = 0; b <= devices_; ++b) {
      const std::size_t cell = (m * kinds_ + a) * kinds_ + b;
      for (std::uint32_t p = last.first[cell]; p < last.first[cell] + last.count[cell]; ++p) {
        const Point& point = points_[p];
        const double sum = sides_[0].chain->weight * point.end[0] + sides_[1].chain->weight * point.end[1];
        if (sum >= value_) continue;
        value_ = sum;
        best_point_ = p;
        best_kind_[0] = a;
        best_kind_[1] = b;
      }
    }
  }
  return TwoChainsEnd::kDone;
}

std::vector<std::vector<ChainActivity>> TwoChains::activities() const {
  std::vector<std::vector<ChainActivity>> lists(2);
  std::size_t position[2] = {sides_[0].size, sides_[1].size};
  std::size_t kind[2] = {best_kind_[0], best_kind_[1]};
  std::uint32_t p = best_point_;
  while (kind[0] != devices_ || kind[1] != devices_) {
    const Point& point = points_[p];
    const int s = point.side;
    const std::size_t at = position[s] * kinds_ + kind[s];
    const bool transfer = kind[s] > devices_;
    ChainActivity activity{};
    activity.op = static_cast<std::uint32_t>(position[s] - 1);
    activity.from = static_cast<std::uint32_t>(transfer ? (kind[s] - devices_ - 1) / devices_ : kind[s]);
    activity.to = static_cast<std::uint32_t>(transfer ? (kind[s] - devices_ - 1) % devices_ : kind[s]);
    activity.end = point.end[s];
    activity.start = point.end[s] - sides_[s].seconds[at];
    lists[static_cast<std::size_t>(s)].push_back(activity);
    if (!transfer) --position[s];
    kind[s] = point.from_kind;
    p = point.parent;
  }
  for (auto& list : lists) std::reverse(list.begin(), list.end());
  return lists;
}

}  // namespace allot
