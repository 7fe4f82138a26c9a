#include "solve/throughput/price_master.h"

#include <ClpEventHandler.hpp>
#include <ClpPrimalColumnSteepest.hpp>
#include <ClpSimplex.hpp>
#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace allot {
namespace {

// A set that is switched off keeps its column with no room.
constexpr double kOff = 0;

// Ends the simplex method when the budget does.
class StopHandler : public ClpEventHandler {
 public:
  explicit StopHandler(const Budget& budget) : budget_(budget) {}
  int event(Event what) override {
    const bool polls =
        what == endOfFactorization || (what == endOfIteration && ++count_ % kPivotsPerPoll == 0);
    return polls && budget_.stopped() ? 0 : -1;
  }
  ClpEventHandler* clone() const override { return new StopHandler(*this); }

 private:
  static constexpr std::uint32_t kPivotsPerPoll = 32;
  const Budget& budget_;
  std::uint32_t count_ = 0;
};

struct KnownSet {
  std::size_t pool;
  std::vector<std::uint32_t> items;
  double load;
};

// Columns side by side, for one call.
class Columns {
 public:
  void entry(int row, double value) {
    rows_.push_back(row);
    values_.push_back(value);
  }
  void end(double upper, double cost) {
    begin_.push_back(static_cast<CoinBigIndex>(rows_.size()));
    lower_.push_back(0);
    upper_.push_back(upper);
    cost_.push_back(cost);
  }
  void addTo(ClpSimplex& simplex) const {
    if (lower_.empty()) return;
    simplex.addColumns(static_cast<int>(lower_.size()), lower_.data(), upper_.data(), cost_.data(),
                       begin_.data(), rows_.data(), values_.data());
  }

 private:
  std::vector<CoinBigIndex> begin_{0};
  std::vector<int> rows_;
  std::vector<double> values_, lower_, upper_, cost_;
};

}  // namespace

struct PriceMaster::Program {
  std::size_t items = 0, groups = 0;
  std::uint32_t variety = 0;
  std::vector<double> counts;
  std::vector<std::uint32_t> group_of;
  std::vector<double> share;  // by item, of its group
  ClpSimplex simplex;
  std::vector<KnownSet> sets;
  std::size_t columns = 0;  // sets that have theirs
  std::set<std::pair<std::size_t, std::vector<std::uint32_t>>> known;
  double limit = 0;
  std::vector<double> part;  // scratch: by group, what a set covers of it

  // Columns: the factor, for each group one that keeps its price below the upper end of its range and one
  // that keeps it above the lower end, then the sets.
  int below(std::size_t group) const { return static_cast<int>(1 + group); }
  int above(std::size_t group) const { return static_cast<int>(1 + groups + group); }
  int column(std::size_t set) const { return static_cast<int>(1 + 2 * groups + set); }
};

PriceMaster::PriceMaster(std::size_t items, std::span<const double> counts, std::uint32_t variety)
    : program_(std::make_unique<Program>()) {
  program_->items = items;
  program_->variety = variety;
  program_->counts.assign(counts.begin(), counts.end());
  std::vector<std::uint32_t> own(items);
  std::iota(own.begin(), own.end(), 0u);
  tie(own, std::vector<double>(items, 1.0));
}

PriceMaster::~PriceMaster() = default;

void PriceMaster::tie(std::span<const std::uint32_t> group_of, std::span<const double> base) {
  Program& p = *program_;
  p.group_of.assign(group_of.begin(), group_of.end());
  p.groups = group_of.empty() ? 0 : 1 + *std::max_element(group_of.begin(), group_of.end());
  std::vector<double> total(p.groups, 0), members(p.groups, 0);
  for (std::size_t v = 0; v < p.items; ++v) {
    total[group_of[v]] += base[v];
    ++members[group_of[v]];
  }
  p.share.resize(p.items);
  for (std::size_t v = 0; v < p.items; ++v) {
    const std::uint32_t g = group_of[v];
    p.share[v] = total[g] > 0 ? base[v] / total[g] : 1 / members[g];
  }
  rebuild();
}

void PriceMaster::keepWorth(std::span<const double> item_prices, std::span<const double> device_prices,
                            double share, std::size_t most) {
  Program& p = *program_;
  // Dearest first, by what they are worth as a share of their device.
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t s = 0; s < p.sets.size(); ++s) {
    double worth = 0;
    for (const std::uint32_t v : p.sets[s].items) worth += item_prices[v];
    if (worth >= share * device_prices[p.sets[s].pool])
      ranked.emplace_back(-worth / std::max(device_prices[p.sets[s].pool], 1e-300), s);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(ranked.size(), most));
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<KnownSet> kept;
  p.known.clear();
  for (const auto& [worth, s] : ranked) {
    p.known.emplace(p.sets[s].pool, p.sets[s].items);
    kept.push_back(std::move(p.sets[s]));
  }
  p.sets = std::move(kept);
}

