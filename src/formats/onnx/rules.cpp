#include "formats/onnx/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "formats/onnx/half.h"

namespace allot::onnx {
namespace {

std::optional<std::vector<double>> numbersOf(const Tensor& tensor, std::int64_t count) {
  const int bits = bitsOf(tensor.type);
  if (bits < 16 ||
      tensor.raw.size() != static_cast<std::size_t>(count) * (static_cast<std::size_t>(bits) / 8)) {
    if (count != 1) return std::nullopt;
    const std::optional<double> one = scalarOf(tensor);
    if (!one) return std::nullopt;
    return std::vector<double>{*one};
  }
  std::vector<double> out(static_cast<std::size_t>(count));
  const char* at = tensor.raw.data();
  for (double& number : out) {
    if (tensor.type == ElementType::kDouble) {
      std::memcpy(&number, at, 8);
    } else if (tensor.type == ElementType::kFloat) {
      float value = 0;
      std::memcpy(&value, at, 4);
      number = value;
    } else {
      std::uint16_t half = 0;
      std::memcpy(&half, at, 2);
      number = tensor.type == ElementType::kFloat16 ? halfToDouble(half) : bfloatToDouble(half);
    }
    at += bits / 8;
  }
  return out;
}

}  // namespace

const Shape* Site::shape(std::size_t index) const {
  const Value* value = in(index);
  return value != nullptr && value->shape ? &*value->shape : nullptr;
}

ElementType Site::type(std::size_t index) const {
  const Value* value = in(index);
  return value != nullptr ? value->element : ElementType::kUndefined;
}

const std::vector<std::int64_t>* Site::integers(std::size_t index) const {
  const Value* value = in(index);
  if (value == nullptr || !value->integers) return nullptr;
  for (const std::int64_t entry : *value->integers) {
    if (entry == kHole) return nullptr;
  }
  return &*value->integers;
}

const std::vector<double>* Site::numbers(std::size_t index) const {
  const Value* value = in(index);
  if (value == nullptr || !value->numbers) return nullptr;
  for (const double entry : *value->numbers) {
    if (std::isnan(entry)) return nullptr;
  }
  return &*value->numbers;
}

std::optional<double> Site::scalar(std::size_t index) const {
  if (const auto* whole = integers(index); whole != nullptr && whole->size() == 1) {
    return static_cast<double>(whole->front());
  }
  if (const auto* real = numbers(index); real != nullptr && real->size() == 1) return real->front();
  return std::nullopt;
}

std::int64_t Site::integer(std::string_view name, std::int64_t otherwise) const {
  return node->integer(name, otherwise);
}

float Site::real(std::string_view name, float otherwise) const {
  const Attribute* found = attribute(name);
  return found != nullptr ? found->f : otherwise;
}

std::string_view Site::text(std::string_view name, std::string_view otherwise) const {
  const Attribute* found = attribute(name);
  return found != nullptr ? found->s : otherwise;
}

const std::vector<std::int64_t>* Site::list(std::string_view name) const {
  const Attribute* found = attribute(name);
  return found != nullptr ? &found->ints : nullptr;
}

Site::List Site::listOf(std::string_view name, std::size_t input) const {
  if (const auto* ints = list(name)) return {true, *ints};
  if (in(input) == nullptr) return {};
  const auto* ints = integers(input);
  return {true, ints != nullptr ? std::optional(*ints) : std::nullopt};
}

void Site::set(std::size_t output, ElementType type, const Shape& shape) {
  setType(output, type);
  setShape(output, shape);
}

void Site::setType(std::size_t output, ElementType type) {
  if (output >= outputs.size()) return;
  outputs[output].kind = Type::Kind::kTensor;
  outputs[output].element = type;
}

void Site::setShape(std::size_t output, const Shape& shape) {
  if (output < outputs.size()) outputs[output].shape = shape;
}

void Site::copy(std::size_t output, std::size_t input) {
  const Value* value = in(input);
  if (output >= outputs.size() || value == nullptr) return;
  outputs[output].kind = value->kind;
  outputs[output].element = value->element;
  outputs[output].shape = value->shape;
  outputs[output].length = value->length;
}

std::optional<std::size_t> axisOf(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::int64_t timesDim(std::int64_t a, std::int64_t b) {
  // Zero elements stay zero whatever else is not known.
  if (a == 0 || b == 0) return 0;
  if (a < 0 || b < 0) return -1;
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out) || out > kMostElements) return kMostElements;
  return out;
}

