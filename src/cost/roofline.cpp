#include "cost/roofline.h"

#include <algorithm>
#include <initializer_list>

namespace allot {
namespace {

double peakOf(const DeviceSpec& spec, DataType type) {
  return spec.peak_per_second[static_cast<std::size_t>(type)];
}

double firstKnown(const DeviceSpec& spec, std::initializer_list<DataType> types) {
  for (const DataType type : types) {
    if (peakOf(spec, type) > 0) return peakOf(spec, type);
  }
  return 0;
}

double fp32Peak(const DeviceSpec& spec) {
  constexpr double kShareOfHalf = 0.25;  // as on AWS Trainium, which states both
  const double own = peakOf(spec, DataType::kFloat32);
  return own > 0 ? own : kShareOfHalf * firstKnown(spec, {DataType::kBFloat16, DataType::kFloat16});
}

}  // namespace

double peakFor(const DeviceSpec& spec, DataType type) {
  constexpr double kDoubleShare = 0.5;
  using enum DataType;
  double peak = 0;
  switch (type) {
    case kFloat64:
      peak = firstKnown(spec, {kFloat64});
      return peak > 0 ? peak : kDoubleShare * fp32Peak(spec);
    case kFloat16:
      peak = firstKnown(spec, {kFloat16, kBFloat16});
      break;
    case kBFloat16:
      peak = firstKnown(spec, {kBFloat16, kFloat16});
      break;
    case kFloat8:
      peak = firstKnown(spec, {kFloat8, kFloat16, kBFloat16});
      break;
    case kFloat4:
      peak = firstKnown(spec, {kFloat4, kFloat8, kFloat16, kBFloat16});
      break;
    case kInt8:
      peak = firstKnown(spec, {kInt8, kFloat16, kBFloat16});
      break;
    case kInt4:
      peak = firstKnown(spec, {kInt4, kInt8, kFloat16, kBFloat16});
      break;
    default:
      break;
  }
  return peak > 0 ? peak : fp32Peak(spec);
}

bool canEstimate(const DeviceSpec& spec) {
  return peakFor(spec, DataType::kFloat32) > 0 && spec.memory_bytes_per_second > 0;
}

double estimateSeconds(const OpWork& work, const DeviceSpec& spec) {
  if (work.flops <= 0 && work.bytes <= 0) return 0;
  const Efficiency efficiency = efficiencyOf(work.family, work.type);
  // Convolutions run on the matrix units too, whatever the power limit does to them.
  const bool matrix = efficiency.dense || work.family == OpFamily::kConvolution;
  double peak = peakFor(spec, work.type);
  if (!matrix) peak = std::min(peak, peakFor(spec, DataType::kFloat32));
  if (efficiency.dense) peak *= spec.sustained;
  const double compute = work.flops / (peak * efficiency.compute);
  const double memory = work.bytes / (spec.memory_bytes_per_second * efficiency.memory);
  return spec.overhead_seconds * efficiency.launches + std::max(compute, memory) +
         (1 - efficiency.overlap) * std::min(compute, memory);
}

}  // namespace allot
