// The least load of a stage between any two labels of ideals.
//
// Problem: give each item a whole number; the label of an ideal is the sum over its items. For all labels a
// and b find the least load of a stage that begins behind an ideal of label a and ends with an ideal of label
// b. A chain of stages then is a path over labels, so that paths bound chains from below; the finer the
// labels, the closer. Method: dynamic programming over the paths of a StageDiagram, a table of pairs of
// labels for each node. Labels are units of work in the lower half and marks of single items in the upper
// half. Pairs that a mask rules out, and loads above a cut-off, are dropped as soon as that is certain.
// Guarantee: every stage of a load at most the cut-off whose units the mask allows is in the table, with its
// load or less. Complexity: O(nodes * pairs of labels) time, one layer of it as space. Out of time or memory:
// no answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/stage_diagram.h"

namespace allot {

// What identifies an ideal to a sweep.
struct StageLabels {
  static constexpr std::uint32_t kUnitBits = 16;

  // About `count` units for the work of all items.
  StageLabels(const PipelineModel& model, const StageDiagram& diagram, std::size_t count);

  double unit = 0;                   // seconds
  std::vector<std::uint32_t> label;  // by item
  std::uint32_t units = 0;           // of all items
  // Work of an ideal beyond its units, at least and at most, of those that end a stage.
  double least_rest = 0, most_rest = 0;

  static std::uint32_t unitsOf(std::uint32_t label) { return label & ((1u << kUnitBits) - 1); }
  std::uint32_t all() const;
};

// Which pairs of units a stage may begin and end with.
class StageMask {
 public:
  explicit StageMask(std::uint32_t units) : size_(units + 1), sums_((size_ + 1) * (size_ + 1), 0) {}

  // Pairs are allowed first, then `finish`, then questions.
  void allow(std::uint32_t from, std::uint32_t to) { sums_[(from + 1) * (size_ + 1) + to + 1] = 1; }
  void finish();
  bool any(std::int64_t from, std::int64_t from_last, std::int64_t to, std::int64_t to_last) const;
  // The least end of an allowed stage that begins here.
  std::uint32_t firstEnd(std::uint32_t from) const { return first_end_[from]; }

 private:
  std::size_t size_;
  std::vector<std::uint32_t> sums_;       // [from + 1][to + 1]: allowed pairs up to there
  std::vector<std::uint32_t> first_end_;  // by from; UINT32_MAX where there is none
};

struct StageEntry {
  std::uint32_t from, to;  // labels
  double load;
};

class StageSweep {
 public:
  StageSweep(const PipelineModel& model, const StageDiagram& diagram) : model_(model), diagram_(diagram) {}

  // By rising labels. Nothing when the budget ends it.
  std::optional<std::vector<StageEntry>> run(const StageLabels& labels, const StageMask* mask, double cutoff,
                                             const Budget& budget);

  // For each entry of a table a stage of that load: the side of every item. Empty when the budget ends it.
  std::vector<std::vector<Side>> stages(std::span<const StageEntry> entries, const StageLabels& labels,
                                        const Budget& budget);

 private:
  struct Cell {
    std::uint64_t key;  // label of the first ideal in the upper half, of the second in the lower
    double load;
  };
  using Row = std::vector<Cell>;
  // What the way from a node to the end adds, at least and at most.
  struct Rest {
    std::int32_t from_least = INT32_MAX, from_most = INT32_MIN, to_least = INT32_MAX, to_most = INT32_MIN;
    double over = 0;  // units of items inside beyond their work, in seconds
  };

  const PipelineModel& model_;
  const StageDiagram& diagram_;
  std::vector<Rest> rest_;              // by node
  std::vector<std::vector<Row>> kept_;  // by layer, while stages are looked for

  static std::uint64_t shift(std::uint32_t label, std::size_t side) {
    const std::uint64_t wide = label;
    return side == 0 ? wide << 32 | wide : side == 1 ? wide : 0;
  }
  void measureRest(const StageLabels& labels);
  // All layers one after the other; the end's row, or nothing.
  std::optional<Row> sweep(const StageLabels& labels, const StageMask* mask, double cutoff,
                           const Budget& budget, bool keep);
  std::vector<Side> trace(Cell end, const StageLabels& labels) const;
};

}  // namespace allot
