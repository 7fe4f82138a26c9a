// A plan as one HTML file that needs nothing else: `allot report`.
//
// Problem: show a person what goes where, how fast it will be, how good that is, and why.
// Method: a template, a style sheet and plain JavaScript (web/, compiled in) around one block of compact
// data. Guarantee: the file asks for nothing from any network (its content security policy forbids it), and
// text from the problem reaches the page as text only: data is JSON with every `<` escaped. Complexity:
// linear in ops, tensors and transfers, and at most `what_if_seconds` or so for new plans; some 70 bytes per
// op.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// A plan by another rule, to compare with; only its figures are shown.
struct ReportBaseline {
  std::string name;
  Status status = Status::kNoPlan;
  double value = 0;  // seconds; read only where there is a plan
};

struct ReportOptions {
  // For all new plans of the what-if table together; 0 = only value this plan on the changed hardware.
  double what_if_seconds = 3;
  std::uint32_t threads = 0;
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop_flag = nullptr;
  std::vector<ReportBaseline> baselines;
};

// Problems above this get no what-if table: each of its rows plans the whole problem anew.
inline constexpr std::size_t kMostWhatIfOps = 20000;

// `plan` must be complete and evaluated (value, devices, and schedule or stages filled in).
std::string writeReport(const Problem& problem, const Plan& plan, const ReportOptions& options);

}  // namespace allot
