// What all verbs share: exit codes, messages, reading inputs, options and constraints.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allot/cost.h"
#include "allot/formats.h"
#include "allot/options.h"
#include "allot/plan.h"
#include "allot/problem.h"
#include "allot/result.h"
#include "arguments.h"

namespace allot::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitInternal = 1,
  kExitUsage = 2,
  kExitBadInput = 3,
  kExitInfeasible = 4,
  kExitCutShort = 5,  // a plan, but the user ended the search, or the gap asked for under --strict is not met
  kExitNoPlan = 6,
  kExitMismatch = 7,
};

int exitCodeOf(ErrorCode code);
// One line on standard error; returns the exit code that belongs to it.
int printError(const Error& error);
// Text on standard error, as it is; lost where nobody can read it.
void note(std::string_view text);

inline tl::unexpected<Error> usageError(std::string where, std::string message, std::string remedy) {
  return fail({ErrorCode::kUsage, {}, std::move(where), std::move(message), std::move(remedy)});
}

// A finished problem with the modes and constraints of config file and command line.
struct Task {
  Problem problem;
  Options options;
};
// The same with a plan for it, whose modes come between the problem's and the command line's.
struct PlannedTask {
  Problem problem;
  Options options;
  Plan plan;
};

Result<Task> loadTask(const Arguments& arguments);
// The last positional argument is the plan.
Result<PlannedTask> loadPlannedTask(const Arguments& arguments);
Result<Plan> loadPlan(const Arguments& arguments, const std::string& path, const Problem& problem);
Result<Plan> parsePlan(const Arguments& arguments, const std::string& text, const std::string& file,
                       const Problem& problem);
// Fails with an op's name when the plan leaves one without a device.
Result<void> requireComplete(const Problem& problem, const Plan& plan, const std::string& file);

// How inputs are to be read, and what stands in other files for that.
struct InputOptions {
  ReadOptions read;
  std::optional<Cluster> cluster;           // a file, or devices named on the command line
  std::unique_ptr<MeasuredTimes> measured;  // `read` points to it
};
Result<InputOptions> inputOptions(const Arguments& arguments);

// An error that names no file names this one.
template <class T>
Result<T> inFile(Result<T> result, const std::string& file) {
  if (result || !result.error().file.empty()) return result;
  Error error = std::move(result).error();
  error.file = file;
  return fail(std::move(error));
}

// Adds config file and command line to `options`, and puts the modes into force. An option of the call that
// means nothing here is refused; of what files say for other goals the user is warned.
Result<void> adoptOptions(const Arguments& arguments, Options& options, Problem& problem);
// The same where there is no problem to judge by.
Result<void> applyOptions(const Arguments& arguments, Options& options);
// Refuses an arithmetic that times were not made for: options cannot change times once they are read.
Result<void> requireArithmetic(const Options& options, std::optional<DataType> of_times);
void printWarnings(const Arguments& arguments, const std::string& file, const Warnings& warnings);

// "-" under the name it has in messages.
std::string displayName(const std::string& path);
// Fails early when a file cannot be written there, so that no long search is lost.
Result<void> checkWritable(const std::string& path);
// Standard output in one write.
Result<void> print(std::string_view text);

// Columns padded to their widest cell: the first one and remarks (no header) to the left, the others to the
// right.
std::string tableText(const std::vector<std::vector<std::string>>& rows);
// Bold on a terminal, unless NO_COLOR is set.
std::string heading(std::string_view text);
bool progressWanted(const Arguments& arguments);

// "12.5 ms per sample, 80 per second" in the words of the goal.
std::string valueText(Goal goal, double value);
std::string perSecondText(double value);
std::string percentText(double share);
// A written JSON object with one more member, itself JSON or a list of texts.
std::string withMember(std::string document, std::string_view key, std::string_view json);
std::string withList(std::string document, std::string_view key, const std::vector<std::string>& lines);

}  // namespace allot::cli
