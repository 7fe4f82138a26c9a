// The non-contiguous max-load problem as one linear model over binaries, for solvers of such models.
//
// Problem: throughput with contiguity `none`: place every item so that the largest load is least.
// Model: x(i, d) = 1 when item i is on device d. For a net e and a device d that pays for it,
//   all(e, d) <= x(p, d) <= any(e, d) for every end p of the net; with its producer q the device pays
//     send * (x(q, d) - all(e, d)) + receive * (any(e, d) - x(q, d)),
//   which is what the evaluator charges: `send` where the producer is here and some end is not, `receive`
//   where some end is here and the producer is not. Only the cheap direction of the link is written down:
//   costs are not negative, so a solver that wants low loads takes any = max x and all = min x by itself. In
//   the relaxation this charges the spread max x - min x, the most that rows linear in x can. Nets with two
//   ends need no `any`, which is x1 + x2 - all.
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
#include <span>
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

  explicit FreeModel(const Problem& problem);

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
  struct NetColumn {
    std::uint32_t net, place;
    bool all;  // else any
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
  void addNet(std::size_t net, std::size_t place, std::vector<Term>& terms);
};

}  // namespace allot
