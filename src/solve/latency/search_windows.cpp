#include "solve/latency/search_windows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "solve/latency/lanes.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
static const std::uint64_t kFirstMoves = getenv("WF")?atoi(getenv("WF")):16;         // by op; doubled from pass to pass
constexpr std::uint32_t kWindow = 2, kAhead = 2;  // in strides of the decoder
static const double kHot = getenv("WH")?atof(getenv("WH")):0.005, kCold = getenv("WC")?atof(getenv("WC")):0.001;     // temperatures in mean op times
constexpr double kWorthwhile = 0.001;             // gain of a pass that makes another one worth its time
constexpr std::uint32_t kPatience = 2;            // passes below that

class WindowSearch {
 public:
  WindowSearch(const ScheduleModel& model, const SearchRange& range, const Budget& budget)
      : budget_(budget),
        decoder_(model),
        whole_(model),
        neighbourhood_(model, range),
        lanes_(decoder_) {
    double total = 0;
    for (std::size_t op = 0; op < model.opCount(); ++op) {
      double fastest = kInfinity;
      for (std::size_t d = 0; d < model.devices; ++d) fastest = std::min(fastest, model.time(op, d));
      total += fastest;
    }
    mean_seconds_ = total / static_cast<double>(model.opCount());
  }

  WindowSearchEnd run(const Sequence& start, const std::function<void(const Sequence&)>& report) {
    best_value_ = whole_.reset(start);
    neighbourhood_.begin(best_ = start);
    std::uint64_t moves = kFirstMoves;
    std::uint32_t idle = 0;
    for (std::uint32_t pass = 0; !end_.by_clock && (idle < kPatience || getenv("WLONG")); ++pass, moves *= 2) {
      if (budget_.work_limit > 0 && end_.moves >= budget_.work_limit) break;
      decoder_.reset(neighbourhood_.sequence());
      neighbourhood_.sortByStart(decoder_);
      onePass(pass, moves);
      const double before = best_value_;
      const double value = whole_.reset(neighbourhood_.sequence());
      if (getenv("WDBG")) std::fprintf(stderr, "cpu %.1f pass %u moves %lu value %.6g tries %lu acc %lu neutral %lu\n", double(clock())/1e6, pass, end_.moves, value, tries_, acc_, neu_);
      if (value < best_value_) {
        best_value_ = value;
        best_ = neighbourhood_.sequence();
        report(neighbourhood_.sequence());
      }
      if (getenv("WB") && value > best_value_) neighbourhood_.begin(best_);
      idle = value < before * (1 - kWorthwhile) ? 0 : idle + 1;
    }
    return end_;
  }

 private:
  const Budget& budget_;
  Decoder decoder_, whole_;
  Neighbourhood neighbourhood_;
  Lanes lanes_;
  std::array<Move, Lanes::kLanes> proposed_;
  std::array<double, Lanes::kLanes> limit_;
  double mean_seconds_;
  double best_value_ = kInfinity;
  Sequence best_;
  WindowSearchEnd end_; std::uint64_t tries_=0,acc_=0,neu_=0;

  void onePass(std::uint32_t pass, std::uint64_t moves_per_op) {
    const Sequence& sequence = neighbourhood_.sequence();
    const auto n = static_cast<std::uint32_t>(sequence.order.size());
    const std::uint32_t stride = decoder_.stride();
    const std::uint32_t window = kWindow * stride, step = window / 2, ahead = kAhead * stride;
    decoder_.reset(sequence);
    Random random(budget_.seed, 77 + pass);
    for (std::uint32_t begin = 0; begin < n; begin += step) {
      const std::uint32_t stop = std::min(n, begin + window);
      decoder_.setWindow(sequence, begin, std::min(n, stop + ahead));
      neighbourhood_.restrictTo(begin, std::max(stop, begin + 1));
      anneal(moves_per_op * (std::min(stop, begin + step) - begin), random);
      if (end_.by_clock || (budget_.work_limit > 0 && end_.moves >= budget_.work_limit)) return;
    }
  }

  void anneal(std::uint64_t moves, Random& random) {
    const Sequence& sequence = neighbourhood_.sequence();
    double current = decoder_.value();
    const double hot = mean_seconds_ * kHot, cold = mean_seconds_ * kCold;
    double temperature = hot;
    for (std::uint64_t move = 0; move < moves; move += lanes_.room(), end_.moves += lanes_.room()) {
      if (move % (64 * lanes_.room()) == 0) {
        if (budget_.stopped()) {
          end_.by_clock = true;
          return;
        }
        temperature = hot * std::pow(cold / hot, static_cast<double>(move) / static_cast<double>(moves));
      }
      proposeMany(current, temperature, random);
      const std::uint32_t chosen = choose(current);
      if (chosen == lanes_.count()) continue;
      neighbourhood_.redo(proposed_[chosen]);
      const double value = decoder_.tryChange(sequence, neighbourhood_.changedFrom(),
                                              neighbourhood_.changedUntil(), limit_[chosen]);
      ++tries_; acc_ += value < kInfinity; neu_ += value == current;
      if (value < kInfinity) {
        decoder_.accept(sequence);
        current = value;
      } else {
        decoder_.reject(sequence);
        neighbourhood_.undo();
      }
    }
  }

  // Fills the lanes with moves of which none is made.
  void proposeMany(double current, double temperature, Random& random) {
    lanes_.clear();
    for (std::uint32_t i = 0; i < lanes_.room(); ++i) {
      neighbourhood_.propose(random);
      if (neighbourhood_.changedFrom() >= neighbourhood_.changedUntil()) continue;
      const std::uint32_t lane = lanes_.count();
      limit_[lane] = current - temperature * std::log(1 - random.unit());
      if (neighbourhood_.overflow() == 0) {
        neighbourhood_.describe(proposed_[lane]);
        lanes_.add(proposed_[lane]);
      }
      neighbourhood_.undo();
    }
  }

  // The best of the lanes that seem to keep their limits; one that changes nothing only where there is no
  // other.
  std::uint32_t choose(double current) {
    std::uint32_t best = lanes_.count();
    if (best == 0) return best;
    lanes_.run(neighbourhood_.sequence());
    const double shift = current - lanes_.base();
    double best_value = kInfinity;
    for (std::uint32_t lane = 0; lane < lanes_.count(); ++lane) {
      const double value = lanes_.value(lane) + shift;
      if (!(value <= limit_[lane])) continue;
      const double rank = value - limit_[lane];
      if (rank < best_value) {
        best_value = rank;
        best = lane;
      }
    }
    return best;
  }
};

}  // namespace

WindowSearchEnd searchWindows(const ScheduleModel& model, const SearchRange& range, const Sequence& start,
                              const Budget& budget, const std::function<void(const Sequence&)>& report) {
  return WindowSearch(model, range, budget).run(start, report);
}

}  // namespace allot
