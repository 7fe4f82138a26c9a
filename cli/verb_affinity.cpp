// allot affinity: which models to place on the same devices.
#include <fmt/format.h>

#include <cmath>

#include "base/json_writer.h"
#include "common.h"
#include "report/affinity.h"
#include "summary.h"

namespace allot::cli {
namespace {

// JSON has no infinity: what is not defined is null.
double orNothing(double value) {
  return std::isfinite(value) ? value : std::nan("");
}

std::string affinityJson(const Problem& problem, const SpeedupTable& table,
                         const std::vector<Affinity>& pairs, const std::vector<Affinity>& chosen) {
  JsonWriter out;
  out.beginObject()
      .field("costs", problem.costs)
      .field("reference", problem.cluster.classes[table.reference.index()].name)
      .field("accelerated", problem.cluster.classes[table.accelerated.index()].name);
  out.key("models").beginArray();
  for (const ModelSpeedups& model : table.models) {
    out.beginObject().field("name", model.name);
    out.field("types", static_cast<std::uint64_t>(model.types.size())).endObject();
  }
  out.endArray().key("pairs").beginArray();
  for (const Affinity& pair : pairs) {
    out.beginObject().field("a", table.models[pair.a].name).field("b", table.models[pair.b].name);
    out.field("shared_types", static_cast<std::uint64_t>(pair.shared)).field("share", pair.share());
    out.field("published_distance", pair.published_distance)
        .field("published_affinity", orNothing(pair.published()));
    out.field("shared_distance", pair.shared_distance).field("hellinger", pair.hellinger);
    out.field("affinity", orNothing(pair.value())).endObject();
  }
  out.endArray().key("co_place").beginArray();
  for (const Affinity& pair : chosen) {
    out.beginArray().value(table.models[pair.a].name).value(table.models[pair.b].name).endArray();
  }
  out.endArray().endObject();
  return out.take();
}

std::string affinityText(const SpeedupTable& table, const std::vector<Affinity>& pairs,
                         const std::vector<Affinity>& chosen) {
  const auto number = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.4f}", value) : std::string("-");
  };
  std::vector<std::vector<std::string>> cells{
      {"models", "types", "shared", "share", "published", "hellinger", "affinity"}};
  const auto names = [&](const Affinity& pair) {
    return fmt::format("{} + {}", table.models[pair.a].name, table.models[pair.b].name);
  };
  for (const Affinity& pair : pairs) {
    cells.push_back(
        {names(pair),
         fmt::format("{}, {}", table.models[pair.a].types.size(), table.models[pair.b].types.size()),
         fmt::format("{}", pair.shared), fmt::format("{:.3f}", pair.share()),
         std::isfinite(pair.published()) ? fmt::format("{:.2f}", pair.published()) : "-",
         number(pair.hellinger), number(pair.value())});
  }
  std::string text = tableText(cells) + "\n";
  if (chosen.empty()) return text + "co-place: none, the models share no operator type\n";
  text += "co-place:";
  for (const Affinity& pair : chosen) {
    text += fmt::format("{} {} ({:.2f}{})", &pair == &chosen.front() ? "" : ",", names(pair), pair.value(),
                        pair.value() > kAffinityThreshold ? "" : ", low");
  }
  return text + fmt::format("; low = not above {}, the published threshold\n", kAffinityThreshold);
}

Result<int> affinity(const Arguments& arguments) {
  ALLOT_TRY(const Task task, loadTask(arguments));
  if (task.problem.graph.modelCount() < 2) {
    return usageError("allot affinity", "one model has no partner",
                      "give at least two inputs, or one with several models");
  }
  auto table = modelSpeedups(task.problem);
  if (!table) {
    Error error = std::move(table).error();
    error.file = displayName(arguments.inputs.front());
    return fail(std::move(error));
  }
  const std::vector<Affinity> pairs = affinities(table->models);
  const std::vector<Affinity> chosen = coPlacement(pairs);
  ALLOT_CHECK(print(arguments.json ? affinityJson(task.problem, *table, pairs, chosen)
                                   : timesText(task.problem.costs) + affinityText(*table, pairs, chosen)));
  return kExitOk;
}

}  // namespace

int runAffinity(const Arguments& arguments) {
  const auto code = affinity(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
