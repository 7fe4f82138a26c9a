#include "solve/throughput/stage_sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kInside = static_cast<std::size_t>(Side::kInside);

// Calls `visit(layer, node, side, arc)` for all arcs, last layers first.
template <class Visit>
void visitBackwards(const StageDiagram& diagram, Visit visit) {
  for (std::size_t layer = diagram.layers(); layer-- > 0;) {
    for (std::size_t node = diagram.layer_begin[layer]; node < diagram.layer_begin[layer + 1]; ++node) {
      for (std::size_t side = 0; side < kSides; ++side) {
        const StageDiagram::Arc& arc = diagram.arcs[node][side];
        if (arc.to != StageDiagram::kNoNode)
          visit(layer, node, side, diagram.layer_begin[layer + 1] + arc.to);
      }
    }
  }
}

}  // namespace

StageLabels::StageLabels(const PipelineModel& model, const StageDiagram& diagram, std::size_t count)
    : label(model.itemCount()) {
  double total = 0;
  for (const double seconds : model.seconds) total += seconds;
  unit = total / static_cast<double>(count);
  // Rounded along the order, so that errors do not add up.
  double sum = 0;
  for (const std::uint32_t v : diagram.item) {
    sum += model.seconds[v];
    const auto next = static_cast<std::uint32_t>(std::lround(sum / unit));
    label[v] = next - units;
    units = next;
  }
  std::vector<double> least(diagram.nodeCount(), kInfinity), most(diagram.nodeCount(), -kInfinity);
  for (std::size_t node = diagram.layer_begin[diagram.layers()]; node < diagram.nodeCount(); ++node)
    least[node] = most[node] = 0;
  visitBackwards(diagram, [&](std::size_t layer, std::size_t node, std::size_t side, std::size_t to) {
    const std::uint32_t v = diagram.item[layer];
    const double rest = side <= kInside ? model.seconds[v] - unit * label[v] : 0;
    least[node] = std::min(least[node], least[to] + rest);
    most[node] = std::max(most[node], most[to] + rest);
  });
  least_rest = least[0];
  most_rest = most[0];
}

std::uint32_t StageLabels::all() const {
  std::uint32_t sum = 0;
  for (const std::uint32_t l : label) sum += l;
  return sum;
}

void StageMask::finish() {
  const std::size_t row = size_ + 1;
  first_end_.assign(size_, UINT32_MAX);
  for (std::size_t i = 1; i < row; ++i) {
    for (std::size_t j = 1; j < row; ++j) {
      if (sums_[i * row + j] != 0 && first_end_[i - 1] == UINT32_MAX)
        first_end_[i - 1] = static_cast<std::uint32_t>(j - 1);
      sums_[i * row + j] += sums_[i * row + j - 1];
    }
  }
  for (std::size_t i = 1; i < row; ++i) {
    for (std::size_t j = 1; j < row; ++j) sums_[i * row + j] += sums_[(i - 1) * row + j];
  }
}

bool StageMask::any(std::int64_t from, std::int64_t from_last, std::int64_t to, std::int64_t to_last) const {
  const auto clamp = [&](std::int64_t x) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(x, 0, static_cast<std::int64_t>(size_)));
  };
  const std::size_t i0 = clamp(from), i1 = clamp(from_last + 1), j0 = clamp(to), j1 = clamp(to_last + 1);
  if (i0 >= i1 || j0 >= j1) return false;
  const std::size_t row = size_ + 1;
  return sums_[i1 * row + j1] + sums_[i0 * row + j0] != sums_[i0 * row + j1] + sums_[i1 * row + j0];
}

void StageSweep::measureRest(const StageLabels& labels) {
  rest_.assign(diagram_.nodeCount(), {});
  for (std::size_t node = diagram_.layer_begin[diagram_.layers()]; node < diagram_.nodeCount(); ++node)
    rest_[node] = {0, 0, 0, 0, 0};
  visitBackwards(diagram_, [&](std::size_t layer, std::size_t node, std::size_t side, std::size_t to) {
    const std::uint32_t v = diagram_.item[layer];
    const auto units = static_cast<std::int32_t>(StageLabels::unitsOf(labels.label[v]));
    const std::int32_t before = side < kInside ? units : 0, up_to = side <= kInside ? units : 0;
    Rest& rest = rest_[node];
    const Rest& next = rest_[to];
    if (next.from_least == INT32_MAX) return;  // a dead end
    rest.from_least = std::min(rest.from_least, before + next.from_least);
    rest.from_most = std::max(rest.from_most, before + next.from_most);
    rest.to_least = std::min(rest.to_least, up_to + next.to_least);
    rest.to_most = std::max(rest.to_most, up_to + next.to_most);
    const double over = side == kInside ? labels.unit * units - model_.seconds[v] : 0;
    rest.over = std::max(rest.over, over + next.over);
  });
}

