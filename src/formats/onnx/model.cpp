#include "formats/onnx/model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "formats/onnx/half.h"

namespace allot::onnx {
namespace {

// Elements of small tensors; nothing above kMaxKnownElements.
std::optional<std::size_t> smallCount(const Shape& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  if (count > kMaxKnownElements) return std::nullopt;
  return static_cast<std::size_t>(count);
}

template <class T>
T littleEndian(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The element at `index` of packed integers of 2, 4 or 8 bits, the first in the lowest bits.
std::int64_t narrowInteger(std::string_view raw, std::size_t index, int bits, bool negative) {
  const std::size_t per_byte = 8 / static_cast<std::size_t>(bits);
  const auto byte = static_cast<unsigned char>(raw[index / per_byte]);
  const int shift = static_cast<int>(index % per_byte) * bits;
  const int value = (byte >> shift) & ((1 << bits) - 1);
  return negative && (value >> (bits - 1)) != 0 ? value - (1 << bits) : value;
}

std::int64_t integerAt(std::string_view raw, ElementType type, std::size_t index) {
  const char* at = raw.data();
  switch (type) {
    case ElementType::kInt64:
    case ElementType::kUint64:
      return littleEndian<std::int64_t>(at + 8 * index);
    case ElementType::kInt32:
      return littleEndian<std::int32_t>(at + 4 * index);
    case ElementType::kUint32:
      return littleEndian<std::uint32_t>(at + 4 * index);
    case ElementType::kInt16:
      return littleEndian<std::int16_t>(at + 2 * index);
    case ElementType::kUint16:
      return littleEndian<std::uint16_t>(at + 2 * index);
    case ElementType::kInt8:
    case ElementType::kInt4:
    case ElementType::kInt2:
      return narrowInteger(raw, index, bitsOf(type), true);
    default:
      return narrowInteger(raw, index, bitsOf(type), false);
  }
}

}  // namespace

int bitsOf(ElementType type) {
  switch (type) {
    case ElementType::kUint2:
    case ElementType::kInt2:
      return 2;
    case ElementType::kUint4:
    case ElementType::kInt4:
    case ElementType::kFloat4E2M1:
      return 4;
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kBool:
    case ElementType::kFloat8E4M3FN:
    case ElementType::kFloat8E4M3FNUZ:
    case ElementType::kFloat8E5M2:
    case ElementType::kFloat8E5M2FNUZ:
    case ElementType::kFloat8E8M0:
      return 8;
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return 16;
    case ElementType::kFloat:
    case ElementType::kInt32:
    case ElementType::kUint32:
      return 32;
    case ElementType::kInt64:
    case ElementType::kUint64:
    case ElementType::kDouble:
    case ElementType::kComplex64:
      return 64;
    case ElementType::kComplex128:
      return 128;
    case ElementType::kUndefined:
    case ElementType::kString:
      break;
  }
  return 0;
}

bool isInteger(ElementType type) {
  switch (type) {
    case ElementType::kUint2:
    case ElementType::kInt2:
    case ElementType::kUint4:
    case ElementType::kInt4:
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kUint32:
    case ElementType::kInt32:
    case ElementType::kUint64:
    case ElementType::kInt64:
    case ElementType::kBool:
      return true;
    default:
      return false;
  }
}

std::optional<std::int64_t> bytesOf(ElementType type, const Shape& dims) {
  const std::int64_t bits = bitsOf(type);
  if (bits == 0) return std::nullopt;
  if (std::any_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim < 0; })) return std::nullopt;
  // A zero makes the tensor empty whatever the product of the others.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (__builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  if (count > (std::int64_t{1} << 60) / bits * 8) return std::nullopt;
  const std::int64_t whole = count / 8 * bits;
  return whole + (count % 8 * bits + 7) / 8;
}

std::optional<std::vector<std::int64_t>> integersOf(const Tensor& tensor) {
  const auto count = smallCount(tensor.dims);
  if (!count || !isInteger(tensor.type)) return std::nullopt;
  if (!tensor.raw.empty()) {
    if (bytesOf(tensor.type, tensor.dims) != static_cast<std::int64_t>(tensor.raw.size()))
      return std::nullopt;
    std::vector<std::int64_t> values(*count);
    for (std::size_t i = 0; i < *count; ++i) values[i] = integerAt(tensor.raw, tensor.type, i);
    return values;
  }
  // Typed data of narrow integers holds the packed bytes, one to an entry.
  const int bits = bitsOf(tensor.type);
  if (bits >= 8) return tensor.integers.size() == *count ? std::optional(tensor.integers) : std::nullopt;
  std::string packed;
  for (const std::int64_t byte : tensor.integers) packed += static_cast<char>(byte);
  if (bytesOf(tensor.type, tensor.dims) != static_cast<std::int64_t>(packed.size())) return std::nullopt;
  std::vector<std::int64_t> values(*count);
  for (std::size_t i = 0; i < *count; ++i) values[i] = integerAt(packed, tensor.type, i);
  return values;
}

std::optional<double> scalarOf(const Tensor& tensor) {
  const auto count = smallCount(tensor.dims);
  if (!count || *count != 1) return std::nullopt;
  const std::string_view raw = tensor.raw;
  switch (tensor.type) {
    case ElementType::kFloat:
      if (raw.size() == 4) return littleEndian<float>(raw.data());
      break;
    case ElementType::kDouble:
      if (raw.size() == 8) return littleEndian<double>(raw.data());
      break;
    case ElementType::kFloat16:
    case ElementType::kBFloat16: {
      std::uint16_t bits = 0;
      if (raw.size() == 2)
        bits = littleEndian<std::uint16_t>(raw.data());
      else if (raw.empty() && tensor.integers.size() == 1)
        bits = static_cast<std::uint16_t>(tensor.integers.front());
      else
        break;
      return tensor.type == ElementType::kFloat16 ? halfToDouble(bits) : bfloatToDouble(bits);
    }
    default:
      break;
  }
  return std::nullopt;
}

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& candidate : attributes) {
    if (candidate.name == attribute) return &candidate;
  }
  return nullptr;
}

std::int64_t Node::integer(std::string_view attribute, std::int64_t otherwise) const {
  const Attribute* found = find(attribute);
  return found == nullptr ? otherwise : found->i;
}

}  // namespace allot::onnx
