// Where the layers of a model are, in names a person recognises.
//
// Problem: a plan names thousands of ops; say it in lines such as "layers.0-11 -> gpu0".
// Method: names are split at '/' and '.' into a tree; a part whose ops are all on one device is one line, and
// neighbours below one part on one device are joined. Guarantee: the lines cover every op exactly once.
// Complexity: linear in the length of all names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "allot/ids.h"
#include "allot/problem.h"

namespace allot {

struct LayerLine {
  std::string layers;  // "layers.0-11", "layers.3.norm .. add", or the name of one op
  DeviceId device;
  std::size_t ops = 0;
  double seconds = 0;  // of its ops, on that device
};

std::vector<LayerLine> layerLines(const Problem& problem, const std::vector<DeviceId>& assignment);

// Ops of a layer: the op of that name, or all ops whose names begin with it and go on with '/' or '.'.
std::vector<OpId> opsOfLayer(const OpGraph& graph, std::string_view layer);

}  // namespace allot
