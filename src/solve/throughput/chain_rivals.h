// Sources of walks that make stages of other sources needless.
//
// Problem: the ideals that stages reach in one state are many and alike, and so walks from all of them come
// to the same ideals again and again. Method: when any chain below the cut-off will do, let ideals I and J be
// reached in the same state, and K be an ideal above both. The stage K - J can take the place of K - I if it
// is no heavier: where J holds more work than I on the pool by at least what all nets of the items cost in
// which I and J differ, no less memory where that may bind, and nothing that I has and J lacks is barred from
// the pool. Such a J is a rival of I. A walk from I turns back before it holds all that a rival has.
// Guarantee: some chain below the cut-off is still found where there is one. Let ideals be ordered by work on
// the first pool, then number of items, then key; rivals are later in this order, and so is every ideal that
// holds another one. Of all states reached from which a chain goes on, take one with the last ideal I, and of
// those one that no other covers with fewer devices. If I is not everything, let K be the end of the next
// stage of that chain, as full as can be. The walk from I comes to K: a rival below K would be a later ideal
// from which a chain goes on. Where K lies behind a barrier, the arrival of I comes to it, or one that beats
// it. So K is reached, and it is later than I. Assumptions: one load (no max-parts), no stashes; options with
// replicas have no rivals.
// Complexity: for each source O(kLook * chains of the segment); a few operations for each item that enters.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "solve/throughput/chain_parts.h"
#include "solve/throughput/chain_search.h"

namespace allot {

// The ideals that end in one segment, by state.
class ChainRivals {
 public:
  static constexpr std::size_t kMost = 8;
  struct Rival {
    std::uint32_t ideal, missing;  // so many items of it are not in the other ideal
    std::uint64_t pools;           // on which it is one
  };
  struct List {
    std::size_t size = 0;
    std::array<Rival, kMost> rivals;
  };

  ChainRivals(const ChainSearch& search, const IdealTable& table, bool any);

  // Forgets all ideals; those to come end in this segment.
  void enter(const ChainSegment& segment);
  // States that were reached; `sortNew` must follow.
  void add(std::uint32_t ideal, std::uint32_t state);
  void sortNew();
  // Of an ideal that was reached in all these states.
  List of(std::uint32_t ideal, std::span<const ChainEntry> entries, double cutoff) const;
  // Calls visit(item) for each item of the rival that the ideal lacks.
  template <class Visit>
  void visitMissing(std::uint32_t rival, std::uint32_t ideal, Visit visit) const {
    const IdealPacking& packing = search_.packing_;
    for (const ChainSegment::Run& run : segment_->runs) {
      const std::uint32_t end = packing.held(table_.key(rival), run.chain);
      for (std::uint32_t i = packing.held(table_.key(ideal), run.chain); i < end; ++i)
        visit(packing.chains[run.chain][i]);
    }
  }

 private:
  // Of longer lists there are no rivals: they would have to be sorted again and again.
  static constexpr std::size_t kMostReached = 4096, kMostPools = 64;
  // How many of the next ideals in the order are looked at, and how many items a rival may have beyond.
  static constexpr std::ptrdiff_t kLook = 32;
  static constexpr std::uint32_t kNear = 3;
  struct Reached {
    std::vector<std::uint32_t> ideals{};
    std::size_t sorted = 0;
  };
  const ChainSearch& search_;
  const IdealTable& table_;
  const bool suitable_;
  const ChainSegment* segment_ = nullptr;
  std::vector<Reached> reached_;        // by state
  std::vector<std::uint32_t> used_;     // states with ideals
  std::vector<std::uint32_t> changed_;  // states with ideals that are not sorted in yet
  std::vector<double> held_;            // [ideal * figures]: seconds by pool, resident bytes, items

  std::size_t figures() const { return search_.model_.poolCount() + 2; }
  const double* held(std::uint32_t ideal) const { return &held_[ideal * figures()]; }
  bool isEarlier(std::uint32_t a, std::uint32_t b) const;
  bool isNear(std::uint32_t rival, std::uint32_t ideal) const;
  Rival compare(std::uint32_t rival, std::uint32_t ideal) const;
};

// How much a walk still lacks of each rival of its source, by depth.
class RivalCount {
 public:
  RivalCount(const ChainRivals& all, std::size_t items) : all_(all), holds_(items), missing_(items + 1) {}

  // A walk from this ideal follows; the entries must stay.
  void begin(std::uint32_t ideal, std::span<const ChainEntry> entries, double cutoff);
  // A walk without rivals follows.
  void beginWithout() { entries_ = {}; }
  // With this option, and nothing in the stage.
  void choose(const StageOption& option);

  // Whether the stage holds all of some rival when the item enters.
  bool meets(std::uint32_t v, std::size_t depth) const {
    if (!active_) return false;
    std::uint8_t least = UINT8_MAX;
    for (std::size_t r = 0; r < ChainRivals::kMost; ++r)
      least = std::min(least, static_cast<std::uint8_t>(missing_[depth][r] - holds_[v][r]));
    return least == 0;
  }
  void enter(std::uint32_t v, std::size_t depth, std::size_t next_depth) {
    if (!active_) return;
    for (std::size_t r = 0; r < ChainRivals::kMost; ++r)
      missing_[next_depth][r] = static_cast<std::uint8_t>(missing_[depth][r] - holds_[v][r]);
  }

 private:
  using Bytes = std::array<std::uint8_t, ChainRivals::kMost>;
  const ChainRivals& all_;
  std::uint32_t ideal_ = 0;
  std::span<const ChainEntry> entries_;
  double cutoff_ = 0;
  bool known_ = false, active_ = false;
  ChainRivals::List rivals_;
  std::vector<Bytes> holds_;            // by item: 1 where a rival has it and the source has not
  std::vector<Bytes> missing_;          // by depth
  std::vector<std::uint32_t> touched_;  // items that some rival has

  void find();
};

}  // namespace allot
