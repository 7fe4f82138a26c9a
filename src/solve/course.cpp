#include "solve/course.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "solve/throughput/boundary_bound.h"
#include "solve/throughput/chain_engine.h"
#include "solve/throughput/convex_search.h"
#include "solve/throughput/free_search.h"
#include "solve/throughput/packing_bound.h"

namespace allot {
namespace {

struct Share {
  std::string_view solver;
  double chain;  // contiguous stages, small enough for the exact engine
  double large;  // contiguous stages, too large for it
  double convex;
  double free;  // no contiguity
};

constexpr std::array<Share, 10> kShares{{
    {"linear-dp", 0.1, 0.4, 0.05, 0.05},
    {"boundary-bound", 0.1, 0, 0, 0},
    {"chain", 0.05, 0, 0.05, 0.05},
    {"convex", 0, 0, 0.4, 0},
    {"beam", 0.05, 0.1, 0, 0},
    {"multilevel", 0.2, 0.4, 0, 0},
    {"free-search", 0, 0, 0, 0.35},
    {"spread-bound", 0.15, 0.25, 0.15, 0.15},
    {"packing-bound", 0.3, 0, 0.3, 0.25},
    {"local-search-restarts", 0.1, 0, 0.1, 0.1},
}};

// Of search and of proof by prices without contiguity, before the patient ones. Often the first plans are
// optimal already: then a proof costs less than to be sure that nothing better is found.
struct HastyTurn {
  double search_share, search, proof_share, proof;  // of the time, and of their patience
};
constexpr std::array<HastyTurn, 2> kHasty{{{0.02, 0.003, 0.1, 0.25}, {0.07, 0.03, 0.12, 0.33}}};
// Turns behind all other solvers, and what each may take for search.
constexpr std::uint32_t kMoreTurns = 12;
constexpr double kMoreSearch = 0.2;
// Of linear-dp where it only has to find a cut-off for the exact engine, or a plan to begin with.
constexpr double kCutOffOnly = 0.1, kStartOnly = 0.05;
// Of boundary-bound where it comes behind the search.
constexpr double kLateBoundary = 0.05;
// Units up to which linear-dp only has to find a cut-off for the exact engine.
constexpr std::size_t kSurelyExact = 500;

// Most proofs of chains that come to an end at all do so within this time.
constexpr double kFirstProofSeconds = 3;

// Latency by events: parts that can be solved exactly are proven within seconds, by refutation or by their
// Pareto fronts; the others live by search and refutation in turn, for each needs the other's best value.
struct Turn {
  std::string_view solver;
  double share;
};
constexpr std::array<Turn, 8> kEventTurns{{
    {"schedule-bound", 0.15},
    {"schedule-exact", 0.15},
    {"modules", 0.15},
    {"pesto", 0.05},
    {"coarse", 0.05},
    {"schedule-search", 0.4},
    {"schedule-bound", 0.35},
    {"cp-sat-schedule", 1},
}};

bool isEvents(const Problem& problem) {
  return problem.goal() == Goal::kLatency && problem.modes.model == LatencyModel::kEvents;
}

double shareOf(const Problem& problem, std::string_view solver) {
  if (problem.goal() == Goal::kCompletion)
    return solver == "weighted-speedup"    ? 0.1
           : solver == "completion-exact"  ? 0.2
           : solver == "completion-search" ? 0.6
                                           : 1;
  if (problem.goal() != Goal::kThroughput) return 1;
  const bool chain = problem.modes.contiguity == Contiguity::kChain;
  for (const Share& share : kShares) {
    if (share.solver != solver) continue;
    if (chain) return chainAccepts(problem) ? share.chain : share.large;
    return problem.modes.contiguity == Contiguity::kConvex ? share.convex : share.free;
  }
  return 1;
}

CourseStep* find(std::vector<CourseStep>& course, std::string_view solver) {
  const auto found = std::find_if(course.begin(), course.end(),
                                  [&](const CourseStep& step) { return step.solver->name == solver; });
  return found == course.end() ? nullptr : &*found;
}

// Contiguous stages: what is not proven soon takes all the time there is, and less of it from a better plan.
void addChainTurns(const Problem& problem, std::vector<CourseStep>& course) {
  if (CourseStep* exact = find(course, "chain")) {
    exact->least_seconds = kFirstProofSeconds;
    if (problem.unitCount() <= kSurelyExact) find(course, "linear-dp")->patience = kCutOffOnly;
    course.push_back({.solver = exact->solver, .share = 1, .turn = 1});
  } else if (boundaryBoundAccepts(problem)) {
    course.push_back({.solver = findSolver("boundary-bound"), .share = kLateBoundary});
  }
  course.push_back({.solver = findSolver("multilevel"), .share = 1, .turn = 1});
}

// No contiguity: hasty turns of search and proof end most problems; what time is left goes to more turns, for
// both need luck.
void addFreeTurns(std::vector<CourseStep>& course) {
  if (find(course, "free-search") == nullptr || find(course, "packing-bound") == nullptr) return;
  // The proof that follows soon begins with it.
  std::erase_if(course, [](const CourseStep& step) { return step.solver->name == "item-bound"; });
  std::vector<CourseStep> chain;
  if (CourseStep* exact = find(course, "chain")) {
    find(course, "linear-dp")->patience = kStartOnly;
    chain.push_back(*exact);
    course.erase(course.begin() + (exact - course.data()));
  }
  CourseStep *search = find(course, "free-search"), *proof = find(course, "packing-bound");
  std::vector<CourseStep> first;
  for (std::uint32_t turn = 0; turn < kHasty.size(); ++turn) {
    const HastyTurn& hasty = kHasty[turn];
    first.push_back(
        {.solver = search->solver, .share = hasty.search_share, .turn = turn, .patience = hasty.search});
    first.push_back(
        {.solver = proof->solver, .share = hasty.proof_share, .turn = turn, .patience = hasty.proof});
    // The best chain is a start that most problems are solved without.
    if (turn == 0) first.insert(first.end(), chain.begin(), chain.end());
  }
  search->turn = proof->turn = kHasty.size();
  std::vector<CourseStep> more{{.solver = proof->solver, .share = 1, .turn = proof->turn + 1}};
  for (std::uint32_t turn = 1; turn <= kMoreTurns; ++turn) {
    more.push_back({.solver = search->solver, .share = kMoreSearch, .turn = search->turn + turn});
    more.push_back({.solver = proof->solver, .share = 1, .turn = proof->turn + 1 + turn});
  }
  course.insert(course.begin() + (search - course.data()), first.begin(), first.end());
  course.insert(course.end(), more.begin(), more.end());
}

}  // namespace

std::vector<CourseStep> courseOf(const Problem& problem) {
  std::vector<CourseStep> course;
  const auto add = [&](const Solver& solver, double share) {
    if (share > 0 && solver.accepts(problem)) course.push_back({.solver = &solver, .share = share});
  };
  const bool events = isEvents(problem);
  // On small graphs this rule takes milliseconds, and what comes behind the exact engine may take all the
  // time.
  constexpr std::string_view kRestarts = "local-search-restarts";
  // There free-search takes its place.
  const bool free = freeSearchAccepts(problem);
  const bool small = problem.goal() == Goal::kThroughput && problem.unitCount() <= 100 && !free;
  for (const Solver& solver : solvers()) {
    const bool has_turns = std::any_of(kEventTurns.begin(), kEventTurns.end(),
                                       [&](const Turn& turn) { return turn.solver == solver.name; });
    // The search of these engines has taken the place of plain annealing.
    if (events && (has_turns || solver.name == "local-search")) continue;
    if (small && solver.name == "exhaustive") add(*findSolver(kRestarts), shareOf(problem, kRestarts));
    if ((small || free) && solver.name == kRestarts) continue;
    add(solver, shareOf(problem, solver.name));
  }
  for (const Turn& turn : kEventTurns) {
    if (events) add(*findSolver(turn.solver), turn.share);
  }
  if (problem.goal() != Goal::kThroughput) return course;
  if (problem.modes.contiguity == Contiguity::kChain) addChainTurns(problem, course);
  addFreeTurns(course);
  return course;
}

std::string chosenMethod(const Problem& problem) {
  if (isEvents(problem))
    return "parts between ops that others wait for exactly, then search and refutation in turn: ops are "
           "events";
  if (problem.goal() == Goal::kLatency) return "labels over ideals: accelerators run subgraphs as calls";
  if (problem.goal() == Goal::kCompletion)
    return "two chains or a few ops exactly, else plans at prices of device time: models share the devices";
  const std::size_t units = problem.unitCount();
  if (problem.modes.contiguity == Contiguity::kChain) {
    if (!chainAccepts(problem)) {
      return fmt::format(
          "orders and multilevel moves: stages are contiguous, but {} units are too many to search all "
          "ideals",
          units);
    }
    return problem.transfers() == Transfers::kViaHost
               ? fmt::format("exact search over ideals: stages are contiguous and there are {} units", units)
               : "search over ideals for a bound, then moves: by-link loads depend on where tensors go";
  }
  if (convexSearchAccepts(problem))
    return "local search, with bounds by branch and bound over convex sets and by prices";
  if (freeSearchAccepts(problem))
    return "moves of whole clusters, then proof by prices: devices may hold any units";
  return packingBoundAccepts(problem) ? "local search, with a bound by prices" : "local search";
}

}  // namespace allot
