// The non-contiguous max-load problem as one linear model over binaries, for solvers of such models.
//
// Problem: throughput with contiguity `none`: place every item so that the largest load is least.
// Model: x(i, d) = 1 when item i is on device d. For a net and a device that pays for it there is one column
//   y with a cost of its own; only rows that push it up are written down, for costs are not negative:
//   - sending and receiving cost the same: y >= x(p, d) - x(q, d) around a cycle of the ends p -> q of the
//     net, so y = 1 where some ends are on d and some are not;
//   - else one y for sending, y >= x(producer, d) - x(q, d), and one for receiving, y >= x(q, d) -
//     x(producer, d), for every other end q.
//   All costs of a load row are positive, which lets propagation bound loads from below by what is decided;
//   writing the same cut as max x - min x of the ends takes that away and made CP-SAT many times slower.
//   Each device has a load row for each part (two under max-parts) and, under `max`, one for compute and one
//   for communication; the objective is the sum over parts of a load column that tops its rows.
// Symmetry: devices of one pool are interchangeable. Items are ranked by work; of a pool only the first
//   device is open to the first item, the first two to the second, and so on. Each plan has a renumbering
//   within pools that obeys this.
// Guarantee: an assignment of items satisfies the rows with load columns equal to its value, up to rounding
//   of the sums, and every solution is an assignment with at most that value; under by-link transfers loads
//   are lower bounds, so the model is a relaxation.
// Complexity: O(devices * (items + ends of nets)) columns and rows.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "allot/plan.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

class FreeModel {
 public:
  struct Term {
    std::uint32_t column;
    double value;
  };
  struct Row {
    std::vector<Term> terms;
    double lower, upper;
  };
  // Sum of the terms in seconds, at most load column `part`.
  struct LoadRow {
    std::vector<Term> terms;
    std::uint32_t part;
  };

  // Of plans worth more than `upper` it may say anything above that: times far beyond it would drown the
  // others in the arithmetic of a solver.
  explicit FreeModel(const Problem& problem, double upper = std::numeric_limits<double>::infinity());

  // Whether the model holds for the problem's modes.
  static bool accepts(const Problem& problem);

  PipelineModel items;
  std::size_t binaries = 0;  // columns; the load columns are apart
  std::size_t parts = 1;
  std::vector<Row> logic;           // whole coefficients
  std::vector<LoadRow> loads;       // seconds
  std::vector<Row> memory;          // bytes
  std::vector<std::uint8_t> fixed;  // by binary: must be 0

  // No load of any plan is larger.
  double largestLoad() const;
  // Values of the binaries for a plan; devices are renumbered within pools.
  std::vector<std::uint8_t> columnsOf(const Plan& plan) const;
  // Values of the load columns when the binaries are as given.
  std::vector<double> loadsOf(std::span<const std::uint8_t> binary) const;
  // The plan that the x of a solution describe.
  Plan planOf(const std::vector<double>& solution) const;

 private:
  struct Place {
    DeviceId device;
    std::uint32_t pool;
    std::uint32_t rank;  // within its pool
  };
  // 1 when the device pays: for a cut net, for one it sends, for one it receives.
  enum class Pays : std::uint8_t { kCut, kSend, kReceive };
  struct NetColumn {
    std::uint32_t net, place;
    Pays pays;
  };
  static constexpr std::uint32_t kNone = 0xffffffffu;

  std::vector<Place> places_;
  std::vector<std::uint32_t> x_;        // [item * places + place], kNone where the item may not run
  std::vector<std::uint32_t> ranked_;   // items by decreasing work
  std::vector<NetColumn> net_columns_;  // behind the x

  std::uint32_t x(std::size_t item, std::size_t place) const { return x_[item * places_.size() + place]; }
  void addPlaces();
  void addMemory();
  void addLoads();
  void addNet(std::uint32_t net, std::uint32_t place, std::vector<Term>& terms);
  // Adds a column that is 1 when `high` is and `low` is not, for some pair; kNone counts as 0.
  void addCut(NetColumn what, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs, double cost,
              std::vector<Term>& terms);
  bool pays(const NetColumn& column, std::span<const std::uint32_t> place_of_item) const;
};

}  // namespace allot
