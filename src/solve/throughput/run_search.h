// Whether any chain of stages stays below a load, over all ideals of a run graph.
//
// Problem: a chain of at most k stages, each of load at most `limit`, on like devices. Method: all ideals by
// rising number of runs (levels). A label of an ideal is a stage in the making that holds everything between
// some boundary and this ideal: which open nets came from before the stage, which of those the stage has not
// paid for, how many stages are complete, and `left`, the work of the boundary (at most) less what was paid.
// A stage that ends here reaches left + limit - what new open nets cost, but no more than all begun runs
// hold. Of two labels of an ideal one goes when the other is ahead by at least what the nets in which they
// differ can cost it later. Guarantee: when there is no chain, the model that the run graph was made of has
// none either; runs are divisible here, so a chain that is found need not exist there. Complexity: O(ideals *
// labels * runs that can come next); labels grow steeply with the limit. Deterministic for any number of
// threads. Out of time or memory: no answer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/ideal_table.h"
#include "solve/throughput/run_graph.h"

namespace allot {

class RunSearch {
 public:
  enum class End : std::uint8_t { kNone, kFound, kCut };

  RunSearch(const RunGraph& graph, std::size_t stages);

  // False where more nets can be open at once than labels have room for.
  bool suitable() const { return suitable_; }

  // `needed[b]`: the least work that b stages must have done so that the rest can do everything else. Of the
  // labels of a level at most `most_labels` go on, those that are ahead. When some were dropped and no chain
  // was found, the end is kCut.
  End below(double limit, std::span<const double> needed, std::size_t most_labels, const Budget& budget);

  // Of the last search.
  std::uint64_t labels() const { return labels_; }

 private:
  struct Label {
    std::uint64_t old = 0, unpaid = 0;  // slots of open nets
    double left = 0;
    std::uint32_t stages = 0;  // complete ones
  };
  struct Edge {
    std::uint32_t from, run;  // node of the level before; the run that it lacks
  };
  struct Level {
    std::vector<std::uint64_t> keys;  // [node * words]
    std::vector<double> least, most;  // work of the begun runs
    Csr<std::uint32_t> open;          // nets, by node
    Csr<Label> labels;                // by node
    std::size_t size() const { return least.size(); }
  };
  // What a thread makes of some nodes of a level.
  struct Share {
    std::vector<Label> labels;
    std::vector<double> times;        // of the labels: `timeOf`
    std::vector<std::uint32_t> ends;  // of the labels, by node
    bool complete = false;            // a stage ends with all work done
  };

  const RunGraph& graph_;
  std::size_t stages_;
  IdealPacking packing_;
  bool suitable_ = false;
  std::vector<std::uint8_t> slot_;  // by net: no two nets share one that can be open at once
  double total_ = 0;                // work
  double limit_ = 0;
  std::vector<double> needed_;
  std::uint64_t labels_ = 0;

  void giveSlots();
  bool holds(const std::uint64_t* key, std::uint32_t run) const {
    const IdealPacking::Place& place = packing_.places[run];
    return packing_.held(key, place.chain) > place.position;
  }
  bool holdsAll(const std::uint64_t* key, std::span<const std::uint32_t> runs) const;
  bool holdsAny(const std::uint64_t* key, std::span<const std::uint32_t> runs) const;
  // What a net cut costs at least, once, to a stage that only goes on with runs that an ideal has begun.
  double leastToGoOn(const std::uint64_t* key) const;
  Level first() const;
  void addNode(const Level& from, std::uint32_t parent, std::uint32_t run, const std::uint64_t* key,
               Level& level) const;
  // The nodes of the next level, without labels, and the edges that lead to each.
  Level next(const Level& level, Csr<Edge>& edges) const;
  // The labels that stages in the making have behind the edges, each kind once.
  void gather(const Level& from, std::span<const Edge> edges, const Level& level, std::size_t node,
              std::vector<Label>& labels) const;
  // All labels of a node: those that go on, and those of the stages that begin there.
  void fill(const Level& from, std::span<const Edge> edges, const Level& level, std::size_t node,
            Share& share) const;
  // An estimate of the time of all stages when a label's stage goes on from there as usual.
  double timeOf(const Label& label, double work, double new_cost) const;
};

}  // namespace allot
