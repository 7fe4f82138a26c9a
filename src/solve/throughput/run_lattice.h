// All ideals of a run graph, level by level of the number of runs that are begun.
//
// Method: ideals are packed by chains (ideal_table.h); the next level is made from the ideals of a level,
// each new one once, with the edges that lead to it. Every ideal knows the least and the most work it can
// stand for and its open nets, those with a run begun and another one not. Open nets are told apart by slots,
// so that sets of them are the bits of one word. Complexity: O(ideals * chains + edges * runs that precede a
// run).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "solve/throughput/ideal_table.h"
#include "solve/throughput/run_graph.h"

namespace allot {

inline constexpr std::size_t kNetSlots = 64;
using NetSet = std::uint64_t;                       // one bit for each slot
using SlotFigures = std::array<double, kNetSlots>;  // by slot

inline double sumOf(NetSet nets, const SlotFigures& figures) {
  double sum = 0;
  for (; nets != 0; nets &= nets - 1) sum += figures[static_cast<std::size_t>(std::countr_zero(nets))];
  return sum;
}

struct RunLevel {
  std::vector<std::uint64_t> keys;  // [ideal * words]
  std::vector<double> least, most;  // work of the begun runs
  Csr<std::uint32_t> open;          // nets, by ideal
  std::size_t size() const { return least.size(); }
};

struct RunEdge {
  std::uint32_t from, run;  // ideal of the level before; the run that it lacks
};

class RunLattice {
 public:
  explicit RunLattice(const RunGraph& graph);

  // False where more nets can be open at once than there are slots.
  bool suitable() const { return suitable_; }

  const RunGraph& graph;
  double total = 0;            // work
  std::vector<double> behind;  // by run: work of the run and of all that follows it

  std::size_t keyWords() const { return packing_.words; }
  const std::uint64_t* key(const RunLevel& level, std::size_t ideal) const {
    return &level.keys[ideal * packing_.words];
  }
  NetSet bit(std::uint32_t net) const { return NetSet{1} << slot_[net]; }
  std::size_t slot(std::uint32_t net) const { return slot_[net]; }
  bool holds(const std::uint64_t* key, std::uint32_t run) const {
    const IdealPacking::Place& place = packing_.places[run];
    return packing_.held(key, place.chain) > place.position;
  }
  bool holdsAll(const std::uint64_t* key, std::span<const std::uint32_t> runs) const {
    return std::all_of(runs.begin(), runs.end(), [&](std::uint32_t r) { return holds(key, r); });
  }
  bool holdsAny(const std::uint64_t* key, std::span<const std::uint32_t> runs) const {
    return std::any_of(runs.begin(), runs.end(), [&](std::uint32_t r) { return holds(key, r); });
  }
  // The begun runs of more than one item that nothing begun follows: they may have work left.
  std::vector<std::uint32_t> unfinished(const std::uint64_t* key) const;

  // Nothing is begun.
  RunLevel first() const;
  // From the ideals that `live` names, by rising number; edges by ideal of the new level.
  RunLevel next(const RunLevel& level, std::span<const std::uint32_t> live, Csr<RunEdge>& edges) const;

 private:
  IdealPacking packing_;
  bool suitable_ = false;
  std::vector<std::uint8_t> slot_;  // by net: no two nets share one that can be open at once

  void giveSlots();
  void addIdeal(const RunLevel& from, std::uint32_t parent, std::uint32_t run, const std::uint64_t* key,
                RunLevel& level) const;
};

}  // namespace allot
