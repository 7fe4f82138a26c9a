#include "solve/throughput/price_master.h"

#include <ClpSimplex.hpp>
#include <algorithm>
#include <set>
#include <utility>

namespace allot {
namespace {

constexpr int kPrimal = 0;
// A set that is switched off keeps its column with no room.
constexpr double kOff = 0;

}  // namespace

struct PriceMaster::Program {
  std::size_t items = 0, pools = 0;
  ClpSimplex simplex;
  std::vector<double> load;  // by set
  std::set<std::pair<std::size_t, std::vector<std::uint32_t>>> known;
  double limit = 0;
  // Columns: the factor, for each item one that keeps its price below the upper end of its range and one that
  // keeps it above the lower end, then the sets.
  int below(std::size_t item) const { return static_cast<int>(1 + item); }
  int above(std::size_t item) const { return static_cast<int>(1 + items + item); }
  int column(std::size_t set) const { return static_cast<int>(1 + 2 * items + set); }
};

PriceMaster::PriceMaster(std::size_t items, std::span<const double> counts)
    : program_(std::make_unique<Program>()) {
  Program& p = *program_;
  p.items = items;
  p.pools = counts.size();
  p.simplex.setLogLevel(0);
  p.simplex.resize(static_cast<int>(items + counts.size()), 0);
  for (std::size_t row = 0; row < items + counts.size(); ++row) {
    const bool cover = row < items;
    p.simplex.setRowBounds(static_cast<int>(row), cover ? 1 : -COIN_DBL_MAX, cover ? COIN_DBL_MAX : 0);
  }
  std::vector<int> rows;
  std::vector<double> values;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    rows.push_back(static_cast<int>(items + k));
    values.push_back(-counts[k]);
  }
  p.simplex.addColumn(static_cast<int>(rows.size()), rows.data(), values.data(), 0, COIN_DBL_MAX, 1);
  for (const double sign : {1.0, -1.0}) {
    for (std::size_t v = 0; v < items; ++v) {
      const int row = static_cast<int>(v);
      p.simplex.addColumn(1, &row, &sign, 0, COIN_DBL_MAX, sign > 0 ? 1 : 0);
    }
  }
}

PriceMaster::~PriceMaster() = default;

bool PriceMaster::add(std::size_t pool, std::vector<std::uint32_t> items, double load) {
  Program& p = *program_;
  std::sort(items.begin(), items.end());
  std::vector<int> rows(items.begin(), items.end());
  if (!p.known.emplace(pool, std::move(items)).second) return false;
  rows.push_back(static_cast<int>(p.items + pool));
  const std::vector<double> values(rows.size(), 1.0);
  p.simplex.addColumn(static_cast<int>(rows.size()), rows.data(), values.data(), 0,
                      load <= p.limit ? COIN_DBL_MAX : kOff, 0);
  p.load.push_back(load);
  return true;
}

void PriceMaster::setLimit(double load) {
  Program& p = *program_;
  p.limit = load;
  for (std::size_t s = 0; s < p.load.size(); ++s)
    p.simplex.setColumnUpper(p.column(s), p.load[s] <= load ? COIN_DBL_MAX : kOff);
}

void PriceMaster::setRange(std::size_t item, double low, double high) {
  program_->simplex.setObjectiveCoefficient(program_->below(item), high);
  program_->simplex.setObjectiveCoefficient(program_->above(item), -low);
}

bool PriceMaster::solve() {
  Program& p = *program_;
  p.simplex.primal(kPrimal);
  if (!p.simplex.isProvenOptimal()) {
    p.simplex.allSlackBasis();
    p.simplex.primal(kPrimal);
    if (!p.simplex.isProvenOptimal()) return false;
  }
  factor = p.simplex.objectiveValue();
  const double* dual = p.simplex.dualRowSolution();
  item_price.assign(p.items, 0);
  device_price.assign(p.pools, 0);
  for (std::size_t v = 0; v < p.items; ++v) item_price[v] = std::max(0.0, dual[v]);
  for (std::size_t k = 0; k < p.pools; ++k) device_price[k] = std::max(0.0, -dual[p.items + k]);
  const double* primal = p.simplex.primalColumnSolution();
  ranges_bind = false;
  for (std::size_t v = 0; v < p.items; ++v)
    ranges_bind = ranges_bind || primal[p.below(v)] > 1e-7 || primal[p.above(v)] > 1e-7;
  return true;
}

}  // namespace allot
