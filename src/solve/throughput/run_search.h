// Whether any chain of stages stays below a load, over all ideals of a run graph.
//
// Problem: a chain of at most k stages, each of load at most `limit`, on like devices. Method: a label of an
// ideal J is a stage in the making that holds everything between some boundary I and J. It knows
//   - which open nets have runs in I (`old`), and which of those the stage has not paid for yet;
//   - how many stages are complete, and `left`: the work done at I, at most, less what the stage has paid;
//   - of the runs that I left in the middle and that nothing in J follows yet: `lack`, the work they lack at
//     least, and `excess`, their work beyond their first items at least. Finishing a run that nothing follows
//     costs the stage its nets twice; it cannot be undone either.
// A stage that ends at J reaches left + limit less what new open nets cost, at most all work of J but `lack`,
// at least the least of J and `excess`. Nets that every later end of the stage has touched or closed are
// settled when it begins: that keeps labels few. Of two labels one goes when the other is ahead by at least
// what the nets in which they differ can cost it. Guarantee: when there is no chain, the model that the run
// graph was made of has none either; runs are divisible here, so a chain that is found need not exist there.
// Complexity: O(ideals * labels * runs that can come next); labels grow steeply with the limit and with the
// width of the windows. Deterministic for any number of threads. Out of time or memory: no answer.
#pragma once

#include <cstdint>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/run_lattice.h"

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

  RunSearch(const RunGraph& graph, std::size_t stages) : lattice_(graph), graph_(graph), stages_(stages) {}

  bool suitable() const { return lattice_.suitable(); }

  // Of the labels of a level at most `most_labels` go on, those that are ahead. When some were dropped and no
  // chain was found, the end is kCut.
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
    std::uint32_t stages = 0;        // complete ones
    std::uint32_t begun = kNowhere;  // where its stage begins
  };
  // A boundary where stages of labels begin.
  struct Beginning {
    std::uint32_t previous, ideal;
    double work;
  };
  // Of `begun` and `previous`: counted from the first beginning of the share.
  static constexpr std::uint32_t kOfShare = std::uint32_t{1} << 31;
  // What a thread makes of some ideals of a level.
  struct Share {
    std::vector<Label> labels;
    std::vector<Beginning> beginnings;
    std::vector<double> times;        // of the labels: `timeOf`
    std::vector<std::uint32_t> ends;  // of the labels, by ideal
    bool complete = false;            // a stage ends with all work done
    std::uint32_t last = kNowhere;    // then: where that stage begins
  };
  // An ideal and what all its labels share.
  struct Node {
    const RunLevel& level;
    std::size_t ideal;
    const std::uint64_t* key;
    NetSet open = 0;
    SlotFigures cost;  // of open nets
    double all_open = 0, least_cost = 0;
    struct Unfinished {
      double rest, cost;  // to go on with it
      NetSet nets;
    };
    std::vector<Unfinished> unfinished{};
  };

  RunLattice lattice_;
  const RunGraph& graph_;
  std::size_t stages_;
  double limit_ = 0, slack_ = 0;
  RunWindows windows_;
  std::uint64_t labels_ = 0;
  // All beginnings so far, as long as there is room for them.
  std::vector<Beginning> beginnings_;
  std::vector<std::uint64_t> beginning_keys_;
  std::vector<RunBoundary> chain_;

  Node nodeOf(const RunLevel& level, std::size_t ideal) const;
  // Whether a label's stage can still end in the window.
  bool alive(const Label& label, const Node& node) const;
  static bool beats(const Label& other, const Label& label, const Node& node);
  // What runs begun before its stage lack or have in excess is no matter once something follows them.
  static void finish(Label& label, double rest);
  // The labels that stages in the making have behind the edges, each kind once.
  void gather(const RunLevel& from, const Csr<Label>& labels, std::span<const RunEdge> edges,
              const Node& node, std::vector<Label>& found) const;
  // Work done at most when the label's stage ends here; negative where it cannot.
  double workAtEnd(const Label& label, const Node& node) const;
  // A stage begins here.
  Label begin(const Node& node, double work, std::uint32_t stages) const;
  // All labels of an ideal: those that go on, and those of the stages that begin there.
  void fill(const RunLevel& from, const Csr<Label>& labels, std::span<const RunEdge> edges, const Node& node,
            Share& share) const;
  // An estimate of the time of all stages when a label's stage goes on from there as usual.
  double timeOf(const Label& label, const Node& node) const;
  // The labels of all shares with times up to `latest`, by ideal. Notes their beginnings.
  Csr<Label> joined(std::span<Share> shares, const RunLevel& level, double latest);
  // Fills the chain.
  void trace(std::uint32_t beginning);
};

}  // namespace allot
