#include "common.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/file_io.h"
#include "base/json_writer.h"
#include "base/units.h"

namespace allot::cli {
namespace {

bool colourWanted(int stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color != nullptr && *no_color != 0) return false;
  return isatty(stream) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

int exitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return kExitUsage;
    case ErrorCode::kBadInput:
      return kExitBadInput;
    case ErrorCode::kInfeasible:
      return kExitInfeasible;
    case ErrorCode::kNoPlan:
      return kExitNoPlan;
    case ErrorCode::kMismatch:
      return kExitMismatch;
    case ErrorCode::kInternal:
      return kExitInternal;
  }
  return kExitInternal;
}

void note(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int printError(const Error& error) {
  note(error.text() + "\n");
  return exitCodeOf(error.code);
}

void printWarnings(const Arguments& arguments, const std::string& file, const Warnings& warnings) {
  if (arguments.quiet) return;
  constexpr std::size_t kShown = 20;
  std::size_t shown = 0;
  for (const std::string& warning : warnings) {
    if (shown == kShown && !arguments.verbose) {
      note(fmt::format("allot: warning: {}: and {} more; -v shows them\n", file, warnings.size() - shown));
      return;
    }
    const Error line{ErrorCode::kBadInput, "allot: warning", file, warning, ""};  // keeps it to one line
    note(fmt::format("{}\n", line.text()));
    ++shown;
  }
}

std::string displayName(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

Result<void> checkWritable(const std::string& path) {
  if (path.empty() || path == "-") return {};
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (access(folder.c_str(), W_OK) == 0 || access(path.c_str(), W_OK) == 0) return {};
  return fail({ErrorCode::kBadInput, path, "", "cannot write: the folder is missing or not writable",
               "choose a path in a writable folder"});
}

Result<void> print(std::string_view text) {
  return writeFile("-", text);
}

std::string tableText(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    if (row.size() > width.size()) width.resize(row.size());
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool left = c == 0 || rows.front()[c].empty();
      line += left ? fmt::format("{}{:<{}}", c == 0 ? " " : "  ", row[c], width[c])
                   : fmt::format("  {:>{}}", row[c], width[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string heading(std::string_view text) {
  return colourWanted(STDOUT_FILENO) ? fmt::format("\033[1m{}\033[0m", text) : std::string(text);
}

bool progressWanted(const Arguments& arguments) {
  return !arguments.quiet && isatty(STDERR_FILENO) != 0;
}

std::string perSecondText(double value) {
  return value > 0 && std::isfinite(value) ? fmt::format("{:.4g}", 1 / value) : std::string("-");
}

std::string percentText(double share) {
  return fmt::format("{:.3g}%", 100 * share);
}

std::string valueText(Goal goal, double value) {
  const std::string seconds = secondsText(value);
  switch (goal) {
    case Goal::kThroughput:
      return fmt::format("{} per sample, {} samples per second", seconds, perSecondText(value));
    case Goal::kLatency:
      return fmt::format("{} for one sample, {} per second one after another", seconds, perSecondText(value));
    case Goal::kCompletion:
      return fmt::format("{} summed over the models' completions", seconds);
  }
  return seconds;
}

std::string withMember(std::string document, std::string_view key, std::string_view json) {
  document.erase(document.rfind('}'));
  document.erase(document.find_last_not_of(" \n") + 1);
  return fmt::format("{},\n  \"{}\": {}\n}}\n", document, key,
                     json.substr(0, json.find_last_not_of('\n') + 1));
}

std::string withList(std::string document, std::string_view key, const std::vector<std::string>& lines) {
  JsonWriter list;
  list.beginArray();
  for (const std::string& line : lines) list.value(line);
  list.endArray();
  return withMember(std::move(document), key, list.take());
}

}  // namespace allot::cli
