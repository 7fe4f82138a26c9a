#include "report/options_doc.h"

#include <fmt/format.h>

#include <utility>

#include "allot/options.h"

namespace allot {

std::string optionsMarkdown() {
  using S = OptionScope;
  constexpr std::pair<S, std::string_view> kSections[] = {
      {S::kAll, "Modes of every goal"},
      {S::kThroughput, "Modes of throughput"},
      {S::kLatencyAndCompletion, "Modes of latency and completion"},
      {S::kLatency, "Modes of latency"},
      {S::kCompletion, "Modes of completion"},
      {S::kRun, "Search"}};
  std::string text =
      "# Options\n\n"
      "Made from the option table by `allot version --options-doc > docs/options.md`; do not edit by "
      "hand.\n\n"
      "Each option can be given as `--name value` or `--set name=value` on the command line, as `name: "
      "value` in a `--config` file, and,\n"
      "but for those under Search, in the `options` of a problem file. The command line wins over the config "
      "file, which wins over the\n"
      "problem file, which wins over the defaults. `check`, `simulate`, `explain` and `export` put the "
      "options of the plan file between\n"
      "the problem file's and the config file's. What each mode means exactly: "
      "[semantics.md](semantics.md).\n\n"
      "A mode on the command line that means nothing for the goal or the input is refused (exit 2): one of "
      "another goal, `calls` without\n"
      "model `subgraph-calls`, `in-flight` without backward ops. In a file it is a warning, so that one file "
      "may serve several goals.\n";
  const Options defaults;
  for (const auto& [scope, title] : kSections) {
    bool open = false;
    for (const OptionSpec& spec : optionTable()) {
      if (spec.scope != scope) continue;
      if (!open)
        text += fmt::format("\n## {}\n\n| option | values | default | meaning |\n|---|---|---|---|\n", title);
      open = true;
      std::string values = spec.value_name.empty() ? "true, false" : std::string(spec.value_name);
      if (!spec.choices.empty()) values = fmt::format("`{}`", fmt::join(spec.choices, "`, `"));
      const std::string initial = spec.get(defaults);
      text += fmt::format("| `{}` | {} | {} | {} |\n", spec.name, values,
                          initial.empty() ? "-" : "`" + initial + "`", spec.help);
    }
  }
  return text;
}

}  // namespace allot
