#include "cost/roofline.h"

#include <algorithm>
#include <initializer_list>

namespace allot {
namespace {

double figure(const DeviceSpec& spec, DataType type) {
  return spec.peak_per_second[static_cast<std::size_t>(type)];
}

Peak firstKnown(const DeviceSpec& spec, std::initializer_list<DataType> types) {
  for (const DataType type : types) {
    if (figure(spec, type) > 0) return {type, figure(spec, type)};
  }
  return {};
}

Peak fp32Peak(const DeviceSpec& spec) {
  constexpr double kShareOfHalf = 0.25;  // as on AWS Trainium, which states both
  const double own = figure(spec, DataType::kFloat32);
  if (own > 0) return {DataType::kFloat32, own};
  const Peak half = firstKnown(spec, {DataType::kBFloat16, DataType::kFloat16});
  return {DataType::kFloat32, kShareOfHalf * half.per_second};
}

// The model for one arithmetic.
double secondsIn(DataType type, const OpWork& work, const DeviceSpec& spec) {
  // A device that lacks the arithmetic runs another one, with the shares of that; converting costs as always.
  const Peak known = peakOf(spec, type);
  const Efficiency efficiency = efficiencyOf(work.family, known.type);
  const double launches = efficiencyOf(work.family, type).launches;
  double peak = known.per_second;
  if (!isProduct(work.family)) peak = std::min(peak, peakFor(spec, DataType::kFloat32));
  if (efficiency.dense) peak *= spec.sustained;
  const double compute = work.flops / (peak * efficiency.compute);
  const double memory = work.bytes / (spec.memory_bytes_per_second * efficiency.memory);
  return spec.overhead_seconds * launches + std::max(compute, memory) +
         (1 - efficiency.overlap) * std::min(compute, memory);
}

}  // namespace

Peak peakOf(const DeviceSpec& spec, DataType type) {
  constexpr double kDoubleShare = 0.5;
  using enum DataType;
  Peak peak;
  switch (type) {
    case kFloat64:
      peak = firstKnown(spec, {kFloat64});
      return peak.per_second > 0 ? peak : Peak{kFloat64, kDoubleShare * fp32Peak(spec).per_second};
    case kTf32:
      peak = firstKnown(spec, {kTf32});
      return peak.per_second >= fp32Peak(spec).per_second ? peak : fp32Peak(spec);
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
  return peak.per_second > 0 ? peak : fp32Peak(spec);
}

double peakFor(const DeviceSpec& spec, DataType type) {
  return peakOf(spec, type).per_second;
}

bool canEstimate(const DeviceSpec& spec) {
  return peakFor(spec, DataType::kFloat32) > 0 && spec.memory_bytes_per_second > 0;
}

double estimateSeconds(const OpWork& work, const DeviceSpec& spec) {
  if (work.flops <= 0 && work.bytes <= 0) return 0;
  if (work.type != DataType::kTf32) return secondsIn(work.type, work, spec);
  const double plain = secondsIn(DataType::kFloat32, work, spec);
  return figure(spec, DataType::kTf32) > 0 ? std::min(plain, secondsIn(DataType::kTf32, work, spec)) : plain;
}

}  // namespace allot
