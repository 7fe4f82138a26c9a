// Every useful way through a module of a subgraph-calls problem, branch by branch.
//
// Problem: that of calls_module.h, for a module that falls into branches (calls_branch.h) between the item
// before it and its last item. Method: branches see each other only through the call that is open at the
// entry, the call that takes the last item, accelerators, and calls that touch several branches. The ways
// through each branch are joined one branch after the other: what they add to the two shared calls is added
// up, of the time between the longest counts. Guarantee: every useful exit shows in an exit that is no worse
// in anything; exits that are not marked relaxed exist. Only calls that touch several branches and neither
// end of the module are relaxed. Complexity: ways so far x ways of the next branch.
#pragma once

#include <vector>

#include "solve/latency/calls_branch.h"

namespace allot {

class CallBranches {
 public:
  CallBranches(const CallGraphFacts& facts, std::size_t module);

  // False where the module does not fall into branches that are small enough, accelerators differ, units
  // bind items, or tensors pass the module by.
  bool usable() const { return usable_; }

  // `open`: inside a call. `count_bytes`: else bytes of the calls at both ends are taken for 0.
  ModuleExits run(bool open, std::uint32_t most_calls, bool count_bytes, const ModuleLimits& limits,
                  const Budget& budget);
  // How a call stands that is open at the entry.
  CallCut openEntry() const;

 private:
  static constexpr std::uint32_t kClosedCut = 0, kOpenCut = 1;

  struct Joined {
    double shared = 0, middle = 0, entry_bytes = 0, exit_bytes = 0;
    std::uint32_t shares = 0;
    std::uint8_t sent = 0, fetched = 0;
    bool relaxed = false;
    std::uint32_t from = 0, way = 0;  // of the branch before, of the branch
  };

  const CallGraphFacts& facts_;
  const CallItems& items_;
  std::uint32_t lo_, hi_;
  bool usable_ = false;
  std::vector<std::uint32_t> fork_nets_;
  std::uint8_t join_reads_ = 0;  // nets of the fork that the last item reads
  std::vector<CallBranch> branches_;
  std::vector<SharedCalls> shared_;           // by branch
  std::vector<std::vector<BranchWay>> ways_;  // by branch: of the last run
  double all_bytes_ = 0;

  bool findBranches();
  void findShared();
  std::vector<std::vector<Joined>> join(const BranchRequest& request, double behind, const Budget& budget,
                                        bool& whole);
  void leave(const BranchRequest& request, const ModuleLimits& limits,
             const std::vector<std::vector<Joined>>& stages, ModuleExits& out) const;
  std::uint32_t addSteps(const BranchRequest& request, const std::vector<std::vector<Joined>>& stages,
                         std::uint32_t last, ModuleExits& out) const;
  void passThrough(const ModuleLimits& limits, bool count_bytes, ModuleExits& out) const;
};

}  // namespace allot
