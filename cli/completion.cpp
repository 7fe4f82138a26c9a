// allot completion and allot version: what the tables say, for shells and for people.
#include <fmt/format.h>

#include <string>

#include "allot/options.h"
#include "allot/version.h"
#include "base/json_writer.h"
#include "common.h"
#include "man_page.h"
#include "report/options_doc.h"

namespace allot::cli {
namespace {

// An option as a shell sees it.
struct Offer {
  std::string name;  // with dashes
  char letter = 0;
  bool takes_value = false;
  std::string_view help;
  std::vector<std::string_view> choices;
};

std::vector<Offer> offersOf(const Verb& verb) {
  std::vector<Offer> offers{{"--help", 'h', false, "print this help", {}}};
  for (const CommandOption& option : commandOptions()) {
    if (option.family != 0 && (option.family & verb.families) == 0) continue;
    offers.push_back({fmt::format("--{}", option.name), option.letter, option.flag == nullptr, option.help,
                      option.choices});
  }
  for (const OptionSpec& spec : optionTable()) {
    if ((verb.families & (spec.scope == OptionScope::kRun ? kRun : kModes)) == 0) continue;
    offers.push_back({fmt::format("--{}", spec.name), 0, !spec.value_name.empty(), spec.help, spec.choices});
  }
  return offers;
}

std::string verbNames() {
  std::string names;
  for (const Verb& verb : verbs()) names += fmt::format("{}{}", names.empty() ? "" : " ", verb.name);
  return names;
}

// Single quotes for a shell; colons and brackets are separators for zsh.
std::string quoted(std::string_view text, bool zsh) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (zsh && (c == ':' || c == '[' || c == ']'))
      out += fmt::format("\\{}", c);
    else
      out += c;
  }
  return out + "'";
}

std::string bashScript() {
  std::string text = "# bash completion of allot; made by `allot completion bash`.\n_allot() {\n";
  text +=
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\"\"\n";
  text += fmt::format(
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"{} --help --version\" -- "
      "\"$current\"))\n    return\n  fi\n",
      verbNames());
  text += "  case \"${COMP_WORDS[1]} $previous\" in\n";
  for (const Verb& verb : verbs()) {
    for (const Offer& offer : offersOf(verb)) {
      if (offer.choices.empty()) continue;
      text += fmt::format("    \"{} {}\") words=\"{}\" ;;\n", verb.name, offer.name,
                          fmt::join(offer.choices, " "));
    }
  }
  text +=
      "  esac\n  if [ -n \"$words\" ]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n    "
      "return\n  fi\n";
  text += "  case \"${COMP_WORDS[1]}\" in\n";
  for (const Verb& verb : verbs()) {
    std::string names;
    for (const Offer& offer : offersOf(verb)) {
      names += fmt::format("{}{}", names.empty() ? "" : " ", offer.name);
      if (offer.letter != 0) names += fmt::format(" -{}", offer.letter);
    }
    if (!verb.choices.empty()) names += fmt::format(" {}", fmt::join(verb.choices, " "));
    text += fmt::format("    {}) words=\"{}\" ;;\n", verb.name, names);
  }
  text += "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n";
  text += "  case \"$current\" in -*) ;; *) COMPREPLY+=($(compgen -f -- \"$current\")) ;; esac\n}\n";
  return text + "complete -o filenames -F _allot allot\n";
}

std::string zshScript() {
  std::string text =
      "#compdef allot\n# zsh completion of allot; made by `allot completion zsh`.\n_allot() {\n  local -a "
      "verbs\n  verbs=(\n";
  for (const Verb& verb : verbs()) {
    const std::string summary = quoted(verb.summary, true);
    text += fmt::format("    '{}:{}\n", verb.name, summary.substr(1));
  }
  text +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe 'verb' verbs\n    return\n  fi\n  local "
      "verb=\"${words[2]}\"\n  shift words\n  (( CURRENT-- ))\n  case \"$verb\" in\n";
  for (const Verb& verb : verbs()) {
    text += fmt::format("    {})\n      _arguments -S", verb.name);
    for (const Offer& offer : offersOf(verb)) {
      const std::string help = quoted(offer.help, true);
      const std::string note = fmt::format("[{}]", help.substr(1, help.size() - 2));
      const std::string value = !offer.takes_value ? ""
                                : offer.choices.empty()
                                    ? ":value:_files"
                                    : fmt::format(":value:({})", fmt::join(offer.choices, " "));
      text += fmt::format(" \\\n        '*{}{}{}'", offer.name, note, value);
      if (offer.letter != 0) text += fmt::format(" \\\n        '*-{}{}{}'", offer.letter, note, value);
    }
    if (!verb.choices.empty())
      text += fmt::format(" \\\n        '1:{}:({})'", "choice", fmt::join(verb.choices, " "));
    else if (!verb.positional.empty())
      text += " \\\n        '*:file:_files'";
    text += "\n      ;;\n";
  }
  return text + "  esac\n}\n_allot \"$@\"\n";
}

std::string fishScript() {
  std::string text = "# fish completion of allot; made by `allot completion fish`.\n";
  for (const Verb& verb : verbs()) {
    text += fmt::format("complete -c allot -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                        quoted(verb.summary, false));
  }
  for (const Verb& verb : verbs()) {
    const std::string when = fmt::format("complete -c allot -n '__fish_seen_subcommand_from {}'", verb.name);
    if (!verb.choices.empty()) text += fmt::format("{} -f -a '{}'\n", when, fmt::join(verb.choices, " "));
    for (const Offer& offer : offersOf(verb)) {
      text += fmt::format("{} -l {}", when, offer.name.substr(2));
      if (offer.letter != 0) text += fmt::format(" -s {}", offer.letter);
      if (offer.takes_value)
        text += offer.choices.empty() ? " -r" : fmt::format(" -x -a '{}'", fmt::join(offer.choices, " "));
      text += fmt::format(" -d {}\n", quoted(offer.help, false));
    }
  }
  return text;
}

}  // namespace

std::string completionScript(std::string_view shell) {
  if (shell == "bash") return bashScript();
  if (shell == "zsh") return zshScript();
  if (shell == "fish") return fishScript();
  return "";
}

int runCompletion(const Arguments& arguments) {
  const std::string& shell = arguments.inputs.front();
  const std::string script = completionScript(shell);
  if (script.empty()) {
    return printError({ErrorCode::kUsage, "", "allot completion", fmt::format("unknown shell \"{}\"", shell),
                       "use bash, zsh or fish"});
  }
  const auto done = print(script);
  return done ? kExitOk : printError(done.error());
}

int runVersion(const Arguments& arguments) {
  std::string text = fmt::format("allot {} ({})\n", ALLOT_VERSION, ALLOT_GIT_HASH);
  if (arguments.options_doc) {
    text = optionsMarkdown();
  } else if (arguments.man_page) {
    text = manPage();
  } else if (arguments.json) {
    JsonWriter out;
    out.beginObject().field("version", ALLOT_VERSION).field("git", ALLOT_GIT_HASH).endObject();
    text = out.take();
  }
  const auto done = print(text);
  return done ? kExitOk : printError(done.error());
}

}  // namespace allot::cli
