// A window made ready for the Pareto search: tails to the exit, ideals on demand, partial schedules.
//
// An ideal is a set of done ops that is closed under producers. All partial schedules with the same ideal
// have the same live ops (done, with a consumer to come) and the same ops ready to start.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "solve/latency/exact_window.h"

namespace allot {

struct OpMask {
  std::array<std::uint64_t, 2> words{};
  bool test(std::size_t i) const { return (words[i >> 6] >> (i & 63)) & 1; }
  void set(std::size_t i) { words[i >> 6] |= std::uint64_t{1} << (i & 63); }
  friend bool operator==(const OpMask&, const OpMask&) = default;
};

struct OpMaskHash {
  std::size_t operator()(const OpMask& mask) const {
    std::uint64_t h =
        mask.words[0] * 0x9E3779B97F4A7C15ull ^ (mask.words[1] + 0x7F4A7C15ull) * 0xD1B54A32D192ED03ull;
    return h ^ (h >> 29);
  }
};

struct Ideal {
  static constexpr std::uint32_t kUnknown = 0xffffffff;

  OpMask done;
  std::uint32_t done_count = 0;
  std::vector<std::uint16_t> rest;        // ops to do, ascending
  std::vector<std::uint16_t> ready;       // all producers done
  std::vector<std::uint32_t> child;       // ideal after each ready op, or kUnknown
  std::vector<std::uint16_t> live;        // done ops with a consumer to come
  std::vector<std::uint16_t> nets;        // where ports count: timed nets of live ops with a consumer to come
  std::vector<std::uint16_t> open_nets;   // all nets of live ops with a consumer to come
  std::vector<std::uint16_t> open_units;  // units begun and not ended
  std::vector<double> weight;             // of devices, for the bound by loads
  double rest_bytes = 0;                  // of units not begun
};

// A partial schedule, spelled out. Entries of ops and nets count only where they are live.
struct Partial {
  std::array<double, ExactWindow::kMaxDevices> free{}, used{};
  std::array<double, 2 * ExactWindow::kMaxDevices> port{};  // send ports, then receive ports
  double value = 0;                                         // latest end + tail of what is done
  std::vector<std::uint16_t> device;                        // by op
  std::vector<double> end;                                  // by op
  std::vector<std::uint16_t> unit_device;                   // by unit
  std::vector<std::uint16_t> sent;                          // by net: devices
  std::vector<double> arrival;                              // [net * devices + device]
};

class ParetoModel {
 public:
  explicit ParetoModel(const ExactWindow& window);

  const ExactWindow* window;
  std::size_t ops, devices, units;
  bool ports;                              // transfers are activities
  std::size_t receive_offset;              // of `Partial::port`
  bool memory;                             // used bytes belong to a partial schedule
  bool many_ends;                          // the latest end does: more than one op may be the last
  Csr<std::uint16_t> inputs, outputs;      // nets, by op
  std::vector<std::uint16_t> producer;     // by net
  std::vector<std::uint8_t> one_consumer;  // by net; not where it was sent before entry
  std::vector<double> way;                 // [(net * devices + from) * devices + to]
  std::vector<double> way_back;            // [(net * devices + to) * devices + from]
  std::vector<std::uint16_t> allowed;      // devices, by op
  std::vector<std::uint8_t> takes_time;    // by op: on every device
  std::vector<std::uint8_t> timed;         // by net: some pair takes time
  std::vector<double> tail;                // [op * devices + device], to the exit
  Csr<std::uint16_t> unit_ops;
  std::vector<std::uint32_t> symmetric;  // by device: the least device that is the same in every way

  double time(std::size_t op, std::size_t d) const { return window->seconds[op * devices + d]; }
  double transfer(std::size_t net, std::size_t from, std::size_t to) const {
    return way[(net * devices + from) * devices + to];
  }
  Partial start() const;
  std::uint32_t firstIdeal();
  std::uint32_t childIdeal(std::uint32_t ideal, std::size_t ready_index);
  const Ideal& ideal(std::uint32_t index) const { return ideals_[index]; }
  std::size_t idealCount() const { return ideals_.size(); }

 private:
  std::vector<Ideal> ideals_;
  std::unordered_map<OpMask, std::uint32_t, OpMaskHash> index_;

  std::uint32_t add(const OpMask& done, const std::vector<double>* weight);
  void weigh(Ideal& ideal, const std::vector<double>* from) const;
  void findTails();
  void findSymmetry();
};

}  // namespace allot
