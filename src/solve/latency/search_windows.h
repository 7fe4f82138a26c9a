// Search window by window, for graphs so large that a pass over the schedule costs milliseconds.
//
// A window of the order goes from the beginning to the end of the schedule. Inside, moves are annealed and
// valued by how far the devices have come a little behind the window, so a move costs a window and not a
// schedule; of several moves valued together by lanes only the most promising one is decoded. The overlap of
// windows lets a later one correct an earlier one. Passes follow each other while they help. Guarantee:
// heuristic; `report` gets only whole sequences better than the start. Memory limits are kept. When time runs
// out: the rest of the schedule stays as it was.
#pragma once

#include "solve/latency/anneal.h"

namespace allot {

struct WindowSearchEnd {
  bool by_clock = false;
  std::uint64_t moves = 0;
};

WindowSearchEnd searchWindows(const ScheduleModel& model, const SearchRange& range, const Sequence& start,
                              const Budget& budget, const std::function<void(const Sequence&)>& report);

}  // namespace allot