std::int64_t plusDim(std::int64_t a, std::int64_t b) {
  if (a < 0 || b < 0) return -1;
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out) || out > kMostElements) return kMostElements;
  return out;
}

std::int64_t product(const Shape& shape, std::size_t from, std::size_t to) {
  std::int64_t out = 1;
  bool unknown = false;
  for (std::size_t at = from; at < to && at < shape.size(); ++at) {
    if (shape[at] == 0) return 0;
    if (shape[at] < 0) unknown = true;
    out = unknown ? -1 : timesDim(out, shape[at]);
  }
  return out;
}

bool broadcastInto(Shape& out, const Shape& in) {
  if (in.size() > out.size()) out.insert(out.begin(), in.size() - out.size(), 1);
  const std::size_t shift = out.size() - in.size();
  for (std::size_t at = 0; at < in.size(); ++at) {
    std::int64_t& have = out[shift + at];
    const std::int64_t more = in[at];
    if (have == more || more == 1) continue;
    if (have == 1) {
      have = more;
    } else if (have < 0) {
      // The unknown one is either 1 or the same.
      have = more;
    } else if (more >= 0) {
      return false;
    }
  }
  return true;
}

bool commonShape(Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t at = 0; at < a.size(); ++at) {
    if (a[at] != b[at]) a[at] = -1;
  }
  return true;
}

std::string shapeText(const Shape& shape) {
  std::string out = "[";
  for (std::size_t at = 0; at < shape.size(); ++at) {
    out += at > 0 ? ", " : "";
    out += shape[at] < 0 ? "?" : fmt::format("{}", shape[at]);
  }
  return out + "]";
}

bool isFloating(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
    case ElementType::kFloat16:
    case ElementType::kDouble:
    case ElementType::kBFloat16:
    case ElementType::kComplex64:
    case ElementType::kComplex128:
    case ElementType::kFloat8E4M3FN:
    case ElementType::kFloat8E4M3FNUZ:
    case ElementType::kFloat8E5M2:
    case ElementType::kFloat8E5M2FNUZ:
    case ElementType::kFloat4E2M1:
    case ElementType::kFloat8E8M0:
      return true;
    default:
      return false;
  }
}

Value valueOf(const Tensor& tensor) {
  Value out;
  out.kind = Type::Kind::kTensor;
  out.element = tensor.type;
  out.shape = tensor.dims;
  out.constant = true;
  const std::int64_t count = product(tensor.dims);
  if (count < 0 || count > kMostFolded || tensor.external) return out;
  switch (tensor.type) {
    case ElementType::kFloat:
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
    case ElementType::kDouble:
      out.numbers = numbersOf(tensor, count);
      break;
    case ElementType::kInt64:
    case ElementType::kInt32:
    case ElementType::kInt16:
    case ElementType::kInt8:
    case ElementType::kUint64:
    case ElementType::kUint32:
    case ElementType::kUint16:
    case ElementType::kUint8:
    case ElementType::kBool:
      out.integers = integersOf(tensor);
      if (out.integers &&
          (out.integers->size() != static_cast<std::size_t>(count) ||
           std::find(out.integers->begin(), out.integers->end(), kHole) != out.integers->end())) {
        out.integers.reset();
      }
      break;
    default:
      break;
  }
  return out;
}

}  // namespace allot::onnx
