// Whether any chain of stages stays below a load, over all ideals of a run graph.
//
// Problem: a chain of at most k stages, each of load at most `limit`, on like devices. Method: one stage
// after the other, from all boundaries I at once where the one before may have ended; each decides about one
// run after the other (run_ideals.h). A label of an ideal J is a stage in the making that holds everything
// between some boundary I and J. It knows
//   - which open nets have runs in I or are paid for at the end already (`old`), and which of those in I the
//     stage has not paid for yet;
//   - `left`: the work done at I, at most, less what the stage has paid;
//   - of the runs that I left in the middle and that nothing in J follows yet: `lack`, the work they lack at
//     least, and `excess`, their work beyond their first items at least. Finishing a run that nothing follows
//     costs the stage its nets twice; it cannot be undone either.
// A stage that ends at J reaches left + limit less what new open nets cost, at most all work of J but `lack`,
// at least the least of J and `excess`. Nets with a run that the stage refuses are cut at its end and paid
// for at once; nets that every later end has touched or closed are settled when it begins. Of two labels one
// goes when the other is ahead by at least what the nets in which they differ can cost it. Guarantee: when
// there is no chain, the model that the run graph was made of has none either; runs are divisible here, so a
// chain that is found need not exist there. Complexity: O(labels * open nets), labels of all stages; they
// grow steeply with the limit and with the width of the windows. Deterministic for any number of threads. Out
// of time or memory: no answer.
#pragma once

#include <cstdint>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/hash_index.h"
#include "solve/throughput/run_ideals.h"

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

  RunSearch(const RunGraph& graph, std::size_t stages) : ideals_(graph), graph_(graph), stages_(stages) {}

  bool suitable() const { return ideals_.suitable(); }

  // Of the labels before a run at most `most_labels` go on, those that are ahead. When some were dropped and
  // no chain was found, the end is kCut.
  End below(double limit, const RunWindows& windows, std::size_t most_labels, const Budget& budget);

  // Of the last search.
  std::uint64_t labels() const { return labels_; }
  // The boundaries of the chain that was found, first to last, without the end; empty where labels were too
  // many to remember the way.
  const std::vector<RunBoundary>& chain() const { return chain_; }

 private:
  static constexpr std::uint32_t kNowhere = UINT32_MAX;
  struct Label {
    NetSet old = 0, unpaid = 0;
    double left = 0, lack = 0, excess = 0;
    std::uint32_t begun = kNowhere;  // where its stage begins
  };
  // A boundary where stages of labels begin.
  struct Beginning {
    std::uint32_t previous;
    double work;
  };
  // Ideals, each once, with the labels that wait there for the same choice.
  struct Waiting {
    RunIdealList ideals;
    HashIndex index{4};
    std::vector<Label> labels{};
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
    Csr<Label> labels{};                  // by ideal
    std::vector<double> work{};  // done when the stage ends at the ideal, at most; negative: it does not
    std::vector<std::uint32_t> via{};
    std::uint64_t kept = 0;  // labels that went on
  };
  // An ideal and what all its labels share.
  struct Node {
    RunIdeal ideal;
    NetSet open = 0;
    SlotFigures cost;  // of open nets
    double all_open = 0, least_cost = 0;
    struct Unfinished {
      double rest, cost;  // to go on with it
      NetSet nets;
    };
    std::vector<Unfinished> unfinished{};
  };

  RunIdeals ideals_;
  const RunGraph& graph_;
  std::size_t stages_;
  double limit_ = 0, slack_ = 0;
  RunWindows windows_;
  std::size_t complete_ = 0;  // stages before the one in the making
  std::uint64_t labels_ = 0;
  // All beginnings so far, as long as there is room for them.
  std::vector<Beginning> beginnings_;
  std::vector<std::uint64_t> beginning_keys_;
  std::vector<RunBoundary> chain_;

  Node nodeOf(const RunIdeal& ideal) const;
  // Whether a label's stage can still end in the window.
  bool alive(const Label& label, const Node& node) const;
  static bool beats(const Label& other, const Label& label, const Node& node);
  // What runs begun before its stage lack or have in excess is no matter once something follows them.
  static void finish(Label& label, double rest);
  // Those that no other one beats.
  static void keepBest(std::vector<Label>& labels, const Node& node, const Budget& budget);
  // The stages in the making hold the run, or refuse it.
  void hold(const Node& node, std::uint32_t run, std::span<const Label> labels, Share& share) const;
  void refuse(Node& node, std::uint32_t run, std::span<const Label> labels, Share& share) const;
  // Work done at most when the label's stage ends here; negative where it cannot.
  double workAtEnd(const Label& label, const Node& node) const;
  // A stage begins here.
  Label begin(const Node& node, double work) const;
  // An estimate of how far behind a label is.
  double delayOf(const Label& label, const Node& node) const;
  std::uint32_t numberOf(const RunIdeal& ideal, RunIdealList& list, HashIndex& index) const;
  void put(const RunIdeal& ideal, std::span<const Label> labels, Waiting& waiting) const;
  // The stage of a label ends with so much work. True where that is everything: then the chain is filled.
  bool endAt(const RunIdeal& ideal, double work, std::uint32_t via, Ends& ends);
  static Csr<Label> byIdeal(const Waiting& waiting);
  // Drops all labels but so many with the least delay, and those with the same delay as the last of them.
  void dropLate(const RunIdealList& ideals, std::size_t most_labels, Csr<Label>& labels,
                const Budget& budget) const;
  std::vector<Share> expand(const RunIdealList& ideals, const Csr<Label>& labels, std::uint32_t run,
                            const Budget& budget) const;
  // One stage more from everywhere; where it ends.
  enum class Step : std::uint8_t { kDone, kFound, kStopped };
  Step makeStage(const Ends& from, Ends& to, std::size_t most_labels, bool& dropped, const Budget& budget);
  // Its number; kNowhere for the start and where there is no more room.
  std::uint32_t noteBeginning(const Ends& ends, std::size_t i);
  // Fills the chain.
  void trace(std::uint32_t beginning);
};

}  // namespace allot
