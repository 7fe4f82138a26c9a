// The only file that knows the command-line parser.
#include "arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <deque>
#include <sstream>

#include "allot/options.h"
#include "allot/version.h"
#include "common.h"

namespace allot::cli {
namespace {

std::string valueText(std::string_view value_name, const std::vector<std::string_view>& choices) {
  return choices.empty() ? std::string(value_name) : fmt::format("{}", fmt::join(choices, "|"));
}

std::string flagNames(const CommandOption& option) {
  const std::string long_name = fmt::format("--{}", option.name);
  return option.letter != 0 ? fmt::format("-{},{}", option.letter, long_name) : long_name;
}

void addCommandOptions(CLI::App& app, unsigned families, Arguments& arguments) {
  for (const CommandOption& option : commandOptions()) {
    if (option.family != 0 && (option.family & families) == 0) continue;
    const std::string help(option.help);
    if (option.flag != nullptr) {
      app.add_flag(flagNames(option), arguments.*option.flag, help);
      continue;
    }
    CLI::Option* added = nullptr;
    if (option.text != nullptr) {
      added = app.add_option(flagNames(option), arguments.*option.text, help)->take_last();
    } else {
      added = app.add_option(flagNames(option), arguments.*option.list, help)
                  ->allow_extra_args(false)
                  ->take_all();
    }
    added->type_name(std::string(option.value_name));
    if (!option.choices.empty()) {
      added->check(CLI::IsMember(std::vector<std::string>(option.choices.begin(), option.choices.end())));
    }
  }
}

// One value per row of the library's table; empty = not given.
using Values = std::deque<std::string>;

void addLibraryOptions(CLI::App& app, const Verb& verb, Values& values) {
  std::size_t row = 0;
  for (const OptionSpec& spec : optionTable()) {
    std::string& value = values[row++];
    const bool run = spec.scope == OptionScope::kRun;
    if ((verb.families & (run ? kRun : kModes)) == 0) continue;
    const std::string flag = fmt::format("--{}", spec.name);
    CLI::Option* added = spec.value_name.empty()
                             ? app.add_flag(flag, value, std::string(spec.help))
                             : app.add_option(flag, value, std::string(spec.help))->take_last();
    if (!spec.value_name.empty()) added->type_name(valueText(spec.value_name, spec.choices));
    switch (spec.scope) {
      case OptionScope::kAll:
        added->group("Modes of every goal");
        break;
      case OptionScope::kThroughput:
        added->group("Modes of throughput");
        break;
      case OptionScope::kLatency:
        added->group("Modes of latency");
        break;
      case OptionScope::kCompletion:
        added->group("Modes of completion");
        break;
      case OptionScope::kLatencyAndCompletion:
        added->group("Modes of latency and completion");
        break;
      case OptionScope::kRun:
        added->group("Search");
        break;
    }
  }
}

std::string footerOf(const Verb& verb) {
  std::string text = "Examples:";
  std::string_view rest = verb.examples;
  while (!rest.empty()) {
    const std::size_t line_end = std::min(rest.find('\n'), rest.size());
    text += fmt::format("\n  allot {}", rest.substr(0, line_end));
    rest.remove_prefix(std::min(line_end + 1, rest.size()));
  }
  return text;
}

// Splits "name=value" texts of --set; false on a malformed one.
bool takeSettings(Arguments& arguments) {
  for (const std::string& setting : arguments.set) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      printError({ErrorCode::kUsage, "", "--set", fmt::format("\"{}\" is not NAME=VALUE", setting),
                  "write for example --set gap=1%"});
      return false;
    }
    arguments.options.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return true;
}

}  // namespace

std::optional<int> parseArguments(int argc, char** argv, Arguments& arguments) {
  CLI::App app(
      "Allot decides where every operator of a neural network runs on unlike devices, with a proven bound.",
      "allot");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("allot {} ({})", ALLOT_VERSION, ALLOT_GIT_HASH));
  app.footer(
      "Try `allot demo`, then `allot plan --help`.\n"
      "Exit codes: 0 done, with a plan where one was asked for, 2 usage, 3 unreadable or invalid input,\n"
      "4 infeasible, 5 a plan, but stopped by the user or short of the gap under --strict, 6 no plan found,\n"
      "7 mismatch, 1 internal error.");
  Values values(optionTable().size());
  for (const Verb& verb : verbs()) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->footer(footerOf(verb));
    if (!verb.positional.empty()) {
      CLI::Option* files =
          sub->add_option(verb.name == "completion" ? "shell"
                          : verb.choices.empty()    ? "files"
                                                    : "action",
                          arguments.inputs, verb.choices.empty() ? "- is standard input" : "");
      files->required()->type_name(valueText(verb.positional, verb.choices));
      files->expected(static_cast<int>(verb.least),
                      verb.most == 0 ? CLI::detail::expected_max_vector_size : static_cast<int>(verb.most));
    }
    // Those of the verb that is named only: to make all of them takes as long as to load the program.
    sub->preparse_callback([&, sub](std::size_t) {
      addCommandOptions(*sub, verb.families, arguments);
      addLibraryOptions(*sub, verb, values);
    });
    sub->callback([&arguments, &verb] { arguments.verb = verb.name; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    std::ostringstream text;
    app.exit(done, text, text);
    const auto printed = print(text.str());
    return printed ? kExitOk : printError(printed.error());
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "allot" : "allot " + chosen.front()->get_name();
    printError({ErrorCode::kUsage, "", command, error.what(), fmt::format("see {} --help", command)});
    return kExitUsage;
  }
  if (!takeSettings(arguments)) return kExitUsage;
  std::size_t row = 0;
  for (const OptionSpec& spec : optionTable()) {
    if (!values[row].empty()) arguments.options.emplace_back(spec.name, values[row]);
    ++row;
  }
  return std::nullopt;
}

}  // namespace allot::cli
