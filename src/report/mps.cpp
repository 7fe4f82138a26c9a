#include "report/mps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/reachability.h"
#include "solve/latency/schedule_model.h"

namespace allot {
namespace {

constexpr std::size_t kMostRows = 5'000'000;
constexpr std::uint32_t kNone = 0xffffffffu;

// Rows and columns in the order in which they were added; MPS lists columns with their rows.
class Program {
 public:
  struct Term {
    std::uint32_t column;
    double value;
  };

  std::uint32_t column(std::string name, bool integer, double upper) {
    columns_.push_back({std::move(name), integer, upper, {}});
    return static_cast<std::uint32_t>(columns_.size() - 1);
  }
  // sum of terms >= right (sense 'G'), <= ('L') or = ('E').
  void row(char sense, double right, std::initializer_list<Term> terms) {
    row(sense, right, std::vector<Term>(terms));
  }
  void row(char sense, double right, std::vector<Term> terms) {
    const auto index = static_cast<std::uint32_t>(senses_.size());
    senses_.push_back(sense);
    right_.push_back(right);
    // MPS takes each entry once.
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.column < b.column; });
    for (std::size_t i = 0; i < terms.size(); ++i) {
      double value = terms[i].value;
      while (i + 1 < terms.size() && terms[i + 1].column == terms[i].column) value += terms[++i].value;
      if (value != 0) columns_[terms[i].column].entries.push_back({index, value});
    }
  }
  std::size_t rows() const { return senses_.size(); }

  std::string text(std::string_view title, std::uint32_t objective) const {
    std::string out = fmt::format("NAME {}\nROWS\n N value\n", title);
    for (std::size_t r = 0; r < senses_.size(); ++r) out += fmt::format(" {} r{}\n", senses_[r], r);
    out += "COLUMNS\n";
    bool integers = false;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const Column& column = columns_[c];
      if (column.integer != integers) {
        out += fmt::format(" m{} 'MARKER' '{}'\n", c, column.integer ? "INTORG" : "INTEND");
        integers = column.integer;
      }
      if (c == objective) out += fmt::format(" {} value 1\n", column.name);
      for (const auto& [row, value] : column.entries)
        out += fmt::format(" {} r{} {}\n", column.name, row, value);
    }
    if (integers) out += fmt::format(" m{} 'MARKER' 'INTEND'\n", columns_.size());
    out += "RHS\n";
    for (std::size_t r = 0; r < right_.size(); ++r) {
      if (right_[r] != 0) out += fmt::format(" rhs r{} {}\n", r, right_[r]);
    }
    out += "BOUNDS\n";
    for (const Column& column : columns_) out += fmt::format(" UP bnd {} {}\n", column.name, column.upper);
    return out + "ENDATA\n";
  }

 private:
  struct Entry {
    std::uint32_t row;
    double value;
  };
  struct Column {
    std::string name;
    bool integer;
    double upper;
    std::vector<Entry> entries;
  };
  std::vector<Column> columns_;
  std::vector<char> senses_;
  std::vector<double> right_;
};

class LatencyProgram {
 public:
  LatencyProgram(const Problem& problem, double horizon)
      : model_(problem), reach_(problem.graph), horizon_(horizon) {}

  Result<std::string> write() {
    latest_ = program_.column("latest", false, horizon_);
    placeOps();
    orderOps();
    addTransfers();
    if (model_.link_mode != LinkMode::kFree) ALLOT_CHECK(orderTransfers());
    if (program_.rows() > kMostRows) return tooLarge();
    return program_.text("allot-latency", latest_);
  }

 private:
  using Term = Program::Term;
  struct Transfer {
    std::uint32_t net, to, start;
    std::vector<std::uint32_t> from;  // by device: column u, or kNone
  };

  ScheduleModel model_;
  Reachability reach_;
  double horizon_;
  Program program_;
  std::uint32_t latest_ = 0;
  std::vector<std::uint32_t> on_;  // [op * devices + device]: column x, or kNone
  std::vector<std::uint32_t> start_;
  std::vector<Transfer> transfers_;

  std::uint32_t on(std::size_t op, std::size_t device) const { return on_[op * model_.devices + device]; }
  bool reaches(std::size_t a, std::size_t b) const {
    return reach_.reaches(model_.op_id[a], model_.op_id[b]);
  }

