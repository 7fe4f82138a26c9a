// Bytes that ops hold for as long as they are placed, and the limits of devices.
//
// Sizes are whole numbers and sums of them exact. Weights times the optimiser's factor are multiplied once,
// for all weights of a device, and added to the sum of whole numbers. A limit is memory x (1 - headroom) in
// doubles and compared exactly, as far as a double holds single bytes (8 PiB).
#include "base/units.h"
#include "check/parts.h"

namespace allot {
namespace {

double memoryLimit(const CheckContext& context, DeviceId device) {
  const auto& memory = context.problem.cluster.devices[device.index()].memory_bytes;
  return memory ? static_cast<double>(*memory) * (1 - context.modes().headroom)
                : std::numeric_limits<double>::infinity();
}

std::string exactText(double bytes) {
  if (bytes == 1) return "1 byte";
  return bytes == std::floor(bytes) ? fmt::format("{:.0f} bytes", bytes) : fmt::format("{} bytes", bytes);
}

std::string sizeText(double bytes) {
  return bytes < 10240 ? exactText(bytes) : bytesText(bytes);
}

}  // namespace

std::string heldText(const CheckContext& context, const Held& held, bool exact) {
  std::string parts;
  const auto add = [&](const char* what, double bytes) {
    if (bytes > 0) parts += fmt::format("{}{} {}", parts.empty() ? " (" : ", ", what, sizeText(bytes));
  };
  add("weights", held.weights);
  add("memory of ops", static_cast<double>(held.placed));
  add("tensors", static_cast<double>(held.tensors));
  add("workspace", static_cast<double>(held.workspace));
  add("tensors of the next sample", static_cast<double>(held.arriving));
  add("samples in flight", held.in_flight);
  if (!parts.empty()) parts += ")";
  return fmt::format("{}{}{}", exact ? exactText(held.bytes()) : sizeText(held.bytes()),
                     held.at.valid() ? fmt::format(" at op \"{}\"", context.opName(held.at)) : "", parts);
}

namespace {

void addTooMuch(const CheckContext& context, DeviceId device, const Held& held, double limit) {
  const double bytes = held.bytes();
  const bool exact = sizeText(bytes) == sizeText(limit);
  const double memory = static_cast<double>(*context.problem.cluster.devices[device.index()].memory_bytes);
  std::string way_out = fmt::format("needs {} more", sizeText(bytes - limit));
  if (bytes <= memory)
    way_out += fmt::format(", or fits with headroom {:g}", std::floor((1 - bytes / memory) * 1e4) / 1e4);
  context.findings.add("device \"{}\" holds {} but may hold {}; it {}", context.deviceName(device),
                       heldText(context, held, exact), exact ? exactText(limit) : sizeText(limit), way_out);
}

}  // namespace

std::vector<std::uint32_t> deviceParts(const CheckContext& context) {
  std::vector<std::uint32_t> part;
  part.reserve(context.problem.opCount());
  for (const DeviceId device : context.plan.assignment) part.push_back(device.value);
  return part;
}

std::vector<Held> residentOf(const CheckContext& context, std::size_t parts,
                             std::span<const std::uint32_t> part_of_op) {
  const OpGraph& graph = context.problem.graph;
  std::vector<Held> held(parts);
  std::vector<std::int64_t> weights(parts, 0);
  for (std::size_t i = 0; i < part_of_op.size(); ++i) {
    held[part_of_op[i]].placed += graph.op_memory_bytes[i] + graph.op_activation_bytes[i];
    weights[part_of_op[i]] += graph.op_weight_bytes[i];
  }
  std::vector<std::size_t> counted(parts, graph.block_bytes.size());
  for (std::size_t b = 0; b < graph.block_bytes.size(); ++b) {
    for (const OpId reader : graph.block_readers[b]) {
      const std::uint32_t part = part_of_op[reader.index()];
      if (counted[part] == b) continue;
      counted[part] = b;
      weights[part] += graph.block_bytes[b];
    }
  }
  for (std::size_t p = 0; p < parts; ++p)
    held[p].weights = static_cast<double>(weights[p]) * context.modes().optimizer_factor;
  return held;
}

void checkMemoryLimits(const CheckContext& context, std::span<const Held> held) {
  for (std::size_t d = 0; d < held.size(); ++d) {
    const double limit = memoryLimit(context, DeviceId(d)), bytes = held[d].bytes();
    if (bytes > limit && !sameBytes(bytes, limit)) addTooMuch(context, DeviceId(d), held[d], limit);
  }
}

}  // namespace allot
