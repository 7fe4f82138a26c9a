// Ideals of a run graph while a stage decides about one run after the other.
//
// A stage decides in the order of the runs whether it holds a run; one that it does not hold is refused with
// all that follows it. So every stage between two ideals is made in one way, and what a refusal costs and
// rules out is known at once. Ideals are packed by chains (ideal_table.h); each knows the least and the most
// work it can stand for and its open nets, those with a run begun and another one not. Open nets are told
// apart by slots, so that sets of them are the bits of one word.
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

struct RunIdeal {
  const std::uint64_t* key;
  const std::uint64_t* refused;  // one bit for each run
  std::span<const std::uint32_t> open;
  double least, most;  // work of the begun runs
  double available;    // work of all runs that are not refused
};

class RunIdealList {
 public:
  RunIdealList(std::size_t key_words, std::size_t run_words) : key_words_(key_words), run_words_(run_words) {}

  std::size_t size() const { return figures_.size(); }
  RunIdeal operator[](std::size_t i) const {
    const std::uint64_t* words = &words_[i * (key_words_ + run_words_)];
    const Figures& figures = figures_[i];
    return {words, words + key_words_, open_[i], figures.least, figures.most, figures.available};
  }
  void add(const RunIdeal& ideal);
  std::size_t bytes() const {
    return sizeof(std::uint64_t) * words_.size() + sizeof(Figures) * figures_.size() +
           sizeof(std::uint32_t) * (open_.items.size() + open_.begin.size());
  }

 private:
  struct Figures {
    double least, most, available;
  };
  std::size_t key_words_, run_words_;
  std::vector<std::uint64_t> words_;
  std::vector<Figures> figures_;
  Csr<std::uint32_t> open_;
};

class RunIdeals {
 public:
  explicit RunIdeals(const RunGraph& graph);

  // False where more nets can be open at once than there are slots.
  bool suitable() const { return suitable_; }

  const RunGraph& graph;
  double total = 0;            // work
  std::vector<double> behind;  // by run: work of the run and of all that follows it

  std::size_t keyWords() const { return packing_.words; }
  RunIdealList list() const { return {packing_.words, run_words_}; }
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
  bool isAll(const std::uint64_t* key) const;
  static bool refuses(const RunIdeal& ideal, std::uint32_t run) {
    return (ideal.refused[run / 64] >> run % 64 & 1) != 0;
  }
  // Whether the net is cut at every end of the stage.
  bool cutsSurely(const RunIdeal& ideal, std::uint32_t net) const {
    const auto runs = graph.net_runs[net];
    return std::any_of(runs.begin(), runs.end(), [&](std::uint32_t r) { return refuses(ideal, r); });
  }
  // The begun runs of more than one item that nothing begun follows: they may have work left.
  std::vector<std::uint32_t> unfinished(const std::uint64_t* key) const;
  // The first run from there on that the stage may hold and does not yet; the number of runs where there is
  // none.
  std::uint32_t nextChoice(const RunIdeal& ideal, std::uint32_t from) const;

  std::uint64_t hashOf(const std::uint64_t* key) const;
  bool same(const std::uint64_t* a, const std::uint64_t* b) const { return std::equal(a, a + keyWords(), b); }

  // Each valid until the next call for the same room.
  struct Room {
    std::vector<std::uint64_t> key, refused;
    std::vector<std::uint32_t> open;
  };
  // Nothing is begun.
  RunIdeal none(Room& room) const;
  // A stage begins behind the ideal.
  RunIdeal anew(const RunIdeal& ideal, Room& room) const;
  // With a choice held, and refused.
  RunIdeal with(const RunIdeal& ideal, std::uint32_t run, Room& room) const;
  RunIdeal without(const RunIdeal& ideal, std::uint32_t run, Room& room) const;

 private:
  IdealPacking packing_;
  std::size_t run_words_;
  bool suitable_ = false;
  std::vector<std::uint64_t> following_;  // [run * run_words_]: the run and all that follows it
  std::vector<std::uint8_t> slot_;        // by net: no two nets share one that can be open at once

  bool follows(std::uint32_t run, std::uint32_t first) const {
    return (following_[first * run_words_ + run / 64] >> run % 64 & 1) != 0;
  }
  void giveSlots();
};

}  // namespace allot
