// Exclusive use of a device or port by timed pieces of work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace allot {

struct Busy {
  double start, end;
  std::uint32_t id;
};

// Sorts `list` by time and calls conflict(earlier, later) for each piece that starts before `pause` after the
// latest end so far.
template <class Conflict>
void findConflicts(std::vector<Busy>& list, double pause, double tolerance, Conflict&& conflict) {
  std::sort(list.begin(), list.end(), [](const Busy& a, const Busy& b) {
    return a.start != b.start ? a.start < b.start : a.end != b.end ? a.end < b.end : a.id < b.id;
  });
  const Busy* latest = nullptr;
  for (const Busy& busy : list) {
    if (latest != nullptr && busy.start < latest->end + pause - tolerance) conflict(*latest, busy);
    if (latest == nullptr || busy.end >= latest->end) latest = &busy;
  }
}

}  // namespace allot
