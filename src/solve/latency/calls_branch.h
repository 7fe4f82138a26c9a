// One branch of a module of a subgraph-calls problem: every useful way through it.
//
// Problem: a branch is a part of a module that nothing ties to the rest but the item before the module (the
// "fork") and the module's last item (the "join"). A plan passes it in three phases: the call that is open at
// the entry takes an ideal; items run on the cpu or in calls; the call that takes the join takes the rest.
// The first and the last call are shared with other branches: what the branch adds to them is added up, what
// happens in between runs beside the other branches. Method: labels over the ideals of the branch; a call is
// a step from one ideal to a larger one. Calls that touch s branches are relaxed: the branch pays 1/s of an
// accelerator, and waits for no more than the least that the other branches can add. Guarantee: every plan
// shows in some way that is no worse in anything; ways that are not marked relaxed exist. Complexity: labels
// x pairs of ideals, bounded by the limits on ideals.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "solve/latency/calls_module.h"

namespace allot {

// Shares of an accelerator: halves, thirds, quarters, fifths and sixths are whole.
inline constexpr std::uint32_t kCallShares = 60;

// What a call that touches several branches takes at least besides the own part: by number of branches, for
// an own part that does not read the fork, and for one that does.
struct SharedCalls {
  std::vector<double> besides, besides_reader;  // index 0: two branches
};

struct BranchWay {
  double shared = 0;  // seconds added to the calls of entry and exit
  double middle = 0;  // from the end of the entry's call until everything is there that is read behind
  double entry_bytes = 0, exit_bytes = 0;
  std::uint32_t shares = 0;
  std::uint8_t sent = 0;     // nets of the fork that are read outside the entry's call
  std::uint8_t fetched = 0;  // nets of the fork that the exit's call reads
  bool relaxed = false;
  std::uint32_t label = 0;  // in the branch
};

struct BranchRequest {
  bool open = false;        // a call is open at the entry
  bool takes_join = false;  // a call takes the join
  bool count_entry_bytes = false, count_exit_bytes = false;
  double entry_room = 0;  // bytes the entry's call may take
  std::uint32_t most_calls = 0;
  // Exit times at or above it are of no use, by calls used; falling.
  std::vector<double> limit;
};

class CallBranch {
 public:
  // Items in topological order; `fork_nets`: nets from before the module.
  CallBranch(const CallGraphFacts& facts, std::vector<std::uint32_t> items, std::uint32_t join,
             const std::vector<std::uint32_t>& fork_nets);

  bool usable() const { return usable_; }
  // The least that a call takes which touches this branch: in all, and without what it fetches of the fork.
  double leastCall() const { return least_call_; }
  double leastCallBesidesFork() const { return least_besides_fork_; }
  double allSeconds() const { return all_seconds_; }  // in one call

  // False when the budget is used up.
  bool run(const BranchRequest& request, const SharedCalls& shared, const Budget& budget);
  const std::vector<BranchWay>& ways() const { return ways_; }

  // The items of the entry's call, those between (a call, or one item on the cpu), those of the exit's call.
  struct Part {
    std::vector<std::uint32_t> items;
    bool is_call = false;
  };
  struct Listing {
    std::vector<std::uint32_t> entry, exit;
    std::vector<Part> middle;
  };
  Listing list(const BranchWay& way) const;

 private:
  static constexpr std::size_t kMostFrontier = 8;
  static constexpr std::size_t kMostIdeals = 400;
  static constexpr std::size_t kMostItems = 64;

  struct Ideal {
    std::uint64_t items = 0;
    std::vector<std::uint8_t> frontier;                       // items that something outside reads
    std::vector<double> behind;                               // by frontier item: least time behind it
    std::vector<std::pair<std::uint8_t, std::uint32_t>> cpu;  // item, ideal with it
    std::uint32_t first_call = 0, end_call = 0;               // calls from here
    // As what the entry's call takes.
    double entry_seconds = 0, bytes = 0;
    std::uint8_t sent = 0;
    // As what the exit's call leaves.
    double exit_seconds = 0;
    std::uint64_t exit_reads = 0;  // items
    std::uint8_t fetched = 0;
  };
  struct Call {
    std::uint32_t to = 0;
    double seconds = 0;
    std::uint64_t reads = 0;  // items of the ideal
    bool reads_fork = false;
  };
  struct Label {
    double entry_seconds = 0, entry_bytes = 0;
    std::uint32_t ideal = 0, parent = UINT32_MAX;
    std::uint32_t shares = 0;
    std::uint8_t sent = 0;
    bool relaxed = false;
    bool by_call = false;                       // the last step was a call
    std::array<double, kMostFrontier> times{};  // by frontier item
  };

  const CallGraphFacts& facts_;
  const CallItems& items_;
  std::vector<std::uint32_t> own_;
  std::uint32_t join_;
  const std::vector<std::uint32_t>& fork_nets_;
  bool usable_ = false;
  double all_seconds_ = 0, least_call_ = 0, least_besides_fork_ = 0;
  std::vector<std::uint64_t> needs_;  // by own item: own items it reads
  std::vector<Ideal> ideals_;         // by size
  std::vector<Call> calls_;
  std::vector<Label> labels_;
  std::vector<std::vector<std::uint32_t>> at_;  // by ideal: labels
  std::vector<BranchWay> ways_;

  std::uint32_t ownIndex(std::uint32_t item) const;
  std::uint8_t forkReads(std::uint64_t set) const;
  double callSeconds(std::uint64_t set, bool to_join, std::uint64_t& reads) const;
  bool findIdeals();
  void findCalls();
  void describe(Ideal& ideal) const;
  void offer(const BranchRequest& request, const Label& label);
  void moveTimes(const Label& from, Label& to, double fresh) const;
  void addWay(const BranchRequest& request, std::uint32_t label);
};

}  // namespace allot
