// Operator families and how much of a device's peaks each reaches.
//
// Constants: fitted by scripts/fit-roofline.py to NeuSight (fp32) and AIConfigurator (16, 8 and 4 bit);
// docs/cost-model.md has the errors. No efficiency is above 1, so no estimate is below the datasheet.
#pragma once

#include <cstdint>
#include <string_view>

#include "allot/graph.h"

namespace allot {

enum class OpFamily : std::uint8_t {
  kMatmul,
  kConvolution,
  kAttention,
  kNormalisation,
  kGather,
  kElementwise
};

std::string_view name(OpFamily family);

// By the type of an op, as ONNX and the usual traces spell it, with or without a domain before it. Types that
// are not known count as element-wise, which is bound by memory.
OpFamily familyOf(std::string_view op_type);

// Products and convolutions run on the matrix units, the others on the vector units.
bool isProduct(OpFamily family);

struct Efficiency {
  double compute = 1;   // share of the peak
  double memory = 1;    // share of the bandwidth
  double overlap = 1;   // 1 = arithmetic hides behind memory traffic or the other way round, 0 = they add up
  double launches = 1;  // overheads an op takes: 8 and 4 bit products convert their inputs first
  bool dense = false;   // uses the matrix units, and heats the device to its power limit
};

Efficiency efficiencyOf(OpFamily family, DataType type);

}  // namespace allot