void PriceMaster::rebuild() {
  Program& p = *program_;
  p.simplex = ClpSimplex();
  p.simplex.setLogLevel(0);
  constexpr int kPivotsPerFactorization = 50;  // it is small and dense
  p.simplex.setFactorizationFrequency(kPivotsPerFactorization);
  if (p.variety % 2 == 1) p.simplex.scaling(0);
  constexpr int kDevex = 0;
  if (p.variety / 2 % 2 == 1) {
    ClpPrimalColumnSteepest rule(kDevex);
    p.simplex.setPrimalColumnPivotAlgorithm(rule);
  }
  p.simplex.resize(static_cast<int>(p.groups + p.counts.size()), 0);
  for (std::size_t row = 0; row < p.groups + p.counts.size(); ++row) {
    const bool cover = row < p.groups;
    p.simplex.setRowBounds(static_cast<int>(row), cover ? 1 : -COIN_DBL_MAX, cover ? COIN_DBL_MAX : 0);
  }
  Columns columns;
  for (std::size_t k = 0; k < p.counts.size(); ++k)
    columns.entry(static_cast<int>(p.groups + k), -p.counts[k]);
  columns.end(COIN_DBL_MAX, 1);
  for (const double sign : {1.0, -1.0}) {
    for (std::size_t g = 0; g < p.groups; ++g) {
      columns.entry(static_cast<int>(g), sign);
      columns.end(COIN_DBL_MAX, sign > 0 ? 1 : 0);
    }
  }
  columns.addTo(p.simplex);
  p.columns = 0;
}

// Each addition copies the whole matrix, so sets wait until the program is solved.
void PriceMaster::addColumns() {
  Program& p = *program_;
  Columns columns;
  for (; p.columns < p.sets.size(); ++p.columns) {
    const KnownSet& known = p.sets[p.columns];
    p.part.assign(p.groups, 0);
    for (const std::uint32_t v : known.items) p.part[p.group_of[v]] += p.share[v];
    for (std::size_t g = 0; g < p.groups; ++g) {
      if (p.part[g] != 0) columns.entry(static_cast<int>(g), p.part[g]);
    }
    columns.entry(static_cast<int>(p.groups + known.pool), 1);
    columns.end(known.load <= p.limit ? COIN_DBL_MAX : kOff, 0);
  }
  columns.addTo(p.simplex);
}

bool PriceMaster::add(std::size_t pool, std::vector<std::uint32_t> items, double load) {
  Program& p = *program_;
  std::sort(items.begin(), items.end());
  if (!p.known.emplace(pool, items).second) return false;
  p.sets.push_back({pool, std::move(items), load});
  return true;
}

void PriceMaster::setLimit(double load) {
  Program& p = *program_;
  p.limit = load;
  for (std::size_t s = 0; s < p.columns; ++s)
    p.simplex.setColumnUpper(p.column(s), p.sets[s].load <= load ? COIN_DBL_MAX : kOff);
}

void PriceMaster::setRange(std::size_t group, double low, double high) {
  program_->simplex.setObjectiveCoefficient(program_->below(group), high);
  program_->simplex.setObjectiveCoefficient(program_->above(group), -low);
}

bool PriceMaster::solve(const Budget& budget) {
  Program& p = *program_;
  addColumns();
  const StopHandler handler(budget);
  p.simplex.passInEventHandler(&handler);
  p.simplex.primal();
  pivots = static_cast<std::size_t>(p.simplex.numberIterations());
  if (!p.simplex.isProvenOptimal()) {
    if (budget.stopped()) return false;
    p.simplex.allSlackBasis();
    p.simplex.primal();
    pivots += static_cast<std::size_t>(p.simplex.numberIterations());
    if (!p.simplex.isProvenOptimal()) return false;
  }
  factor = p.simplex.objectiveValue();
  const double* dual = p.simplex.dualRowSolution();
  item_price.assign(p.items, 0);
  device_price.assign(p.counts.size(), 0);
  for (std::size_t v = 0; v < p.items; ++v) item_price[v] = p.share[v] * std::max(0.0, dual[p.group_of[v]]);
  for (std::size_t k = 0; k < p.counts.size(); ++k) device_price[k] = std::max(0.0, -dual[p.groups + k]);
  const double* primal = p.simplex.primalColumnSolution();
  ranges_bind = false;
  for (std::size_t g = 0; g < p.groups; ++g)
    ranges_bind = ranges_bind || primal[p.below(g)] > 1e-7 || primal[p.above(g)] > 1e-7;
  return true;
}

}  // namespace allot
