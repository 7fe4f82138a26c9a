// The least load of a stage between ideals of any two amounts of work, and the least cost of its nets.
//
// Problem: the work of all items is measured in whole units, so that each ideal has some number of units. For
// all a and b find the least load of a stage that begins behind an ideal of a units and ends with an ideal of
// b units, and the least that nets cost such a stage. A chain of stages then is a path over units, so that
// paths bound chains from below (stage_path.h); the finer the units, the closer. Method: dynamic programming
// over the paths of a StageDiagram, a table of pairs of units for each node. Pairs that a mask rules out, and
// loads above a cut-off, are dropped as soon as that is certain. Guarantee: every stage of a load at most the
// cut-off whose units the mask allows is in the table, with its load and its cost of nets or less.
// Complexity: O(nodes * pairs of units) time, space for two layers; stages are traced by another sweep, for
// the pairs that are wanted, whose layers are all kept. Out of time or memory: no answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "allot/solve.h"
#include "base/walk_crew.h"
#include "solve/throughput/stage_diagram.h"

namespace allot {

// Work in whole units.
struct StageUnits {
  // About `count` units, fewer than 2^16, for the work of all items. `ideals`: all of them.
  StageUnits(const PipelineModel& model, const StageDiagram& ideals, std::size_t count);

  double unit = 0;                  // seconds
  std::vector<std::uint32_t> item;  // by item
  std::uint32_t all = 0;
  // Work of the ideals of so many units, in seconds; nothing has so little or so much where there are none.
  std::vector<double> least_work, most_work;

 private:
  void measureIdeals(const PipelineModel& model, const StageDiagram& ideals);
};

// Which pairs of units a stage may begin and end with.
class StageMask {
 public:
  explicit StageMask(std::uint32_t units) : size_(units + 1), sums_((size_ + 1) * (size_ + 1), 0) {}

  // Pairs are allowed first, then `finish`, then questions.
  void allow(std::uint32_t from, std::uint32_t to) { sums_[(from + 1) * (size_ + 1) + to + 1] = 1; }
  void finish();
  bool any(std::int64_t from, std::int64_t from_last, std::int64_t to, std::int64_t to_last) const;
  std::size_t count() const { return sums_.back(); }  // of allowed pairs
  // The least end of an allowed stage that begins here.
  std::uint32_t firstEnd(std::uint32_t from) const { return first_end_[from]; }

 private:
  std::size_t size_;
  std::vector<std::uint32_t> sums_;       // [from + 1][to + 1]: allowed pairs up to there
  std::vector<std::uint32_t> first_end_;  // by from; UINT32_MAX where there is none
};

struct StageEntry {
  std::uint32_t from, to;  // units
  double load;             // at least
  double cut;              // cost of nets, at least
};

class StageSweep {
 public:
  StageSweep(const PipelineModel& model, const StageDiagram& diagram, WalkCrew& crew);

  // By rising units. Nothing when the budget ends it.
  std::optional<std::vector<StageEntry>> run(const StageUnits& units, const StageMask* mask, double cutoff,
                                             const Budget& budget);

  // Cells of all tables of the last run.
  std::size_t cells() const { return cells_; }

  // For each of these entries of the last table a stage of that load: the side of every item. Empty when the
  // budget ends it.
  std::vector<std::vector<Side>> stages(std::span<const StageEntry> entries, const StageUnits& units,
                                        double cutoff, const Budget& budget);

 private:
  struct Cell {
    std::uint32_t key;  // units of the first ideal in the upper half, of the second in the lower
    std::uint32_t cut;  // cost of nets in quanta
    double load;
  };
  using Row = std::vector<Cell>;
  // The rows of all nodes, each in the cells of the thread that made it: asking for memory row by row would
  // take longer than the rows do.
  struct Layer {
    struct Place {
      std::size_t worker = 0, begin = 0, size = 0;
    };
    std::vector<Place> places;  // by node
    std::vector<Row> cells;     // by thread

    std::span<const Cell> operator[](std::size_t node) const {
      const Place& place = places[node];
      return {cells[place.worker].data() + place.begin, place.size};
    }
    std::size_t size() const;  // of all cells
    void clear(std::size_t nodes);
    void put(std::size_t node, std::size_t worker, const Row& row);
  };
  // What the way from a node to the end adds, at least and at most.
  struct Rest {
    std::int32_t from_least = INT32_MAX, from_most = INT32_MIN, to_least = INT32_MAX, to_most = INT32_MIN;
    double over = 0;  // units of items inside beyond their work, in seconds
  };

  const PipelineModel& model_;
  const StageDiagram& diagram_;
  WalkCrew& crew_;
  struct WayIn {
    std::uint32_t node, side;  // node of the layer before, counted from its first
  };
  Csr<WayIn> ways_in_;  // by node
  std::size_t cells_ = 0;
  double quantum_ = 0;       // seconds
  std::vector<Rest> rest_;   // by node
  std::vector<Layer> kept_;  // the end too; empty where they are too large

  static std::uint32_t shift(std::uint32_t units, std::size_t side) {
    return side == 0 ? units << 16 | units : side == 1 ? units : 0;
  }
  void measureRest(const StageUnits& units);
  // Cost of the nets of an arc, in quanta.
  std::uint32_t cutOf(const StageDiagram::Arc& arc, std::size_t side, std::size_t layer) const;
  // All layers one after the other; the end's row, or nothing.
  enum class Keep : std::uint8_t { kNothing, kAll };
  std::optional<Row> sweep(const StageUnits& units, const StageMask* mask, double cutoff, Keep what,
                           const Budget& budget);
  std::vector<Side> trace(Cell end, const StageUnits& units) const;
};

}  // namespace allot
