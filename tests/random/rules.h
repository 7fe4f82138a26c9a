// What docs/semantics.md says of a tiny problem before any plan: units, where they may run, times by the
// clock rule, transfer times, memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "random/tiny.h"

namespace allot::tiny {

using Ops = std::uint32_t;  // a set of ops, bit by bit

inline bool in(Ops set, int op) {
  return (set >> op & 1) != 0;
}

class Rules {
 public:
  explicit Rules(const Tiny& tiny);

  const Tiny& tiny;
  int ops, devices;
  std::vector<int> unit_of;  // by op
  std::vector<Ops> units;
  std::vector<std::pair<int, int>> edges;  // by tensors and order constraints
  std::vector<int> reference;              // order of live memory for throughput
  bool training = false;

  const Modes& modes() const { return tiny.modes; }
  int classOf(int device) const { return tiny.devices[at(device)].cls; }
  bool isCpu(int device) const { return tiny.classes[at(classOf(device))].cpu; }
  double launch(int device) const { return tiny.classes[at(classOf(device))].launch; }
  bool isForward(int op) const { return tiny.ops[at(op)].phase == Phase::kForward; }

  bool allowed(Ops set, int device) const;
  // As the clock counts them.
  double seconds(int op, int device) const { return onClock(tiny.ops[at(op)].seconds[at(classOf(device))]); }
  double transfer(int tensor, int from, int to) const;
  double toHost(int tensor, int device) const;
  double fromHost(int tensor, int device) const;
  const Link* link(int from, int to) const;

  double limit(int device) const;
  // Of these ops on one device, each block once, and `more` whole bytes.
  double resident(Ops set, std::int64_t more = 0) const;
  std::int64_t weights(Ops set) const;

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

 private:
  double clock_ = 0;
  std::vector<std::vector<std::uint8_t>> allowed_;  // [op][device]

  struct Place {
    int device, cls, host;
  };
  Place place(int device) const { return {device, classOf(device), tiny.devices[at(device)].host}; }
  Place hostOf(int device) const { return {-1, -1, tiny.devices[at(device)].host}; }
  const Link* best(const Place& from, const Place& to) const;
  double onClock(double seconds) const { return seconds > 0 && seconds < clock_ ? 0 : seconds; }
  bool viaHost() const;
  double given(int tensor, int from, int to) const;
  double givenHost(int tensor, const Link* link) const;
  void joinUnits();
  void findAllowed();
  void findReference();
  double longestWork() const;
};

}  // namespace allot::tiny
