// Finds one cycle of a directed graph given by its successor function.
#pragma once

#include <cstdint>
#include <vector>

namespace allot {

// `successors(node, visit)` calls visit(next) for each successor. Returns the nodes of a cycle in order, or
// nothing. Iterative, so that a path of a million nodes does not end the stack.
template <class Successors>
std::vector<std::uint32_t> findCycle(std::size_t n, Successors&& successors) {
  enum : std::uint8_t { kNew, kOpen, kClosed };
  std::vector<std::uint8_t> state(n, kNew);
  struct Frame {
    std::uint32_t node;
    std::vector<std::uint32_t> next;
  };
  std::vector<Frame> stack;
  const auto open = [&](std::uint32_t node) {
    state[node] = kOpen;
    stack.push_back({node, {}});
    successors(node, [&](std::uint32_t next) { stack.back().next.push_back(next); });
  };
  for (std::uint32_t root = 0; root < n; ++root) {
    if (state[root] != kNew) continue;
    open(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next.empty()) {
        state[frame.node] = kClosed;
        stack.pop_back();
        continue;
      }
      const std::uint32_t next = frame.next.back();
      frame.next.pop_back();
      if (state[next] == kNew)
        open(next);
      else if (state[next] == kOpen) {
        std::vector<std::uint32_t> cycle;
        bool on = false;
        for (const Frame& f : stack) {
          on = on || f.node == next;
          if (on) cycle.push_back(f.node);
        }
        return cycle;
      }
    }
  }
  return {};
}

}  // namespace allot
