// What the library says of a tiny problem against the enumeration of all plans.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "random/tiny.h"

namespace allot::tiny {

// How the library is asked; a finding is repeated with the same.
struct Question {
  std::string solver;  // empty = the portfolio
  double seconds = 0.3;
  std::uint64_t work_limit = 0;
  std::uint64_t seed = 1;
  double gap = 0;
  bool prove = false;  // the library's plan a second time
  bool warm = false;   // from some plan of the enumeration, good or not
  bool robust = false;
  std::uint32_t threads = 1;
  bool files = false;   // the problem as a file, and back
  int most_moves = -1;  // completion: from a plan that keeps every op where `start` puts it; -1 = any
  std::vector<int> start;
};

enum class Outcome {
  kNoProblem,   // the library refuses it
  kTooLarge,    // the enumeration gave up
  kOptimal,     // proven, and right
  kInfeasible,  // proven, and right
  kOpen,        // a right plan, not proven
  kNoPlan,      // none found, none proven impossible
  kUnsuitable,  // the solver does not take the problem
  kWrong,
};

struct Verdict {
  Outcome outcome = Outcome::kNoProblem;
  std::string kind;  // of a wrong answer: what sort, the same for answers that are wrong in the same way
  std::string text;
  std::string refusal;            // of kNoProblem
  std::optional<double> optimum;  // of the enumeration
  double value = 0, bound = 0;    // of the library
  bool limited = false;           // in moves
};

Verdict judge(const Tiny& tiny, const Question& question);

// How to ask about the problem of a seed.
Question questionFor(const Tiny& tiny, std::uint64_t seed, double seconds);

}  // namespace allot::tiny
