#include <fmt/format.h>

#include <array>

#include "allot/online.h"

namespace allot {

std::string_view name(EventKind kind) {
  static constexpr std::array<std::string_view, 7> kNames{"arrive", "leave", "fail", "return",
                                                          "slow",   "time",  "end"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(DecisionKind kind) {
  static constexpr std::array<std::string_view, 8> kNames{"start", "send", "move", "repeat",
                                                          "hold",  "drop", "end",  "finish"};
  return kNames[static_cast<std::size_t>(kind)];
}

Replay replay(OnlineEngine& engine, const EventLog& log, const std::string& file) {
  Replay result;
  const auto refuse = [&](std::size_t line, Error error) {
    error.file = file;
    // The reader of a line counts from its own first one.
    if (error.where.starts_with("line 1, ")) error.where.erase(0, 8);
    error.where = fmt::format("line {}{}{}", line, error.where.empty() ? "" : ": ", error.where);
    result.errors.push_back(std::move(error));
  };
  const auto keep = [&] {
    for (Decision& decision : engine.takeDecisions()) result.decisions.push_back(std::move(decision));
  };
  bool changed = false;
  for (const EventLine& line : log.lines) {
    if (!line.event) {
      refuse(line.line, line.event.error());
      continue;
    }
    if (changed && line.event->time > engine.now()) {
      engine.replan();
      changed = false;
    }
    const auto applied = engine.apply(*line.event);
    if (applied) {
      changed = true;
      result.taken.push_back(*line.event);
    } else {
      refuse(line.line, applied.error());
    }
    keep();
  }
  if (changed) engine.replan();
  engine.finish();
  keep();
  result.verified = engine.verify();
  if (!result.verified) result.verified.error().file = file;
  return result;
}

}  // namespace allot