  static tl::unexpected<Error> tooLarge() {
    return badInput("--to mps", fmt::format("the program would have more than {} rows", kMostRows),
                    "export a smaller graph");
  }

  // start(a) + its time <= column - extra, where `column` is a start or the latest end.
  void afterOp(std::size_t op, std::uint32_t column) {
    std::vector<Term> terms{{column, 1}, {start_[op], -1}};
    for (std::size_t k = 0; k < model_.devices; ++k) {
      if (on(op, k) != kNone) terms.push_back({on(op, k), -model_.time(op, k)});
    }
    program_.row('G', 0, std::move(terms));
  }

  void placeOps() {
    on_.assign(model_.opCount() * model_.devices, kNone);
    for (std::size_t i = 0; i < model_.opCount(); ++i) {
      std::vector<Term> one;
      for (std::size_t k = 0; k < model_.devices; ++k) {
        if (!model_.runs(i, k)) continue;
        on_[i * model_.devices + k] = program_.column(fmt::format("x_{}_{}", i, k), true, 1);
        one.push_back({on(i, k), 1});
      }
      program_.row('E', 1, std::move(one));
    }
    for (std::size_t i = 0; i < model_.opCount(); ++i) {
      start_.push_back(program_.column(fmt::format("s_{}", i), false, horizon_));
      const std::size_t first = model_.unit_ops[model_.unit[i]].front();
      for (std::size_t k = 0; first != i && k < model_.devices; ++k) {
        if (on(i, k) != kNone) program_.row('E', 0, {{on(i, k), 1}, {on(first, k), -1}});
      }
    }
    for (std::size_t k = 0; k < model_.devices; ++k) {
      if (!std::isfinite(model_.memory[k])) continue;
      std::vector<Term> bytes;
      for (std::size_t u = 0; u < model_.unitCount(); ++u) {
        const std::size_t first = model_.unit_ops[u].front();
        if (on(first, k) != kNone) bytes.push_back({on(first, k), model_.unit_bytes[u]});
      }
      program_.row('L', model_.memory[k], std::move(bytes));
    }
  }

  void orderOps() {
    for (std::size_t i = 0; i < model_.opCount(); ++i) {
      afterOp(i, latest_);
      for (const std::uint32_t reader : model_.after[i]) afterOp(i, start_[reader]);
      for (std::size_t j = i + 1; j < model_.opCount(); ++j) {
        if (program_.rows() > kMostRows) return;
        const bool fixed = reaches(i, j);  // j never reaches i: positions are topological
        std::uint32_t order = kNone;
        for (std::size_t k = 0; k < model_.devices; ++k) {
          if (on(i, k) == kNone || on(j, k) == kNone) continue;
          if (model_.time(i, k) == 0 || model_.time(j, k) == 0) continue;
          if (fixed && model_.launch[k] == 0) continue;
          if (!fixed && order == kNone) order = program_.column(fmt::format("d_{}_{}", i, j), true, 1);
          keepApart(i, j, k, order, 1);
          if (!fixed) keepApart(j, i, k, order, 0);
        }
      }
    }
  }

  // Op `b` starts behind `a` on device k when both are there and the order column has this value.
  void keepApart(std::size_t a, std::size_t b, std::size_t k, std::uint32_t order, double value) {
    const double busy = model_.time(a, k) + model_.launch[k];
    const double big = horizon_ + busy;
    double right = busy - 2 * big;
    std::vector<Term> terms{{start_[b], 1}, {start_[a], -1}, {on(a, k), -big}, {on(b, k), -big}};
    if (order != kNone) {
      right -= value == 1 ? big : 0;
      terms.push_back({order, value == 1 ? -big : big});
    }
    program_.row('G', right, std::move(terms));
  }

  void addTransfers() {
    for (std::uint32_t net = 0; net < model_.netCount(); ++net) {
      const std::size_t producer = model_.net_producer[net];
      for (std::uint32_t to = 0; to < model_.devices; ++to) {
        const auto consumers = model_.net_consumers[net];
        const bool wanted = std::any_of(consumers.begin(), consumers.end(),
                                        [&](std::uint32_t c) { return on(c, to) != kNone; });
        if (!wanted) continue;
        Transfer transfer{net, to, kNone, std::vector<std::uint32_t>(model_.devices, kNone)};
        bool any = false;
        for (std::size_t from = 0; from < model_.devices; ++from) {
          if (on(producer, from) == kNone || !(model_.transfer(net, from, to) > 0)) continue;
          transfer.from[from] = program_.column(fmt::format("u_{}_{}_{}", net, from, to), false, 1);
          any = true;
        }
        if (!any) continue;
        transfer.start = program_.column(fmt::format("t_{}_{}", net, to), false, horizon_);
        afterOp(producer, transfer.start);
        for (const std::uint32_t consumer : consumers) {
          if (on(consumer, to) != kNone) readBy(transfer, consumer);
        }
        transfers_.push_back(std::move(transfer));
      }
    }
  }

