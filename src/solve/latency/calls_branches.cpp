#include "solve/latency/calls_branches.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/union_find.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostForkNets = 8;

double limitOf(const std::vector<double>& limits, std::size_t used) {
  return limits[std::min(used, limits.size() - 1)];
}

std::uint32_t wholeCalls(std::uint32_t shares) {
  return (shares + kCallShares - 1) / kCallShares;
}

// Keeps of the ways only those that no other beats in everything.
template <class Way>
void keepUseful(std::vector<Way>& ways) {
  std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    return std::tie(a.shares, a.shared, a.middle, a.relaxed, a.entry_bytes, a.exit_bytes) <
           std::tie(b.shares, b.shared, b.middle, b.relaxed, b.entry_bytes, b.exit_bytes);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const Way& way = ways[i];
    const bool beaten =
        std::any_of(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(kept), [&](const Way& other) {
          return other.shared <= way.shared && other.middle <= way.middle &&
                 other.entry_bytes <= way.entry_bytes && other.exit_bytes <= way.exit_bytes &&
                 other.relaxed <= way.relaxed && (other.sent & ~way.sent) == 0 &&
                 (other.fetched & ~way.fetched) == 0;
        });
    if (!beaten) ways[kept++] = way;
  }
  ways.resize(kept);
}

}  // namespace

CallBranches::CallBranches(const CallGraphFacts& facts, std::size_t module)
    : facts_(facts), items_(facts.items), lo_(facts.cuts[module]), hi_(facts.cuts[module + 1]) {
  usable_ = items_.poolCount() == 1 && items_.tie_count == 0 && findBranches();
  if (usable_) findShared();
}

bool CallBranches::findBranches() {
  const std::uint32_t last = hi_ - 1;
  for (std::uint32_t net = 0; net < items_.netCount(); ++net) {
    const auto consumers = items_.net_consumers[net];
    const std::uint32_t from = items_.net_producer[net];
    if (from >= lo_ && from < hi_ && items_.tail_bytes[net] > 0) return false;
    if (consumers.empty() || consumers.back() < lo_ || from >= hi_) continue;
    if (consumers.back() >= hi_ && from != last) return false;
    if (from >= lo_) continue;
    if (from + 1 != lo_ || items_.tail_bytes[net] > 0 || fork_nets_.size() == kMostForkNets) return false;
    if (std::find(consumers.begin(), consumers.end(), last) != consumers.end())
      join_reads_ |= static_cast<std::uint8_t>(1u << fork_nets_.size());
    fork_nets_.push_back(net);
  }
  UnionFind groups(hi_ - lo_);
  for (std::uint32_t i = lo_; i < hi_; ++i) {
    all_bytes_ += items_.bytes[i];
    if (i != last && !facts_.isAncestor(i, last)) return false;
    for (const std::uint32_t b : items_.before[i]) {
      if (b >= lo_ && i != last) groups.join(b - lo_, i - lo_);
    }
  }
  std::vector<std::vector<std::uint32_t>> members(hi_ - lo_);
  for (std::uint32_t i = lo_; i < last; ++i) members[groups.find(i - lo_)].push_back(i);
  for (auto& branch : members) {
    if (branch.empty()) continue;
    branches_.emplace_back(facts_, std::move(branch), last, fork_nets_);
    if (!branches_.back().usable()) return false;
  }
  return true;
}

// The fork is fetched once for the whole call: only one part of it pays.
void CallBranches::findShared() {
  shared_.resize(branches_.size());
  for (std::size_t r = 0; r < branches_.size(); ++r) {
    std::vector<double> least;
    double fork = kInfinity;
    for (std::size_t o = 0; o < branches_.size(); ++o) {
      if (o == r) continue;
      least.push_back(branches_[o].leastCallBesidesFork());
      fork = std::min(fork, branches_[o].leastCall() - branches_[o].leastCallBesidesFork());
    }
    std::sort(least.begin(), least.end());
    double sum = 0;
    for (const double seconds : least) {
      sum += seconds;
      if (sum == kInfinity) break;
      shared_[r].besides_reader.push_back(sum);
      shared_[r].besides.push_back(sum + fork);
    }
  }
}

CallCut CallBranches::openEntry() const {
  CallCut cut;
  cut.pool = 0;
  for (const std::uint32_t net : fork_nets_) cut.nets.emplace_back(net, kMade);
  return cut;
}

