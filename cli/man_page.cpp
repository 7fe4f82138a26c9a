#include "man_page.h"

#include <fmt/format.h>

#include "allot/options.h"
#include "allot/version.h"
#include "arguments.h"

namespace allot::cli {
namespace {

// Text as roff shows it: dashes as typed, no request at the start of a line.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += fmt::format("\\&{}", c);
    else
      out += c;
  }
  return out;
}

std::string entry(std::string_view flags, std::string_view value, std::string_view help) {
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", plain(flags),
                     value.empty() ? std::string() : fmt::format(" \\fI{}\\fR", plain(value)), plain(help));
}

std::string valueOf(std::string_view value_name, const std::vector<std::string_view>& choices) {
  return choices.empty() ? std::string(value_name) : fmt::format("{}", fmt::join(choices, "|"));
}

std::string verbText(const Verb& verb) {
  std::string text = fmt::format(".SS \"allot {}{}{}\"\n{}.\n", verb.name, verb.positional.empty() ? "" : " ",
                                 plain(verb.positional), plain(verb.summary));
  std::string_view rest = verb.examples;
  text += ".PP\n.nf\n";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    text += fmt::format("    allot {}\n", plain(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text + ".fi\n";
}

}  // namespace

std::string manPage() {
  std::string text = fmt::format(
      ".TH ALLOT 1 \"\" \"allot {}\" \"User Commands\"\n.SH NAME\nallot \\- decide where every operator of a "
      "neural network runs on unlike devices\n.SH SYNOPSIS\n\\fBallot\\fR \\fIVERB\\fR [\\fIFILE\\fR...] "
      "[\\fIOPTION\\fR...]\n.SH DESCRIPTION\n"
      "Allot places the operators of one or more models on GPUs, CPUs and accelerators that are not alike, "
      "so "
      "that the model is fastest, fits in memory, or gives the most samples per second. Every plan carries a "
      "proven lower bound and can be checked, explained and exported.\n.SH VERBS\n",
      ALLOT_VERSION);
  for (const Verb& verb : verbs()) text += verbText(verb);
  text += ".SH OPTIONS\nWhich verb takes which option: \\fBallot\\fR \\fIVERB\\fR \\fB\\-\\-help\\fR.\n";
  for (const CommandOption& option : commandOptions()) {
    const std::string flags = option.letter != 0 ? fmt::format("-{}, --{}", option.letter, option.name)
                                                 : fmt::format("--{}", option.name);
    text += entry(flags, valueOf(option.value_name, option.choices), option.help);
  }
  text += ".SH MODES AND SEARCH\n";
  for (const OptionSpec& spec : optionTable())
    text += entry(fmt::format("--{}", spec.name),
                  spec.value_name.empty() ? "" : valueOf(spec.value_name, spec.choices), spec.help);
  text +=
      ".SH EXIT STATUS\n.TP\n0\ndone; of a search: a plan was found, whatever its gap\n.TP\n1\ninternal "
      "error\n.TP\n2\nwrong "
      "usage\n.TP\n3\nunreadable or invalid input\n.TP\n4\nno plan can exist\n.TP\n5\na plan was found, "
      "but the user stopped the search, or \\-\\-strict and the gap asked for is not reached\n.TP\n6\nthe "
      "search "
      "ended without a plan\n.TP\n7\na check, run or export disagrees with "
      "the "
      "plan\n.SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nno colours and no bold text\n";
  return text;
}

}  // namespace allot::cli
