// Estimated time of one op on a device nobody has measured.
//
// Model: t = overhead x launches + max(c, m) + (1 - overlap) min(c, m), where c = flops / (peak x sustained x
// compute) and m = bytes / (bandwidth x memory), with the efficiencies of the op's family. Dense families use
// the peak of the op's arithmetic, and a device that lacks it the peak and the efficiencies of what stands in
// for it; the others run on the vector units and use the peak of fp32. An op in TF32 takes the shorter of its
// times in TF32 and in fp32, as libraries choose.
// Guarantee: at least the datasheet's roofline max(flops / peak, bytes / bandwidth); monotone in flops and
// bytes; 0 where both are 0 (views).
#pragma once

#include <cstdint>
#include <string_view>

#include "allot/cluster.h"
#include "cost/families.h"

namespace allot {

// What an op does, as far as its time depends on it.
struct OpWork {
  OpFamily family = OpFamily::kElementwise;
  DataType type = DataType::kUnknown;
  double flops = 0, bytes = 0;
};

// The peak a dense op gets, and the arithmetic whose peak it is.
struct Peak {
  DataType type = DataType::kUnknown;
  double per_second = 0;  // 0 where nothing is known
};

// With fall-backs where the figure is not known: fp16 and bf16 stand for each other; fp8, int8, fp4 and int4
// fall back to 16 bit; 16 bit and all others to fp32; fp64 to half of fp32; fp32 to a quarter of 16 bit. TF32
// is never slower than fp32.
Peak peakOf(const DeviceSpec& spec, DataType type);
double peakFor(const DeviceSpec& spec, DataType type);

// Whether the figures suffice for an estimate: a peak and a bandwidth.
bool canEstimate(const DeviceSpec& spec);

double estimateSeconds(const OpWork& work, const DeviceSpec& spec);

}  // namespace allot