// By branch, what the branches up to it come to. `behind`: what follows in any case.
std::vector<std::vector<CallBranches::Joined>> CallBranches::join(const BranchRequest& request, double behind,
                                                                  const Budget& budget, bool& whole) {
  const std::size_t n = branches_.size();
  ways_.assign(n, {});
  std::vector<double> rest_shared(n + 1, 0), rest_middle(n + 1, 0), rest_both(n + 1, 0);
  std::vector<std::vector<Joined>> stages(n + 1);
  for (std::size_t r = 0; r < n; ++r) {
    whole = whole && branches_[r].run(request, shared_[r], budget);
    ways_[r] = branches_[r].ways();
    keepUseful(ways_[r]);
  }
  if (!whole) return stages;
  for (std::size_t r = n; r-- > 0;) {
    double shared = kInfinity, middle = kInfinity, both = kInfinity;
    for (const BranchWay& way : ways_[r]) {
      shared = std::min(shared, way.shared);
      middle = std::min(middle, way.middle);
      both = std::min(both, way.shared + way.middle);
    }
    rest_both[r] = std::max(shared + rest_both[r + 1], rest_shared[r + 1] + both);
    rest_shared[r] = rest_shared[r + 1] + shared;
    rest_middle[r] = std::max(rest_middle[r + 1], middle);
  }
  const double memory = items_.pools[0].memory;
  stages[0].push_back({});
  for (std::size_t r = 0; r < n; ++r) {
    for (std::uint32_t j = 0; j < stages[r].size(); ++j) {
      if (budget.stopped()) {
        whole = false;
        return stages;
      }
      const Joined& from = stages[r][j];
      for (std::uint32_t w = 0; w < ways_[r].size(); ++w) {
        const BranchWay& way = ways_[r][w];
        Joined to;
        to.shared = from.shared + way.shared;
        to.middle = std::max(from.middle, way.middle);
        to.shares = from.shares + way.shares;
        const std::uint32_t used = wholeCalls(to.shares);
        if (used + (request.takes_join ? 1 : 0) > request.most_calls) continue;
        const double least =
            std::max(to.shared + rest_shared[r + 1] + std::max(to.middle, rest_middle[r + 1]),
                     to.shared + rest_both[r + 1]);
        if (least + behind >= request.limit[used]) continue;
        to.entry_bytes = from.entry_bytes + way.entry_bytes;
        to.exit_bytes = from.exit_bytes + way.exit_bytes;
        if (to.entry_bytes > request.entry_room || to.exit_bytes > memory) continue;
        to.sent = from.sent | way.sent;
        to.fetched = from.fetched | way.fetched;
        to.relaxed = from.relaxed || way.relaxed;
        to.from = j;
        to.way = w;
        stages[r + 1].push_back(to);
      }
    }
    keepUseful(stages[r + 1]);
  }
  return stages;
}

// Turns what is joined into exits.
void CallBranches::leave(const BranchRequest& request, const ModuleLimits& limits,
                         const std::vector<std::vector<Joined>>& stages, ModuleExits& out) const {
  const std::uint32_t last = hi_ - 1;
  double sends = 0;
  for (const std::uint32_t net : items_.item_outputs[last]) {
    if (!items_.net_consumers[net].empty()) sends += items_.out(net, 0);
  }
  const double memory = items_.pools[0].memory;
  for (std::uint32_t j = 0; j < stages.back().size(); ++j) {
    const Joined& joined = stages.back()[j];
    CallExit exit;
    exit.time = joined.shared + joined.middle;
    for (std::size_t n = 0; n < fork_nets_.size(); ++n) {
      if (request.open && (((joined.sent | join_reads_) >> n) & 1) != 0)
        exit.time += items_.out(fork_nets_[n], 0);
      if (request.takes_join && (((joined.fetched | join_reads_) >> n) & 1) != 0)
        exit.time += items_.in(fork_nets_[n], 0);
    }
    exit.entry_bytes = joined.entry_bytes;
    exit.used = wholeCalls(joined.shares);
    exit.relaxed = joined.relaxed;
    if (!request.takes_join) {
      exit.time += items_.cpu[last];
      if (exit.time >= limitOf(limits.closed, exit.used)) continue;
      exit.step = addSteps(request, stages, j, out);
      out.exits.push_back(exit);
      continue;
    }
    exit.time += items_.onPool(last, 0);
    ++exit.used;
    if (exit.used > request.most_calls) continue;
    const double bytes = joined.exit_bytes + (request.count_exit_bytes ? items_.bytes[last] : 0);
    if (bytes > memory) continue;
    const bool opens = hi_ < items_.itemCount() && exit.time < limitOf(limits.open, exit.used);
    const bool closes = exit.time + sends < limitOf(limits.closed, exit.used);
    if (!opens && !closes) continue;
    exit.step = addSteps(request, stages, j, out);
    if (opens) {
      exit.cut = kOpenCut;
      exit.bytes = bytes + facts_.bytes_from[hi_] > memory ? bytes : 0;
      out.exits.push_back(exit);
    }
    if (closes) {
      exit.cut = kClosedCut;
      exit.bytes = 0;
      exit.time += sends;
      out.steps.push_back({exit.step, 0, CallStep::kClose, 0, 0});
      exit.step = static_cast<std::uint32_t>(out.steps.size() - 1);
      out.exits.push_back(exit);
    }
  }
}

