// allot.events/1: one JSON object per line, the first one the header; and the lines that decisions are
// written as.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "allot/online.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "formats/schema.h"

namespace allot {
namespace {

constexpr std::array kKinds{EventKind::kArrive, EventKind::kLeave, EventKind::kFail, EventKind::kReturn,
                            EventKind::kSlow,   EventKind::kTime,  EventKind::kEnd};

class Names {
 public:
  template <class Items, class NameOf>
  Names(std::string_view what, const Items& items, NameOf&& name_of) : what_(what) {
    for (std::size_t i = 0; i < items.size(); ++i) index_.emplace(name_of(items[i]), i);
  }
  Result<std::size_t> at(const JsonNode& node, std::string_view key) const {
    ALLOT_TRY(const JsonNode child, node.at(key));
    ALLOT_TRY(const std::string label, child.label());
    const auto found = index_.find(label);
    if (found != index_.end()) return found->second;
    return child.fail(fmt::format("unknown {} \"{}\"", what_, label),
                      fmt::format("use {} {} of the problem", what_ == "op" ? "an" : "a", what_));
  }

 private:
  std::string what_;
  std::unordered_map<std::string, std::size_t> index_;
};

class EventReader {
 public:
  explicit EventReader(const Problem& problem)
      : models_("model", problem.graph.model_name, [](const std::string& name) { return name; }),
        ops_("op", problem.graph.op_name, [](const std::string& name) { return name; }),
        devices_("device", problem.cluster.devices, [](const Device& device) { return device.name; }),
        classes_("class", problem.cluster.classes, [](const DeviceClass& cls) { return cls.name; }) {}

  Result<OnlineOptions> header(const JsonNode& root) const {
    ALLOT_CHECK(expectSchema(root, "allot.events/1"));
    ALLOT_CHECK(onlyKeys(root, {"schema", "ends", "move_cost", "max_moves"}));
    OnlineOptions options;
    if (root.has("ends")) {
      ALLOT_TRY(const JsonNode node, root.at("ends"));
      ALLOT_TRY(const std::string_view ends, node.string());
      if (ends != "predicted" && ends != "reported")
        return node.fail(fmt::format("\"{}\" is not a choice", ends), "use \"predicted\" or \"reported\"");
      options.ends_reported = ends == "reported";
    }
    if (root.has("move_cost")) {
      ALLOT_TRY(const JsonNode node, root.at("move_cost"));
      ALLOT_TRY(options.move_cost, node.seconds());
    }
    if (root.has("max_moves")) {
      ALLOT_TRY(const JsonNode node, root.at("max_moves"));
      ALLOT_TRY(const std::uint64_t moves, node.natural());
      if (moves >= OnlineOptions::kAnyMoves) return node.fail("out of range", "leave it out for no limit");
      options.max_moves = static_cast<std::uint32_t>(moves);
    }
    return options;
  }

  Result<OnlineEvent> event(const JsonNode& root) const {
    ALLOT_CHECK(root.object());
    OnlineEvent event;
    ALLOT_TRY(const JsonNode time, root.at("time"));
    ALLOT_TRY(event.time, time.seconds());
    ALLOT_TRY(const JsonNode kind_node, root.at("event"));
    ALLOT_TRY(const std::string_view kind, kind_node.string());
    const auto known =
        std::find_if(kKinds.begin(), kKinds.end(), [&](EventKind k) { return name(k) == kind; });
    if (known == kKinds.end()) {
      return kind_node.fail(fmt::format("unknown event \"{}\"", kind),
                            "use arrive, leave, fail, return, slow, time or end");
    }
    event.kind = *known;
    switch (event.kind) {
      case EventKind::kArrive:
        ALLOT_CHECK(readArrival(root, event));
        break;
      case EventKind::kLeave:
        ALLOT_CHECK(onlyKeys(root, {"time", "event", "job"}));
        ALLOT_CHECK(readJob(root, event));
        break;
      case EventKind::kFail:
      case EventKind::kReturn:
        ALLOT_CHECK(onlyKeys(root, {"time", "event", "device"}));
        ALLOT_CHECK(readDevice(root, event));
        break;
      case EventKind::kSlow: {
        ALLOT_CHECK(onlyKeys(root, {"time", "event", "device", "factor"}));
        ALLOT_CHECK(readDevice(root, event));
        ALLOT_TRY(const JsonNode factor, root.at("factor"));
        ALLOT_TRY(event.factor, factor.number());
        break;
      }
      case EventKind::kTime: {
        ALLOT_CHECK(onlyKeys(root, {"time", "event", "op", "class", "seconds"}));
        ALLOT_CHECK(readOp(root, event));
        ALLOT_TRY(const std::size_t cls, classes_.at(root, "class"));
        event.cls = ClassId(cls);
        ALLOT_TRY(const JsonNode seconds, root.at("seconds"));
        ALLOT_TRY(event.seconds, seconds.seconds());
        break;
      }
      case EventKind::kEnd:
        ALLOT_CHECK(onlyKeys(root, {"time", "event", "job", "op"}));
        ALLOT_CHECK(readJob(root, event));
        ALLOT_CHECK(readOp(root, event));
        break;
    }
    return event;
  }

 private:
  Names models_, ops_, devices_, classes_;

