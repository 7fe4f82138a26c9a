// Whether any chain of stages stays below a load, over all ideals of a run graph.
//
// Problem: a chain of at most k stages, each of load at most `limit`, on like devices. Method: one stage
// after the other, from all boundaries I at once where the one before may have ended; each decides about one
// run after the other (run_ideals.h), and of the stages in the making that hold the same those are kept that
// no other one beats (run_labels.h). Guarantee: when there is no chain, the model that the run graph was made
// of has none either; runs are divisible here, so a chain that is found need not exist there. Complexity:
// O(labels * open nets), labels of all stages; they grow steeply with the limit and with the width of the
// windows. Deterministic for any number of threads. Out of time or memory: no answer.
#pragma once

#include <cstdint>
#include <vector>

#include "allot/solve.h"
#include "base/walk_crew.h"
#include "solve/throughput/hash_index.h"
#include "solve/throughput/run_labels.h"

namespace allot {

// What is known of the boundary behind b stages when every load is within the limit, by b.
struct RunWindows {
  std::vector<double> work;      // at least so much is done
  std::vector<double> with_cut;  // at least so much is work done and nets cut there, together
};

// A boundary between stages.
struct RunBoundary {
  std::vector<std::uint8_t> begun;  // by run
  double work = 0;                  // done at most
};

class RunSearch {
 public:
  enum class End : std::uint8_t { kNone, kFound, kCut };

  RunSearch(const RunGraph& graph, std::size_t stages, WalkCrew& crew)
      : ideals_(graph), graph_(graph), stages_(stages), crew_(crew) {}

  bool suitable() const { return ideals_.suitable(); }

  // How many labels go on.
  struct Labels {
    std::size_t waiting = SIZE_MAX;         // before a run at most: those that are ahead
    std::uint64_t altogether = UINT64_MAX;  // after which the search ends
  };
  // When labels were dropped, or were too many, and no chain was found, the end is kCut.
  End below(double limit, const RunWindows& windows, const Labels& most, const Budget& budget);

  // Of the last search.
  std::uint64_t labels() const { return labels_; }
  // The boundaries of the chain that was found, first to last, without the end; empty where labels were too
  // many to remember the way.
  const std::vector<RunBoundary>& chain() const { return chain_; }

 private:
  // A boundary where stages of labels begin.
  struct Beginning {
    std::uint32_t previous;
    double work;
  };
  // Ideals, each once, with the labels that wait there for the same choice.
  struct Waiting {
    RunIdealList ideals;
    HashIndex index{4};
    std::vector<RunLabel> labels{};
    std::vector<std::uint32_t> owner{};  // of the labels: the ideal
  };
  // The ideals, each once, where stages end.
  struct Ends {
    RunIdealList ideals;
    HashIndex index{4};
    std::vector<double> work{};        // done there at most
    std::vector<std::uint32_t> via{};  // where the stage begins that has done so
  };
  // What a thread makes of some ideals.
  struct Share {
    RunIdealList ideals;
    std::vector<std::uint32_t> choice{};  // the next one of each ideal
    Csr<RunLabel> labels{};               // by ideal
    std::vector<RunLabels::End> ends{};   // of the stages there
    std::uint64_t kept = 0;               // labels that went on
  };
  RunIdeals ideals_;
  const RunGraph& graph_;
  std::size_t stages_;
  WalkCrew& crew_;
  double limit_ = 0, slack_ = 0;
  RunWindows windows_;
  std::size_t complete_ = 0;  // stages before the one in the making
  std::uint64_t labels_ = 0;
  // All beginnings so far, as long as there is room for them.
  std::vector<Beginning> beginnings_;
  std::vector<std::uint64_t> beginning_keys_;
  std::vector<RunBoundary> chain_;

  // The stages in the making hold the run, or refuse it.
  void hold(const RunLabels& stage, const RunNode& node, std::uint32_t run, std::span<const RunLabel> labels,
            Share& share) const;
  void refuse(const RunLabels& stage, RunNode& node, std::uint32_t run, std::span<const RunLabel> labels,
              Share& share) const;
  // An estimate of how far behind a label is.
  double delayOf(const RunLabel& label, const RunNode& node) const;
  std::uint32_t numberOf(const RunIdeal& ideal, RunIdealList& list, HashIndex& index) const;
  void put(const RunIdeal& ideal, std::span<const RunLabel> labels, Waiting& waiting) const;
  // A stage ends here. True where its work is everything: then the chain is filled.
  bool endAt(const RunIdeal& ideal, const RunLabels::End& end, Ends& ends);
  // Drops all labels but so many with the least delay, and those with the same delay as the last of them.
  void dropLate(const RunLabels& stage, const RunIdealList& ideals, std::size_t most_labels,
                const Budget& budget, Csr<RunLabel>& labels) const;
  std::vector<Share> expand(const RunLabels& stage, const RunIdealList& ideals, const Csr<RunLabel>& labels,
                            std::uint32_t run, const Budget& budget) const;
  // One stage more from everywhere; where it ends.
  enum class Step : std::uint8_t { kDone, kFound, kStopped };
  Step makeStage(const Ends& from, Ends& to, const Labels& most, bool& dropped, const Budget& budget);
  // Its number; RunLabel::kNowhere for the start and where there is no more room.
  std::uint32_t noteBeginning(const Ends& ends, std::size_t i);
  // Fills the chain.
  void trace(std::uint32_t beginning);
};

}  // namespace allot