std::uint32_t CallBranches::addSteps(const BranchRequest& request,
                                     const std::vector<std::vector<Joined>>& stages, std::uint32_t last,
                                     ModuleExits& out) const {
  if (stages.back()[last].relaxed) return 0;
  std::vector<CallBranch::Listing> parts(branches_.size());
  std::uint32_t at = last;
  for (std::size_t r = branches_.size(); r-- > 0;) {
    const Joined& joined = stages[r + 1][at];
    parts[r] = branches_[r].list(ways_[r][joined.way]);
    at = joined.from;
  }
  std::uint32_t step = 0;  // the root
  const auto add = [&](CallStep::Kind kind, std::uint32_t item) {
    out.steps.push_back({step, item, kind, 0, 0});
    step = static_cast<std::uint32_t>(out.steps.size() - 1);
  };
  if (request.open) {
    for (const auto& part : parts) {
      for (const std::uint32_t item : part.entry) add(CallStep::kAdd, item);
    }
    add(CallStep::kClose, 0);
  }
  for (const auto& branch : parts) {
    for (const CallBranch::Part& part : branch.middle) {
      for (std::size_t i = 0; i < part.items.size(); ++i)
        add(!part.is_call ? CallStep::kCpu : i == 0 ? CallStep::kOpen : CallStep::kAdd, part.items[i]);
      if (part.is_call) add(CallStep::kClose, 0);
    }
  }
  if (!request.takes_join) {
    add(CallStep::kCpu, hi_ - 1);
    return step;
  }
  CallStep::Kind kind = CallStep::kOpen;
  for (const auto& part : parts) {
    for (const std::uint32_t item : part.exit) {
      add(kind, item);
      kind = CallStep::kAdd;
    }
  }
  add(kind, hi_ - 1);
  return step;
}

// The call of the entry takes the whole module.
void CallBranches::passThrough(const ModuleLimits& limits, bool count_bytes, ModuleExits& out) const {
  const std::uint32_t last = hi_ - 1;
  CallExit exit;
  exit.time = items_.onPool(last, 0);
  for (const CallBranch& branch : branches_) exit.time += branch.allSeconds();
  const double memory = items_.pools[0].memory;
  if (limits.entry_bytes_least + all_bytes_ > memory || exit.time == kInfinity) return;
  exit.step = 0;
  for (std::uint32_t i = lo_; i < hi_; ++i) {
    out.steps.push_back({exit.step, i, CallStep::kAdd, 0, 0});
    exit.step = static_cast<std::uint32_t>(out.steps.size() - 1);
  }
  const bool fits = limits.entry_bytes_most + facts_.bytes_from[lo_] <= memory;
  if (hi_ < items_.itemCount() && exit.time < limitOf(limits.open, 0)) {
    exit.cut = kOpenCut;
    exit.goes_on = true;
    exit.bytes = count_bytes && !fits ? all_bytes_ : 0;
    out.exits.push_back(exit);
  }
  for (const std::uint32_t net : items_.item_outputs[last]) {
    if (!items_.net_consumers[net].empty()) exit.time += items_.out(net, 0);
  }
  if (exit.time >= limitOf(limits.closed, 0)) return;
  exit.cut = kClosedCut;
  exit.goes_on = false;
  exit.bytes = 0;
  exit.entry_bytes = count_bytes && !fits ? all_bytes_ : 0;
  out.steps.push_back({exit.step, 0, CallStep::kClose, 0, 0});
  exit.step = static_cast<std::uint32_t>(out.steps.size() - 1);
  out.exits.push_back(exit);
}

ModuleExits CallBranches::run(bool open, std::uint32_t most_calls, bool count_bytes,
                              const ModuleLimits& limits, const Budget& budget) {
  ModuleExits out;
  out.complete = true;
  out.cuts.resize(2);
  out.cuts[kOpenCut].pool = 0;
  for (const std::uint32_t net : items_.item_outputs[hi_ - 1]) {
    if (!items_.net_consumers[net].empty()) out.cuts[kOpenCut].nets.emplace_back(net, kMade);
  }
  out.steps.emplace_back();
  const double memory = items_.pools[0].memory;
  BranchRequest request;
  request.open = open;
  request.most_calls = most_calls;
  request.entry_room = open ? memory - limits.entry_bytes_least : 0;
  request.count_entry_bytes = count_bytes && open && limits.entry_bytes_most + all_bytes_ > memory;
  request.count_exit_bytes = count_bytes && facts_.bytes_from[lo_] > memory;
  for (const bool takes_join : {false, true}) {
    const double behind = takes_join ? items_.onPool(hi_ - 1, 0) : items_.cpu[hi_ - 1];
    if (behind == kInfinity) continue;
    request.takes_join = takes_join;
    request.limit.clear();
    for (std::uint32_t used = 0; used <= most_calls; ++used) {
      request.limit.push_back(takes_join
                                  ? std::max(limitOf(limits.closed, used + 1), limitOf(limits.open, used + 1))
                                  : limitOf(limits.closed, used));
    }
    const auto stages = join(request, behind, budget, out.complete);
    if (!out.complete) return out;
    for (const auto& stage : stages) out.labels += stage.size();
    leave(request, limits, stages, out);
  }
  if (open) passThrough(limits, count_bytes, out);
  return out;
}

}  // namespace allot
