// Which arithmetic ops are estimated in, and how that is said.
//
// Problem: a peak depends on the arithmetic by a factor of up to sixty, so whoever reads an estimate must see
// which one it stands for and who chose it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allot/cluster.h"
#include "cost/roofline.h"

namespace allot {

// The arithmetic of an op of type `own`: that type, but TF32 for what is fp32 or says nothing, unless fp32
// was asked for. Where a device has no such units the roofline falls back.
DataType estimatedIn(DataType own, std::optional<DataType> asked);

// Collects the arithmetic of products, by class.
class ArithmeticUse {
 public:
  void note(const OpWork& work, std::size_t cls);
  // "TF32 products on a100-80gb (156 TFLOPS), fp32 elsewhere; types of the model"; "" where there are no
  // products and nothing was asked for.
  std::string text(const Cluster& cluster, std::optional<DataType> asked) const;

 private:
  std::array<std::vector<std::uint8_t>, kDataTypeCount> classes_;  // by arithmetic: 1 where a class runs it
};

}  // namespace allot
