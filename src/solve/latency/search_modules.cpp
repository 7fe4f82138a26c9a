#include "solve/latency/search_modules.h"

#include <algorithm>
#include <map>

#include "base/thread_pool.h"
#include "solve/latency/window_resolve.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kFirstMoves = 100;  // by op, pair and round; doubled from round to round
constexpr double kHot = 0.1, kWarm = 0.01, kCold = 5e-4;  // temperatures from a start and from a good plan
constexpr double kMargin = 0.08, kLeastMargin = 0.004;    // how far from the best path a pair may lie
// Parts of what was annealed are solved again for the pairs of the best path: partial schedules by move.
constexpr double kStatesPerMove = 0.5;
constexpr std::uint32_t kPatience = 7;  // rounds without a better plan

struct Module {
  SearchRange range;
  bool has_in, has_out;            // whether its first and last ops are barriers
  std::vector<AnnealResult> best;  // [in * devices + out]
  std::vector<double> through;     // best path by way of the pair
};

struct Task {
  std::uint32_t module, in, out;
};

class ModuleSearch {
 public:
  ModuleSearch(const ScheduleModel& model, const std::vector<std::uint32_t>& barriers, const Sequence& start,
               const Budget& budget, const std::function<void(const Sequence&)>& report)
      : model_(model),
        start_(start),
        budget_(budget),
        report_(report),
        whole_(model),
        devices_(model.devices) {
    const auto n = static_cast<std::uint32_t>(model.opCount());
    const double grid = timeGrid(model);
    std::uint32_t first = 0;
    bool has_in = false;
    const auto add = [&](std::uint32_t last, bool has_out) {
      if (last - first > (has_out ? 1u : 0u))
        modules_.push_back({{first, last, has_out, true, grid},
                            has_in,
                            has_out,
                            std::vector<AnnealResult>(devices_ * devices_),
                            {}});
    };
    for (const std::uint32_t barrier : barriers) {
      add(barrier + 1, true);
      first = barrier;
      has_in = true;
    }
    add(n, false);
    findShapes();
  }

  ModuleSearchEnd run() {
    best_value_ = whole_.reset(start_);
    double margin = kMargin;
    std::uint64_t moves = kFirstMoves;
    std::uint32_t idle = 0;
    for (std::uint32_t round = 0; idle < kPatience && !end_.by_clock; ++round, moves *= 2) {
      // Early values are rough: now and then pairs are looked at again that seemed too far.
      const std::vector<Task> tasks = tasksOf(round, round < 2        ? kInfinity
                                                     : round % 3 == 0 ? 4 * margin
                                                                      : margin);
      if (!runRound(tasks, round, moves)) end_.by_clock = true;
      idle = join() ? 0 : idle + 1;
      margin = std::max(kLeastMargin, margin * 0.75);
      if (budget_.work_limit > 0 && end_.moves >= budget_.work_limit) break;
    }
    return end_;
  }

 private:
  const ScheduleModel& model_;
  const Sequence& start_;
  const Budget& budget_;
  const std::function<void(const Sequence&)>& report_;
  Decoder whole_;
  std::size_t devices_;
  std::vector<Module> modules_;     // the last one has no barrier at its end
  std::vector<std::size_t> shape_;  // by module
  double best_value_ = kInfinity, path_value_ = kInfinity;
  std::vector<Task> path_;  // pairs of the best path, by module
  bool resolve_ = WindowResolver::applies(model_);
  ModuleSearchEnd end_;

  std::vector<Task> tasksOf(std::uint32_t round, double margin) const {
    std::vector<Task> tasks;
    for (std::uint32_t m = 0; m < modules_.size(); ++m) {
      const Module& module = modules_[m];
      const std::uint32_t ins = module.has_in ? static_cast<std::uint32_t>(devices_) : 1;
      const std::uint32_t outs = module.has_out ? static_cast<std::uint32_t>(devices_) : 1;
      // Two ops: a barrier and the next, nothing to search after the first time.
      if (round > 0 && module.range.last - module.range.first <= 2) continue;
      for (std::uint32_t in = 0; in < ins; ++in) {
        for (std::uint32_t out = 0; out < outs; ++out) {
          if (module.has_in && !model_.runs(module.range.first, in)) continue;
          if (module.has_out && !model_.runs(module.range.last - 1, out)) continue;
          if (round > 0 && !(module.through[in * devices_ + out] <= path_value_ * (1 + margin))) continue;
          tasks.push_back({m, in, out});
        }
      }
    }
    return tasks;
  }

  // The start's decisions inside the module, its ends on the pair's devices.
  Sequence startOf(const Module& module, std::uint32_t in, std::uint32_t out, bool flat) const {
    const std::uint32_t first = module.range.first, last = module.range.last;
    std::vector<std::uint32_t> order;
    for (const std::uint32_t op : start_.order) {
      if (op >= first && op < last) order.push_back(op - first);
    }
    Sequence sequence;
    sequence.device.assign(start_.device.begin() + first, start_.device.begin() + last);
    // Flat: all on one device, where they run there; another corner of the search than the start's.
    for (std::uint32_t op = first; flat && op < last; ++op) {
      if (model_.runs(op, in)) sequence.device[op - first] = in;
    }
    if (module.has_in) sequence.device.front() = in;
    if (module.has_out) sequence.device.back() = out;
    sequence.setOrder(std::move(order));
    return sequence;
  }

