// What the command line says, and the tables it is declared in.
//
// Verbs and options are rows of two tables; the parser, the help texts and the completion scripts are all
// made from them (and from the library's option table, allot/options.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot::cli {

struct Arguments {
  std::string verb;
  std::vector<std::string> inputs;  // positional, in order
  // Options of the library's table, `--set` first, then by name.
  std::vector<std::pair<std::string, std::string>> options;

  std::string config, from, time_unit, cluster, start, output, to, op, noise, events, solvers, pack, link,
      times;
  std::vector<std::string> set, pin, forbid, together, dim;
  bool merge_edges = false, json = false, quiet = false, verbose = false, options_doc = false;
  bool table = false, prove = false, strict = false, man_page = false, measure = false;
};

// Families of options a verb takes.
enum Family : unsigned {
  kJson = 1,
  kOutput = 2,
  kReading = 4,      // how inputs are read
  kConstraints = 8,  // pin, forbid, together
  kModes = 16,       // library options that fix what a value means
  kRun = 32,         // library options that steer the search
  kStart = 64,
  kNoise = 128,
  kSolvers = 256,
  kOp = 512,
  kTo = 1024,
  kOptionsDoc = 2048,
  kTable = 4096,
  kProve = 8192,
  kDevices = 16384,  // options of `allot devices`
  kEvents = 32768,
  kStrict = 65536,
};

struct Verb {
  std::string_view name;
  std::string_view summary;
  std::string_view positional;            // name of the positional arguments; "" = none
  unsigned least, most;                   // how many of them; most 0 = no limit
  std::vector<std::string_view> choices;  // of the positional; empty = a file
  unsigned families;
  std::string_view examples;  // one per line, without "allot"
  int (*run)(const Arguments&);
};

// An option of the command alone; exactly one of the members is set.
struct CommandOption {
  std::string_view name;  // without dashes
  char letter;            // 0 = none
  std::string_view value_name;
  std::string_view help;
  std::vector<std::string_view> choices;
  unsigned family;  // 0 = every verb
  std::string Arguments::*text = nullptr;
  bool Arguments::*flag = nullptr;
  std::vector<std::string> Arguments::*list = nullptr;
};

std::span<const Verb> verbs();
std::span<const CommandOption> commandOptions();

// Fills `arguments`; an exit code when the program is to end at once (help, usage error).
std::optional<int> parseArguments(int argc, char** argv, Arguments& arguments);

std::string completionScript(std::string_view shell);

int runImport(const Arguments&);
int runPlan(const Arguments&);
int runCheck(const Arguments&);
int runSimulate(const Arguments&);
int runCompare(const Arguments&);
int runAffinity(const Arguments&);
int runDevices(const Arguments&);
int runExplain(const Arguments&);
int runReport(const Arguments&);
int runExport(const Arguments&);
int runDemo(const Arguments&);
int runCompletion(const Arguments&);
int runVersion(const Arguments&);

}  // namespace allot::cli
