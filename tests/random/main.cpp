// allot_random_check: random tiny problems through the library and through an enumeration of all plans.
//
//     allot_random_check [--count N] [--seed S] [--seconds T] [--goal G] [--features F] [--solver NAME]
//     [--limit L] [--out DIR] allot_random_check --file PROBLEM [--solver NAME] [--limit L]
//
// Problem i has the seed S + i, so that `--seed X --count 1` repeats one. Ends with 1 where an answer was
// wrong; each kind of wrong answer is cut down and written to DIR as a problem file with a line in
// DIR/findings.txt. docs/testing.md
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <unistd.h>

#include "allot/formats.h"
#include "allot/solve.h"
#include "random/generator.h"
#include "random/shrink.h"
#include "random/verdict.h"

namespace allot::tiny {
namespace {

struct Call {
  std::uint64_t count = 1000, seed = 1;
  double seconds = 1e9, limit = 0.3;
  Wish wish;
  std::string solver, out, file;
};

volatile std::uint64_t g_seed = 0;

// A crash names the problem it happened at.
void onCrash(int signal) {
  char text[] = "crash at seed 00000000000000000000\n";
  std::uint64_t seed = g_seed;
  for (std::size_t i = sizeof text - 3; text[i] != ' '; --i, seed /= 10)
    text[i] = static_cast<char>('0' + seed % 10);
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, sizeof text - 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

constexpr std::array<const char*, 8> kOutcomes{
    "refused", "too large to enumerate", "optimal", "infeasible", "open", "no plan", "unsuitable", "WRONG"};

class Run {
 public:
  explicit Run(const Call& call) : call_(call), begin_(std::chrono::steady_clock::now()) {}

  int all() {
    for (std::uint64_t i = 0; i < call_.count && elapsed() < call_.seconds; ++i) {
      one(call_.seed + i);
      if ((i + 1) % 10000 == 0) summary();
    }
    summary();
    return wrong_.empty() ? 0 : 1;
  }

 private:
  const Call& call_;
  std::chrono::steady_clock::time_point begin_;
  std::array<std::uint64_t, kOutcomes.size()> count_{};
  std::map<std::string, std::uint64_t> wrong_, open_;
  static constexpr std::uint64_t kMostWritten = 12;  // of one kind

  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  void one(std::uint64_t seed) {
    g_seed = seed;
    const Tiny tiny = generate(seed, call_.wish);
    Question question = questionFor(tiny, seed, call_.limit);
    if (!call_.solver.empty()) question.solver = call_.solver;
    const Verdict verdict = judge(tiny, question);
    ++count_[static_cast<std::size_t>(verdict.outcome)];
    if (verdict.outcome == Outcome::kWrong)
      report(tiny, question, verdict, seed, wrong_);
    else if (!unproven(verdict).empty() && question.solver.empty() && question.work_limit == 0 &&
             question.gap == 0 && !question.robust)
      report(tiny, question, verdict, seed, open_);
  }

  // What the portfolio should have found or proven, though it said nothing wrong.
  static std::string unproven(const Verdict& verdict) {
    if (verdict.outcome == Outcome::kNoPlan)
      return verdict.optimum ? "open-no-plan, though there is one" : "open-no-proof, that there is no plan";
    if (verdict.outcome != Outcome::kOpen) return "";
    return verdict.value > *verdict.optimum * (1 + 1e-9) ? "open-not-optimal" : "open-not-proven, optimal";
  }

  void report(const Tiny& tiny, const Question& question, const Verdict& verdict, std::uint64_t seed,
              std::map<std::string, std::uint64_t>& list) {
    const auto sort = [](const Verdict& v) { return v.outcome == Outcome::kWrong ? v.kind : unproven(v); };
    const std::string what = sort(verdict);
    const std::string kind = fmt::format("{} {}", name(*tiny.modes.goal), what);
    const std::string asked = fmt::format(
        "{}{}{}", question.solver.empty() ? "portfolio" : question.solver,
        question.work_limit > 0 ? fmt::format(", work limit {}", question.work_limit) : "",
        question.most_moves >= 0
            ? fmt::format(", max moves {} from {}", question.most_moves, fmt::join(question.start, " "))
            : "");
    if (++list[kind] > kMostWritten) return;
    fmt::print("seed {}, {}: {}: {}\n", seed, asked, kind, verdict.text);
    std::fflush(stdout);
    if (call_.out.empty()) return;
    Verdict last = verdict;
    const auto still = [&](const Tiny& candidate) {
      // The start names a device for each op.
      if (question.most_moves >= 0 &&
          (candidate.ops.size() != tiny.ops.size() || candidate.devices.size() != tiny.devices.size()))
        return false;
      const Verdict now = judge(candidate, question);
      if (now.outcome != verdict.outcome || sort(now) != what) return false;
      last = now;
      return true;
    };
    const Tiny small = shrink(tiny, still, 20);
    std::filesystem::create_directories(call_.out);
    const std::string file = fmt::format("{}-{}.json", what.substr(0, what.find(',')), seed);
    std::ofstream(std::filesystem::path(call_.out) / file) << toJson(small);
    std::ofstream(std::filesystem::path(call_.out) / "findings.txt", std::ios::app)
        << fmt::format("{}: {} (seed {}, {}): {}\n", file, kind, seed, asked, last.text);
  }

  void summary() const {
    fmt::print("{:.0f} s:", elapsed());
    for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
      if (count_[i] > 0) fmt::print(" {} {},", count_[i], kOutcomes[i]);
    }
    fmt::print("\n");
    for (const auto& [what, times] : open_) fmt::print("  {}: {}\n", what, times);
    for (const auto& [kind, times] : wrong_) fmt::print("  WRONG {}: {}\n", kind, times);
    std::fflush(stdout);
  }
};

int oneFile(const Call& call) {
  std::ifstream stream(call.file);
  std::stringstream text;
  text << stream.rdbuf();
  Warnings warnings;
  const Result<Problem> problem = readProblem(text.str(), call.file, {}, nullptr, warnings);
  if (!problem) {
    fmt::print("{}\n", problem.error().text());
    return 2;
  }
  if (problem->opCount() > 12 || problem->deviceCount() > 8) {
    fmt::print("{}: more than 12 ops or 8 devices are too many to enumerate\n", call.file);
    return 2;
  }
  Question question;
  question.solver = call.solver;
  question.seconds = call.limit;
  const Verdict verdict = judge(fromProblem(*problem), question);
  fmt::print("{}: {} {}\n", call.file, kOutcomes[static_cast<std::size_t>(verdict.outcome)],
             verdict.outcome == Outcome::kWrong ? verdict.kind + ": " + verdict.text : "");
  if (verdict.optimum)
    fmt::print("optimum {}, the library's value {}, bound {}\n", *verdict.optimum, verdict.value,
               verdict.bound);
  return verdict.outcome == Outcome::kWrong ? 1 : 0;
}

// Throws where a number is none.
bool parse(int argc, char** argv, Call& call) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    if (key == "--count") {
      call.count = std::stoull(value);
    } else if (key == "--seed") {
      call.seed = std::stoull(value);
    } else if (key == "--seconds") {
      call.seconds = std::stod(value);
    } else if (key == "--limit") {
      call.limit = std::stod(value);
    } else if (key == "--solver") {
      call.solver = value;
      if (findSolver(value) == nullptr) return false;
    } else if (key == "--out") {
      call.out = value;
    } else if (key == "--file") {
      call.file = value;
    } else if (key == "--features") {
      const auto features = featuresFromText(value);
      if (!features) return false;
      call.wish.features = *features;
    } else if (key == "--goal") {
      for (const Goal goal : {Goal::kThroughput, Goal::kLatency, Goal::kCompletion}) {
        if (value == name(goal)) call.wish.goal = goal;
      }
      if (!call.wish.goal) return false;
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

}  // namespace
}  // namespace allot::tiny

int main(int argc, char** argv) {
  allot::tiny::Call call;
  bool understood = false;
  try {
    understood = allot::tiny::parse(argc, argv, call);
  } catch (const std::exception&) {
  }
  if (!understood) {
    fmt::print(
        stderr,
        "usage: allot_random_check [--count N] [--seed S] [--seconds T] [--goal "
        "throughput|latency|completion]\n"
        "       [--features all|none|live,blocks,sync,inputs,fractions] [--solver NAME] [--limit SECONDS] "
        "[--out DIR] [--file PROBLEM]\n");
    return 2;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) std::signal(signal, allot::tiny::onCrash);
  return call.file.empty() ? allot::tiny::Run(call).all() : allot::tiny::oneFile(call);
}