  // The best plan of the pair so far, in this module or in one of the same shape: networks repeat themselves.
  Sequence warmStart(const Task& task, Annealer& annealer) const {
    const std::size_t pair = task.in * devices_ + task.out;
    const AnnealResult* best = &modules_[task.module].best[pair];
    double value = best->value;
    for (std::size_t m = 0; m < modules_.size(); ++m) {
      const AnnealResult& other = modules_[m].best[pair];
      if (shape_[m] != shape_[task.module] || !(other.value < kInfinity) || m == task.module) continue;
      if (const double here = annealer.valueOf(other.sequence); here < value) {
        value = here;
        best = &other;
      }
    }
    return best->sequence;
  }

  // Modules have one number if their ops read each other alike and may run on the same devices.
  void findShapes() {
    std::map<std::vector<std::uint32_t>, std::size_t> numbers;
    for (const Module& module : modules_) {
      std::vector<std::uint32_t> shape{module.range.last - module.range.first, module.has_in, module.has_out};
      for (std::uint32_t op = module.range.first; op < module.range.last; ++op) {
        for (std::uint32_t d = 0; d < devices_; ++d) shape.push_back(model_.runs(op, d));
        for (const std::uint32_t other : model_.before[op]) {
          if (other >= module.range.first) shape.push_back(other - module.range.first + 2);
        }
        shape.push_back(UINT32_MAX);
      }
      shape_.push_back(numbers.emplace(std::move(shape), numbers.size()).first->second);
    }
  }

  bool onPath(const Task& task) const {
    return !path_.empty() && path_[task.module].in == task.in && path_[task.module].out == task.out;
  }

  // False when the clock ended it.
  bool runRound(const std::vector<Task>& tasks, std::uint32_t round, std::uint64_t moves_per_op) {
    std::vector<AnnealResult> results(tasks.size());
    std::uint64_t planned = 0;
    const auto movesOf = [&](const Task& task) {
      const SearchRange& range = modules_[task.module].range;
      return range.last - range.first > 2 ? (range.last - range.first + 10) * moves_per_op : 1;
    };
    for (const Task& task : tasks) planned += movesOf(task);
    double scale = 1;
    if (budget_.work_limit > 0 && planned > 0)
      scale =
          std::min(1.0, static_cast<double>(budget_.work_limit - std::min(budget_.work_limit, end_.moves)) /
                            static_cast<double>(planned));
    parallelFor(tasks.size(), budget_.threads, [&](std::size_t i) {
      const Task& task = tasks[i];
      if (budget_.stopped()) return;
      const Module& module = modules_[task.module];
      const AnnealResult& known = module.best[task.in * devices_ + task.out];
      Annealer annealer(model_, module.range);
      if (module.has_in) annealer.neighbourhood().pin(0);
      if (module.has_out) annealer.neighbourhood().pin(module.range.last - module.range.first - 1);
      Random random(budget_.seed, (std::uint64_t{round} << 40) + (std::uint64_t{task.module} << 16) +
                                      task.in * devices_ + task.out);
      // Runs grow with the square root of the round's length: many starts find more than one long run.
      const auto moves = static_cast<std::uint64_t>(static_cast<double>(movesOf(task)) * scale);
      const std::uint32_t runs = 1u << std::min(16u, round / 2);
      AnnealResult& result = results[i];
      result.moves = 0;
      for (std::uint32_t r = 0; r < runs && (r == 0 || !budget_.stopped()); ++r) {
        const bool on = known.value < kInfinity && (r + round) % 2 == 1;
        AnnealResult next = annealer.run(
            on ? warmStart(task, annealer) : startOf(module, task.in, task.out, (r + round) % 4 == 2),
            {moves / runs, on ? kWarm : kHot, kCold, kInfinity}, budget_, random);
        const std::uint64_t made = result.moves + next.moves;
        if (next.value < result.value) result = std::move(next);
        result.moves = made;
      }
      if (!resolve_ || !onPath(task) || !(result.value < kInfinity)) return;
      WindowResolver resolver(model_, module.range);
      if (module.has_in) resolver.pin(0);
      if (module.has_out) resolver.pin(module.range.last - module.range.first - 1);
      result.value = resolver.improve(result.sequence,
                                      static_cast<std::uint64_t>(kStatesPerMove * static_cast<double>(moves)),
                                      budget_, random);
      result.moves += resolver.states();
    });
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      AnnealResult& best = modules_[tasks[i].module].best[tasks[i].in * devices_ + tasks[i].out];
      end_.moves += results[i].moves;
      if (results[i].value < best.value) best = std::move(results[i]);
    }
    return !budget_.stopped();
  }

  // Shortest path over the devices of the barriers; reports it when it is better as a whole.
  bool join() {
    const std::size_t count = modules_.size();
    std::vector<double> ahead((count + 1) * devices_, kInfinity), behind((count + 1) * devices_, kInfinity);
    std::vector<std::uint32_t> from((count + 1) * devices_, 0);
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!modules_.front().has_in && d > 0) break;
      ahead[d] = 0;
    }
    for (std::size_t m = 0; m < count; ++m) {
      for (std::uint32_t in = 0; in < devices_; ++in) {
        for (std::uint32_t out = 0; out < devices_; ++out) {
          const double length = ahead[m * devices_ + in] + modules_[m].best[in * devices_ + out].value;
          if (length < ahead[(m + 1) * devices_ + out]) {
            ahead[(m + 1) * devices_ + out] = length;
            from[(m + 1) * devices_ + out] = in;
          }
        }
      }
    }
    behind[count * devices_] = 0;
    for (std::size_t m = count; m-- > 0;) {
      modules_[m].through.assign(devices_ * devices_, kInfinity);
      for (std::uint32_t in = 0; in < devices_; ++in) {
        for (std::uint32_t out = 0; out < devices_; ++out) {
          const double length =
              modules_[m].best[in * devices_ + out].value + behind[(m + 1) * devices_ + out];
          behind[m * devices_ + in] = std::min(behind[m * devices_ + in], length);
          modules_[m].through[in * devices_ + out] = ahead[m * devices_ + in] + length;
        }
      }
    }
    path_value_ = ahead[count * devices_];
    if (!(path_value_ < kInfinity)) return false;
    Sequence joined;
    joined.device.resize(model_.opCount());
    std::vector<std::uint32_t> order;
    std::vector<const Sequence*> parts(count);
    path_.resize(count);
    std::uint32_t last = 0;
    for (std::size_t m = count; m-- > 0;) {
      const std::uint32_t in = from[(m + 1) * devices_ + last];
      parts[m] = &modules_[m].best[in * devices_ + last].sequence;
      path_[m] = {static_cast<std::uint32_t>(m), in, last};
      last = in;
    }
    for (std::size_t m = 0; m < count; ++m) {
      const std::uint32_t first = modules_[m].range.first;
      for (const std::uint32_t op : parts[m]->order) {
        joined.device[first + op] = parts[m]->device[op];
        // A barrier stands at the end of one module and at the beginning of the next.
        if (op > 0 || !modules_[m].has_in || m == 0) order.push_back(first + op);
      }
    }
    joined.setOrder(std::move(order));
    const double value = whole_.reset(joined);
    if (!(value < best_value_ * (1 - 1e-12))) return false;
    best_value_ = value;
    report_(joined);
    return true;
  }
};

}  // namespace