std::optional<StageSweep::Row> StageSweep::sweep(const StageLabels& labels, const StageMask* mask,
                                                 double cutoff, const Budget& budget, bool keep) {
  measureRest(labels);
  const std::size_t most_cells = budget.memory_bytes / 8 / sizeof(Cell);
  const auto useful = [&](const Cell& cell, std::size_t node) {
    if (cell.load + diagram_.least_after[node] > cutoff) return false;
    if (mask == nullptr) return true;
    const Rest& rest = rest_[node];
    const std::int64_t from = StageLabels::unitsOf(static_cast<std::uint32_t>(cell.key >> 32));
    const std::int64_t to = StageLabels::unitsOf(static_cast<std::uint32_t>(cell.key));
    if (!mask->any(from + rest.from_least, from + rest.from_most, to + rest.to_least, to + rest.to_most))
      return false;
    if (rest.from_least < rest.from_most || !diagram_.work_counts) return true;
    // The first ideal is settled: the stage must still get to the nearest end.
    const double missing =
        static_cast<double>(mask->firstEnd(static_cast<std::uint32_t>(from + rest.from_least))) -
        static_cast<double>(to);
    return missing <= 0 || cell.load + missing * labels.unit - rest.over <= cutoff * (1 + 1e-9);
  };
  struct In {
    std::uint32_t node, side;
  };
  kept_.clear();
  std::vector<Row> rows{{Cell{0, 0}}};
  for (std::size_t layer = 0; layer < diagram_.layers(); ++layer) {
    if (budget.stopped()) return std::nullopt;
    const std::uint32_t label = labels.label[diagram_.item[layer]];
    const std::size_t begin = diagram_.layer_begin[layer], next_begin = diagram_.layer_begin[layer + 1];
    std::vector<std::vector<In>> in(diagram_.width(layer + 1));
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      if (rows[i].empty()) continue;
      for (std::uint32_t side = 0; side < kSides; ++side) {
        const StageDiagram::Arc& arc = diagram_.arcs[begin + i][side];
        if (arc.to != StageDiagram::kNoNode) in[arc.to].push_back({i, side});
      }
    }
    std::vector<Row> next(in.size());
    parallelFor(in.size(), budget.threads, [&](std::size_t to) {
      Row row, more, both;
      for (const In& from : in[to]) {
        const double cost = diagram_.arcs[begin + from.node][from.side].cost;
        const std::uint64_t by = shift(label, from.side);
        more.clear();
        for (const Cell& cell : rows[from.node]) {
          const Cell moved{cell.key + by, cell.load + cost};
          if (useful(moved, next_begin + to)) more.push_back(moved);
        }
        if (row.empty()) {
          row.swap(more);
          continue;
        }
        both.clear();
        auto a = row.begin();
        for (const Cell& cell : more) {
          while (a != row.end() && a->key < cell.key) both.push_back(*a++);
          if (a != row.end() && a->key == cell.key)
            both.push_back({cell.key, std::min(cell.load, (a++)->load)});
          else
            both.push_back(cell);
        }
        both.insert(both.end(), a, row.end());
        row.swap(both);
      }
      next[to] = std::move(row);
    });
    std::size_t cells = 0;
    for (const Row& row : next) cells += row.size();
    if (cells > most_cells) return std::nullopt;
    if (keep) kept_.push_back(std::move(rows));
    rows = std::move(next);
  }
  return std::move(rows.front());
}

std::optional<std::vector<StageEntry>> StageSweep::run(const StageLabels& labels, const StageMask* mask,
                                                       double cutoff, const Budget& budget) {
  const std::optional<Row> end = sweep(labels, mask, cutoff, budget, false);
  if (!end) return std::nullopt;
  std::vector<StageEntry> entries;
  for (const Cell& cell : *end)
    entries.push_back(
        {static_cast<std::uint32_t>(cell.key >> 32), static_cast<std::uint32_t>(cell.key), cell.load});
  return entries;
}

std::vector<std::vector<Side>> StageSweep::stages(std::span<const StageEntry> entries,
                                                  const StageLabels& labels, const Budget& budget) {
  StageMask mask(labels.units);
  double cutoff = 0;
  for (const StageEntry& entry : entries) {
    mask.allow(StageLabels::unitsOf(entry.from), StageLabels::unitsOf(entry.to));
    cutoff = std::max(cutoff, entry.load);
  }
  mask.finish();
  std::vector<std::vector<Side>> found;
  const std::optional<Row> end = sweep(labels, &mask, cutoff, budget, true);
  if (!end) return found;
  for (const StageEntry& entry : entries) {
    const std::uint64_t key = std::uint64_t{entry.from} << 32 | entry.to;
    const auto cell = std::lower_bound(end->begin(), end->end(), key,
                                       [](const Cell& a, std::uint64_t b) { return a.key < b; });
    if (cell == end->end() || cell->key != key) return {};
    found.push_back(trace(*cell, labels));
  }
  kept_.clear();
  return found;
}

std::vector<Side> StageSweep::trace(Cell at, const StageLabels& labels) const {
  std::vector<Side> sides(model_.itemCount(), Side::kBehind);
  std::uint32_t node = 0;
  for (std::size_t layer = diagram_.layers(); layer-- > 0;) {
    const std::uint32_t v = diagram_.item[layer];
    const auto stepBack = [&] {
      for (std::uint32_t i = 0; i < kept_[layer].size(); ++i) {
        for (std::size_t side = 0; side < kSides; ++side) {
          const StageDiagram::Arc& arc = diagram_.arcs[diagram_.layer_begin[layer] + i][side];
          const std::uint64_t by = shift(labels.label[v], side);
          if (arc.to != node || by > at.key) continue;
          const Row& row = kept_[layer][i];
          const auto cell = std::lower_bound(row.begin(), row.end(), at.key - by,
                                             [](const Cell& a, std::uint64_t b) { return a.key < b; });
          if (cell == row.end() || cell->key != at.key - by || cell->load + arc.cost != at.load) continue;
          sides[v] = static_cast<Side>(side);
          node = i;
          at = *cell;
          return;
        }
      }
    };
    stepBack();
  }
  return sides;
}

}  // namespace allot
