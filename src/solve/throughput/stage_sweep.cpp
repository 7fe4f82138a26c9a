#include "solve/throughput/stage_sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "graph/rows.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // of sums of work and costs, as a share of them
// Costs of nets are counted in quanta, so many for the cut-off, each rounded down.
constexpr double kQuanta = std::uint32_t{1} << 30;
constexpr std::size_t kManyCells = 10'000;  // of a layer, that take long enough for threads
constexpr std::size_t kCellsPerNode = 20;   // that take as long as a node without any
constexpr std::size_t kCellsPerLook = 100'000;
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

StageUnits::StageUnits(const PipelineModel& model, const StageDiagram& ideals, std::size_t count)
    : item(model.itemCount()) {
  double total = 0;
  for (const double seconds : model.seconds) total += seconds;
  unit = total / static_cast<double>(count);
  // Rounded along the order, so that errors do not add up.
  double sum = 0;
  for (const std::uint32_t v : ideals.item) {
    sum += model.seconds[v];
    const auto next = static_cast<std::uint32_t>(std::lround(sum / unit));
    item[v] = next - all;
    all = next;
  }
  measureIdeals(model, ideals);
}

void StageUnits::measureIdeals(const PipelineModel& model, const StageDiagram& ideals) {
  // Of the ways to a node: work at least and at most, by units from `first` on.
  struct Ways {
    std::uint32_t first = UINT32_MAX;
    std::vector<double> least{}, most{};
  };
  const auto add = [](const Ways& from, std::uint32_t units, double work, Ways& to) {
    const std::uint32_t first = from.first + units;
    if (to.first == UINT32_MAX) to.first = first;
    if (first < to.first) {
      to.least.insert(to.least.begin(), to.first - first, kInfinity);
      to.most.insert(to.most.begin(), to.first - first, -kInfinity);
      to.first = first;
    }
    const std::size_t shift = first - to.first, size = std::max(to.least.size(), shift + from.least.size());
    to.least.resize(size, kInfinity);
    to.most.resize(size, -kInfinity);
    for (std::size_t i = 0; i < from.least.size(); ++i) {
      to.least[i + shift] = std::min(to.least[i + shift], from.least[i] + work);
      to.most[i + shift] = std::max(to.most[i + shift], from.most[i] + work);
    }
  };
  std::vector<Ways> ways{{0, {0}, {0}}}, next;
  for (std::size_t layer = 0; layer < ideals.layers(); ++layer) {
    const std::uint32_t v = ideals.item[layer];
    next.assign(ideals.width(layer + 1), {});
    for (std::size_t i = 0; i < ways.size(); ++i) {
      for (std::size_t side = kInside; side < kSides; ++side) {
        const StageDiagram::Arc& arc = ideals.arcs[ideals.layer_begin[layer] + i][side];
        if (arc.to == StageDiagram::kNoNode) continue;
        const bool inside = side == kInside;
        add(ways[i], inside ? item[v] : 0, inside ? model.seconds[v] : 0, next[arc.to]);
      }
    }
    ways.swap(next);
  }
  least_work.assign(all + 1, kInfinity);
  most_work.assign(all + 1, -kInfinity);
  std::copy(ways[0].least.begin(), ways[0].least.end(), least_work.begin() + ways[0].first);
  std::copy(ways[0].most.begin(), ways[0].most.end(), most_work.begin() + ways[0].first);
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

StageSweep::StageSweep(const PipelineModel& model, const StageDiagram& diagram, WalkCrew& crew)
    : model_(model), diagram_(diagram), crew_(crew) {
  std::vector<WayIn> ways;
  std::vector<std::uint32_t> ends;
  for (std::size_t layer = 0; layer < diagram.layers(); ++layer) {
    for (std::size_t node = diagram.layer_begin[layer]; node < diagram.layer_begin[layer + 1]; ++node) {
      for (std::uint32_t side = 0; side < kSides; ++side) {
        const StageDiagram::Arc& arc = diagram.arcs[node][side];
        if (arc.to == StageDiagram::kNoNode) continue;
        ways.push_back({static_cast<std::uint32_t>(node - diagram.layer_begin[layer]), side});
        ends.push_back(static_cast<std::uint32_t>(diagram.layer_begin[layer + 1] + arc.to));
      }
    }
  }
  ways_in_ = rowsByOwner<WayIn>(ways, ends, diagram.nodeCount());
}

void StageSweep::measureRest(const StageUnits& units) {
  rest_.assign(diagram_.nodeCount(), {});
  for (std::size_t node = diagram_.layer_begin[diagram_.layers()]; node < diagram_.nodeCount(); ++node)
    rest_[node] = {0, 0, 0, 0, 0};
  visitBackwards(diagram_, [&](std::size_t layer, std::size_t node, std::size_t side, std::size_t to) {
    const std::uint32_t v = diagram_.item[layer];
    const auto mine = static_cast<std::int32_t>(units.item[v]);
    const std::int32_t before = side < kInside ? mine : 0, up_to = side <= kInside ? mine : 0;
    Rest& rest = rest_[node];
    const Rest& next = rest_[to];
    if (next.from_least == INT32_MAX) return;  // a dead end
    rest.from_least = std::min(rest.from_least, before + next.from_least);
    rest.from_most = std::max(rest.from_most, before + next.from_most);
    rest.to_least = std::min(rest.to_least, up_to + next.to_least);
    rest.to_most = std::max(rest.to_most, up_to + next.to_most);
    const double over = side == kInside ? units.unit * mine - model_.seconds[v] : 0;
    rest.over = std::max(rest.over, over + next.over);
  });
}

std::uint32_t StageSweep::cutOf(const StageDiagram::Arc& arc, std::size_t side, std::size_t layer) const {
  if (!diagram_.work_counts || arc.cost <= 0) return 0;
  const double work = side == kInside ? model_.seconds[diagram_.item[layer]] : 0;
  // The subtraction may round up.
  const double cut = (arc.cost - work - kRounding * arc.cost) / quantum_;
  return static_cast<std::uint32_t>(std::clamp(cut, 0.0, kQuanta));
}

std::size_t StageSweep::Layer::size() const {
  std::size_t sum = 0;
  for (const Row& row : cells) sum += row.size();
  return sum;
}

void StageSweep::Layer::clear(std::size_t nodes) {
  places.assign(nodes, {});
  for (Row& row : cells) row.clear();
}

void StageSweep::Layer::put(std::size_t node, std::size_t worker, const Row& row) {
  places[node] = {worker, cells[worker].size(), row.size()};
  cells[worker].insert(cells[worker].end(), row.begin(), row.end());
}

std::optional<StageSweep::Row> StageSweep::sweep(const StageUnits& units, const StageMask* mask,
                                                 double cutoff, Keep what, const Budget& budget) {
  const std::size_t most_cells = budget.memory_bytes / 8 / sizeof(Cell), most_kept = 2 * most_cells;
  bool keep = what == Keep::kAll;
  cells_ = 0;
  // No stage costs more than everything at once.
  const double everything = std::reduce(model_.seconds.begin(), model_.seconds.end()) +
                            std::reduce(model_.send.begin(), model_.send.end());
  quantum_ = std::min(cutoff, everything) / kQuanta;
  const auto useful = [&](const Cell& cell, std::size_t node) {
    if (cell.load + diagram_.least_after[node] > cutoff) return false;
    if (mask == nullptr) return true;
    const Rest& rest = rest_[node];
    const std::int64_t from = cell.key >> 16, to = cell.key & 0xFFFF;
    if (!mask->any(from + rest.from_least, from + rest.from_most, to + rest.to_least, to + rest.to_most))
      return false;
    if (rest.from_least < rest.from_most || !diagram_.work_counts) return true;
    // The units of the first ideal are settled: the stage must still get to the nearest end.
    const std::int64_t begin = from + rest.from_least,
                       end = mask->firstEnd(static_cast<std::uint32_t>(begin));
    const auto missing = static_cast<double>(end - (to + rest.from_least));
    return missing <= 0 || cell.load + missing * units.unit - rest.over <= cutoff * (1 + kRounding);
  };
  kept_.clear();
  // Of each thread, on cache lines of its own.
  struct alignas(64) Scratch {
    Row row, more, both;
    std::size_t unpolled = 0;  // cells since the last look at the clock
  };
  std::vector<Scratch> scratch(crew_.workers());
  Layer rows{.places = {}, .cells = std::vector<Row>(crew_.workers())}, next = rows;
  rows.clear(1);
  rows.put(0, 0, {Cell{0, 0, 0}});
  for (std::size_t layer = 0; layer < diagram_.layers(); ++layer) {
    if (budget.stopped()) return std::nullopt;
    const std::uint32_t mine = units.item[diagram_.item[layer]];
    const std::size_t begin = diagram_.layer_begin[layer], next_begin = diagram_.layer_begin[layer + 1];
    next.clear(diagram_.width(layer + 1));
    const auto fill = [&](std::size_t worker, std::size_t to, const WalkPart*) {
      auto& [row, more, both, unpolled] = scratch[worker];
      row.clear();
      if (unpolled > kCellsPerLook) {
        unpolled = 0;
        if (budget.stopped()) return;
      }
      for (const WayIn& from : ways_in_[next_begin + to]) {
        const std::span<const Cell> cells = rows[from.node];
        if (cells.empty()) continue;
        unpolled += cells.size();
        const StageDiagram::Arc& arc = diagram_.arcs[begin + from.node][from.side];
        const std::uint32_t by = shift(mine, from.side), cut = cutOf(arc, from.side, layer);
        more.clear();
        for (const Cell& cell : cells) {
          const Cell moved{cell.key + by, cell.cut + cut, cell.load + arc.cost};
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
          both.push_back(cell);
          if (a == row.end() || a->key != cell.key) continue;
          both.back().load = std::min(cell.load, a->load);
          both.back().cut = std::min(cell.cut, a->cut);
          ++a;
        }
        both.insert(both.end(), a, row.end());
        row.swap(both);
      }
      if (!row.empty()) next.put(to, worker, row);
    };
    crew_.run(next.places.size(), fill, rows.size() + kCellsPerNode * next.places.size() > kManyCells);
    if (next.size() > most_cells) return std::nullopt;
    cells_ += next.size();
    if (cells_ > most_kept) {
      keep = false;
      kept_.clear();
    }
    if (keep) kept_.push_back(rows);
    std::swap(rows, next);
  }
  if (budget.stopped()) return std::nullopt;
  const std::span<const Cell> end = rows[0];
  if (keep) kept_.push_back(rows);
  return Row(end.begin(), end.end());
}

std::optional<std::vector<StageEntry>> StageSweep::run(const StageUnits& units, const StageMask* mask,
                                                       double cutoff, const Budget& budget) {
  measureRest(units);
  const std::optional<Row> end = sweep(units, mask, cutoff, Keep::kNothing, budget);
  if (!end) return std::nullopt;
  std::vector<StageEntry> entries;
  for (const Cell& cell : *end)
    entries.push_back({cell.key >> 16, cell.key & 0xFFFF, cell.load, quantum_ * cell.cut});
  return entries;
}

std::vector<std::vector<Side>> StageSweep::stages(std::span<const StageEntry> entries,
                                                  const StageUnits& units, double cutoff,
                                                  const Budget& budget) {
  std::vector<std::vector<Side>> found;
  // Once more for these entries alone, for all tables together would be far larger than those of a layer.
  StageMask mask(units.all);
  for (const StageEntry& entry : entries) mask.allow(entry.from, entry.to);
  mask.finish();
  if (!sweep(units, &mask, cutoff, Keep::kAll, budget) || kept_.empty()) return found;
  const std::span<const Cell> end = kept_.back()[0];
  for (const StageEntry& entry : entries) {
    const std::uint32_t key = entry.from << 16 | entry.to;
    const auto cell = std::lower_bound(end.begin(), end.end(), key,
                                       [](const Cell& a, std::uint32_t b) { return a.key < b; });
    if (cell == end.end() || cell->key != key) return {};
    found.push_back(trace(*cell, units));
  }
  return found;
}

std::vector<Side> StageSweep::trace(Cell at, const StageUnits& units) const {
  std::vector<Side> sides(model_.itemCount(), Side::kBehind);
  std::uint32_t node = 0;
  for (std::size_t layer = diagram_.layers(); layer-- > 0;) {
    const std::uint32_t v = diagram_.item[layer];
    const auto stepBack = [&] {
      for (std::uint32_t i = 0; i < diagram_.width(layer); ++i) {
        for (std::size_t side = 0; side < kSides; ++side) {
          const StageDiagram::Arc& arc = diagram_.arcs[diagram_.layer_begin[layer] + i][side];
          const std::uint32_t by = shift(units.item[v], side);
          if (arc.to != node || by > at.key) continue;
          const std::span<const Cell> row = kept_[layer][i];
          const auto cell = std::lower_bound(row.begin(), row.end(), at.key - by,
                                             [](const Cell& a, std::uint32_t b) { return a.key < b; });
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