std::vector<std::uint32_t> scheduleBarriers(const ScheduleModel& model) {
  if (model.problem->modes.memory == MemoryModel::kLive || !model.memoryNeverBinds()) return {};
  const auto n = static_cast<std::uint32_t>(model.opCount());
  // Inner places without a barrier: an op is none if something passes by it. An op that all others precede or
  // follow is passed by no path: count the ops between whose position and last reader it lies, and require
  // that all before reach it and that it reaches all behind.
  std::vector<std::int32_t> passing(n + 2, 0);
  const auto cover = [&](std::uint32_t from, std::uint32_t to) {  // positions strictly between
    if (to > from + 1) {
      ++passing[from + 1];
      --passing[to];
    }
  };
  for (std::size_t net = 0; net < model.netCount(); ++net) {
    for (const std::uint32_t reader : model.net_consumers[net]) cover(model.net_producer[net], reader);
  }
  for (std::size_t unit = 0; unit < model.unitCount(); ++unit) {
    // A unit may not reach over a barrier, nor hold one together with others.
    const auto ops = model.unit_ops[unit];
    if (ops.size() > 1) {
      ++passing[ops.front()];
      --passing[ops.back() + 1];
    }
  }
  std::vector<std::uint32_t> barriers;
  // Sources other than the first op of all, and sinks other than the last, run beside what lies between them
  // and the ends.
  std::uint32_t last_source = 0, first_sink = n;
  for (std::uint32_t op = 0; op < n; ++op) {
    if (model.before[op].empty()) last_source = op;
    if (model.after[op].empty()) first_sink = std::min(first_sink, op);
  }
  std::int32_t over = 0;
  for (std::uint32_t op = 0; op < n; ++op) {
    over += passing[op];
    if (over == 0 && op >= last_source && op <= first_sink) barriers.push_back(op);
  }
  return barriers;
}

ModuleSearchEnd searchModules(const ScheduleModel& model, const std::vector<std::uint32_t>& barriers,
                              const Sequence& start, const Budget& budget,
                              const std::function<void(const Sequence&)>& report) {
  return ModuleSearch(model, barriers, start, budget, report).run();
}

}  // namespace allot