  static Result<void> onlyKeys(const JsonNode& node, std::initializer_list<std::string_view> known) {
    ALLOT_TRY(const auto fields, node.object());
    for (const auto field : fields) {
      const JsonNode member = node.member(field.key, field.value);
      if (std::find(known.begin(), known.end(), field.key) == known.end())
        return member.fail("unknown key", fmt::format("use {}", fmt::join(known.begin(), known.end(), ", ")));
    }
    return {};
  }
  static Result<void> readJob(const JsonNode& root, OnlineEvent& event) {
    ALLOT_TRY(const JsonNode node, root.at("job"));
    ALLOT_TRY(event.job, node.label());
    return {};
  }
  Result<void> readDevice(const JsonNode& root, OnlineEvent& event) const {
    ALLOT_TRY(const std::size_t device, devices_.at(root, "device"));
    event.device = DeviceId(device);
    return {};
  }
  Result<void> readOp(const JsonNode& root, OnlineEvent& event) const {
    ALLOT_TRY(const std::size_t op, ops_.at(root, "op"));
    event.op = OpId(op);
    return {};
  }
  Result<void> readArrival(const JsonNode& root, OnlineEvent& event) const {
    ALLOT_CHECK(onlyKeys(root, {"time", "event", "model", "job", "weight"}));
    ALLOT_TRY(const std::size_t model, models_.at(root, "model"));
    event.model = ModelId(model);
    ALLOT_TRY(const JsonNode name_node, root.at(root.has("job") ? "job" : "model"));
    ALLOT_TRY(event.job, name_node.label());
    if (root.has("weight")) {
      ALLOT_TRY(const JsonNode weight, root.at("weight"));
      ALLOT_TRY(event.weight, weight.nonNegative());
    }
    return {};
  }
};

}  // namespace

Result<EventLog> readEvents(std::string_view text, const std::string& file, const Problem& problem) {
  const EventReader reader(problem);
  EventLog log;
  bool has_header = false;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t line_end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, line_end);
    text.remove_prefix(std::min(line_end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto read = [&](auto&& of_root) -> decltype(of_root(std::declval<const JsonNode&>())) {
      ALLOT_TRY(const JsonDocument document, JsonDocument::parse(line, file, false));
      return of_root(document.root());
    };
    if (!has_header) {
      auto options = read([&](const JsonNode& root) { return reader.header(root); });
      if (!options) {
        Error error = std::move(options).error();
        if (error.where.starts_with("line 1, ")) error.where.erase(0, 8);
        error.where = fmt::format("line {}{}{}", number, error.where.empty() ? "" : ": ", error.where);
        return fail(std::move(error));
      }
      log.options = *options;
      has_header = true;
      continue;
    }
    log.lines.push_back({number, read([&](const JsonNode& root) { return reader.event(root); })});
  }
  if (!has_header) {
    return fail({ErrorCode::kBadInput, file, "line 1", "no header",
                 "begin the file with {\"schema\": \"allot.events/1\"}"});
  }
  return log;
}

std::string writeEvents(const Problem& problem, const OnlineOptions& options,
                        std::span<const OnlineEvent> events) {
  JsonWriter head(0);
  head.beginObject()
      .field("schema", "allot.events/1")
      .field("ends", options.ends_reported ? "reported" : "predicted");
  head.field("move_cost", options.move_cost);
  if (options.max_moves != OnlineOptions::kAnyMoves)
    head.field("max_moves", static_cast<std::uint64_t>(options.max_moves));
  head.endObject();
  std::string text = head.take();
  for (const OnlineEvent& event : events) {
    JsonWriter out(0);
    out.beginObject().field("time", event.time).field("event", name(event.kind));
    if (event.model.valid()) out.field("model", problem.graph.model_name[event.model.index()]);
    if (!event.job.empty()) out.field("job", event.job);
    if (event.weight >= 0) out.field("weight", event.weight);
    if (event.device.valid()) out.field("device", problem.cluster.devices[event.device.index()].name);
    if (event.kind == EventKind::kSlow) out.field("factor", event.factor);
    if (event.op.valid()) out.field("op", problem.graph.op_name[event.op.index()]);
    if (event.kind == EventKind::kTime)
      out.field("class", problem.cluster.classes[event.cls.index()].name).field("seconds", event.seconds);
    out.endObject();
    text += out.take();
  }
  return text;
}

std::string decisionText(const Problem& problem, const OnlineEngine& engine, const Decision& decision) {
  JsonWriter out(0);
  out.beginObject().field("time", decision.time).field("decision", name(decision.kind));
  out.field("job", engine.job(decision.job).name);
  if (decision.op.valid()) out.field("op", problem.graph.op_name[decision.op.index()]);
  if (decision.tensor.valid()) out.field("tensor", static_cast<std::uint64_t>(decision.tensor.index()));
  if (decision.consumer.valid()) out.field("consumer", problem.graph.op_name[decision.consumer.index()]);
  if (decision.from.valid()) out.field("from", problem.cluster.devices[decision.from.index()].name);
  if (decision.device.valid()) out.field("device", problem.cluster.devices[decision.device.index()].name);
  if (decision.kind == DecisionKind::kStart || decision.kind == DecisionKind::kSend)
    out.field("start", decision.start).field("end", decision.end);
  if (!decision.why.empty()) out.field("why", decision.why);
  out.endObject();
  return out.take();
}

}  // namespace allot
