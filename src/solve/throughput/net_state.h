// Loads of the devices while items of a pipeline model move between them.
//
// Problem: load(device) = compute of its items + cost of every net that it holds in part, for any assignment
// of items to devices (via-host transfers; under other transfers the loads are those of the model).
// Method: per net and device the number of the net's items there, per net the number of devices it touches. A
// move changes the loads of two devices only: a net that becomes cut or whole has no item elsewhere.
// Guarantee: `undo` restores the loads bit by bit; sums drift otherwise, `refresh` takes them afresh.
// Complexity: probe and move O(nets of the item), refresh O(items + ends + nets * devices); space nets *
// devices. Nothing is allocated after construction but the journal's growth.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "solve/throughput/pipeline_model.h"

namespace allot {

using Place = std::uint16_t;  // index of a device

class NetState {
 public:
  explicit NetState(const PipelineModel& model);
  // Bytes that a state of this model takes.
  static std::size_t bytes(const PipelineModel& model);

  struct Sums {
    double compute = 0, communication = 0, resident = 0;
  };
  // What a move does to the device it leaves and the one it reaches.
  struct Change {
    Sums from, to;
  };

  void assign(std::span<const Place> places);
  // Takes the loads afresh from the counts.
  void refresh();

  std::size_t deviceCount() const { return devices_; }
  std::uint32_t pool(Place device) const { return pool_[device]; }
  Place place(std::uint32_t item) const { return place_[item]; }
  std::span<const Place> places() const { return place_; }
  const Sums& sums(Place device) const { return sums_[device]; }
  double load(const Sums& sums) const {
    return overlap_max_ ? std::max(sums.compute, sums.communication) : sums.compute + sums.communication;
  }
  double load(Place device) const { return load(sums_[device]); }
  // Largest load.
  double value() const;
  // Bytes above the limits, over all devices, as parts of the limits.
  double overflow() const;
  double overflow(Place device, const Sums& sums) const {
    return sums.resident <= limit_[device] ? 0 : (sums.resident - limit_[device]) / (limit_[device] + 1);
  }
  bool runs(std::uint32_t item, Place device) const { return model_->runs(item, pool_[device]); }
  bool touches(std::uint32_t net, Place device) const { return count_[net * devices_ + device] > 0; }

  // The new sums of both devices if the item moved; it must run there and not be there already.
  Change probe(std::uint32_t item, Place to) const;
  void move(std::uint32_t item, Place to) { apply(item, to, probe(item, to)); }
  void apply(std::uint32_t item, Place to, const Change& change);

  // Moves since the last `mark` can be undone together.
  void mark();
  void undo();
  std::span<const Place> touched() const { return touched_; }  // devices, since the mark

 private:
  struct Net {
    std::uint32_t producer;
    std::uint32_t spread;  // devices that hold an item
  };
  struct Step {
    std::uint32_t item;
    Place from;
  };
  const PipelineModel* model_;
  std::size_t devices_, pools_;
  bool overlap_max_;
  std::vector<std::uint32_t> pool_;  // by device
  std::vector<double> limit_;        // by device
  std::vector<Place> place_;         // by item
  std::vector<Sums> sums_;           // by device
  std::vector<Net> nets_;
  std::vector<double> cost_;          // [(net * pools + pool) * 2 + sends]
  std::vector<std::uint32_t> count_;  // [net * devices + device]
  std::vector<Step> journal_;
  std::vector<Place> touched_;
  std::vector<Sums> saved_;  // by device
  std::vector<std::uint8_t> is_touched_;

  double cost(std::uint32_t net, Place device, bool sends) const {
    return cost_[(net * pools_ + pool_[device]) * 2 + (sends ? 1 : 0)];
  }
  void count(std::uint32_t item, Place from, Place to);
  void save(Place device);
};

}  // namespace allot
