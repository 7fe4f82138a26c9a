// What both forms of a PipeDream profile say, and the graph that Allot makes of it: each layer becomes a
// forward op and a backward op of one group. A forward output goes to the next layers and, as stash, to the
// layer's own backward op; gradients go the other way with the size of the activation they belong to.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "allot/formats.h"

namespace allot {

class PipeDreamProfile {
 public:
  struct Layer {
    std::string id;
    std::string description;
    double forward_seconds = 0, backward_seconds = 0;
    std::int64_t out_bytes = 0, param_bytes = 0;

    // Input layers carry the time of loading data, which is no work of a device, and have no backward pass.
    bool isInput() const { return description.starts_with("Input"); }
  };

  // False when an op of this name is there already.
  bool add(Layer layer);
  const std::uint32_t* find(const std::string& id) const;
  void connect(std::uint32_t from, std::uint32_t to) { edges_.emplace_back(from, to); }
  std::size_t layerCount() const { return layers_.size(); }

  Result<GraphFile> graph(std::string name) const;

 private:
  std::vector<Layer> layers_;
  std::unordered_map<std::string, std::uint32_t> layer_by_id_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
};

}  // namespace allot
