#include "solve/latency/search_windows.h"

#include <algorithm>
#include <cmath>

#include "solve/latency/screen.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kFirstMoves = 16;         // by op; doubled from pass to pass
constexpr std::uint32_t kWindow = 2, kAhead = 2;  // in strides of the decoder
constexpr double kHot = 0.005, kCold = 0.001;     // temperatures in mean op times
constexpr double kWorthwhile = 0.001;             // gain of a pass that makes another one worth its time
constexpr std::uint32_t kPatience = 2;            // passes below that

class WindowSearch {
 public:
  WindowSearch(const ScheduleModel& model, const SearchRange& range, const Budget& budget)
      : budget_(budget),
        decoder_(model),
        whole_(model),
        neighbourhood_(model, range),
        screen_(decoder_, neighbourhood_) {
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
    neighbourhood_.begin(start);
    std::uint64_t moves = kFirstMoves;
    std::uint32_t idle = 0;
    double last = best_value_;
    for (std::uint32_t pass = 0; !end_.by_clock && idle < kPatience; ++pass, moves *= 2) {
      if (budget_.work_limit > 0 && end_.moves >= budget_.work_limit) break;
      decoder_.reset(neighbourhood_.sequence());
      neighbourhood_.sortByStart(decoder_);
      onePass(pass, moves);
      const double value = whole_.reset(neighbourhood_.sequence());
      if (value < best_value_) {
        best_value_ = value;
        report(neighbourhood_.sequence());
      }
      idle = value < last * (1 - kWorthwhile) ? 0 : idle + 1;
      last = value;
    }
    return end_;
  }

 private:
  const Budget& budget_;
  Decoder decoder_, whole_;
  Neighbourhood neighbourhood_;
  Screen screen_;
  double mean_seconds_;
  double best_value_ = kInfinity;
  WindowSearchEnd end_;

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
    const double hot = mean_seconds_ * kHot, cold = mean_seconds_ * kCold;
    double temperature = hot;
    const auto drawLimit = [&] {
      return neighbourhood_.overflow() > 0 ? -1
                                           : decoder_.value() - temperature * std::log(1 - random.unit());
    };
    const std::uint32_t width = screen_.width();
    for (std::uint64_t move = 0; move < moves; move += width, end_.moves += width) {
      if (move % (64 * width) == 0) {
        if (budget_.stopped()) {
          end_.by_clock = true;
          return;
        }
        temperature = hot * std::pow(cold / hot, static_cast<double>(move) / static_cast<double>(moves));
      }
      if (!screen_.propose(random, drawLimit)) continue;
      const double value = decoder_.tryChange(sequence, neighbourhood_.changedFrom(),
                                              neighbourhood_.changedUntil(), screen_.limit());
      if (value < kInfinity) {
        decoder_.accept(sequence);
      } else {
        decoder_.reject(sequence);
        neighbourhood_.undo();
      }
    }
  }
};

}  // namespace

WindowSearchEnd searchWindows(const ScheduleModel& model, const SearchRange& range, const Sequence& start,
                              const Budget& budget, const std::function<void(const Sequence&)>& report) {
  return WindowSearch(model, range, budget).run(start, report);
}

}  // namespace allot