  // The consumer waits for the transfer when it is on its target.
  void readBy(const Transfer& transfer, std::size_t consumer) {
    const std::uint32_t there = on(consumer, transfer.to);
    double longest = 0;
    std::vector<Term> terms{{start_[consumer], 1}, {transfer.start, -1}};
    for (std::size_t from = 0; from < model_.devices; ++from) {
      const std::uint32_t goes = transfer.from[from];
      if (goes == kNone) continue;
      const double seconds = model_.transfer(transfer.net, from, transfer.to);
      longest = std::max(longest, seconds);
      terms.push_back({goes, -seconds});
      program_.row('G', -1, {{goes, 1}, {on(model_.net_producer[transfer.net], from), -1}, {there, -1}});
    }
    terms.push_back({there, -(horizon_ + longest)});
    program_.row('G', -(horizon_ + longest), std::move(terms));
  }

  // Whether every consumer of `first` comes before what `then` carries.
  bool ordered(const Transfer& first, const Transfer& then) const {
    const std::uint32_t producer = model_.net_producer[then.net];
    const auto consumers = model_.net_consumers[first.net];
    return std::all_of(consumers.begin(), consumers.end(),
                       [&](std::uint32_t c) { return c == producer || reaches(c, producer); });
  }

  Result<void> orderTransfers() {
    for (std::size_t a = 0; a < transfers_.size(); ++a) {
      for (std::size_t b = a + 1; b < transfers_.size(); ++b) {
        if (program_.rows() > kMostRows) return tooLarge();
        const Transfer &one = transfers_[a], &other = transfers_[b];
        if (ordered(one, other) || ordered(other, one)) continue;
        std::uint32_t order = kNone;
        for (std::size_t k = 0; k < model_.devices; ++k) {
          for (std::size_t l = 0; l < model_.devices; ++l) {
            if (one.from[k] == kNone || other.from[l] == kNone) continue;
            const bool half = model_.link_mode == LinkMode::kHalfDuplex;
            const bool meet = k == l || one.to == other.to || (half && (k == other.to || l == one.to));
            if (!meet) continue;
            if (order == kNone) order = program_.column(fmt::format("o_{}_{}", a, b), true, 1);
            follow(one, k, other, l, order, 1);
            follow(other, l, one, k, order, 0);
          }
        }
      }
    }
    return {};
  }

  // `then`, sent from l, starts behind `first`, sent from k, when both go and the order has this value.
  void follow(const Transfer& first, std::size_t k, const Transfer& then, std::size_t l, std::uint32_t order,
              double value) {
    const double seconds = model_.transfer(first.net, k, first.to);
    const double big = horizon_ + seconds;
    const double right = seconds - 2 * big - (value == 1 ? big : 0);
    program_.row('G', right,
                 {{then.start, 1},
                  {first.start, -1},
                  {first.from[k], -big},
                  {then.from[l], -big},
                  {order, value == 1 ? -big : big}});
  }
};

}  // namespace

Result<std::string> writeMps(const Problem& problem, const Plan& plan) {
  const bool events = problem.goal() == Goal::kLatency && problem.modes.model == LatencyModel::kEvents;
  if (!events || problem.modes.memory != MemoryModel::kStatic) {
    // The program starts from the value of the plan, which other modes here would not change.
    return badInput("--to mps", "only latency plans of the events model with static memory have this program",
                    events ? "plan again with --memory static"
                           : "plan again with --goal latency --model events --memory static");
  }
  if (!problem.residentBytesAddUp()) {
    return badInput("--to mps", "rows of memory cannot say that ops share blocks of weights",
                    "give each op the weights as its own bytes");
  }
  return LatencyProgram(problem, plan.value).write();
}

}  // namespace allot
