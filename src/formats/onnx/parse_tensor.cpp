#include <fmt/format.h>

#include <charconv>

#include "formats/onnx/parse.h"

namespace allot::onnx {
namespace {

std::int64_t wholeNumber(Wire& wire, std::string_view key, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 0)
    wire.fail(fmt::format("external data with {} \"{}\"", key, text), "write a whole number of bytes");
  return value;
}

void parseExternal(Wire wire, Tensor& tensor) {
  std::string_view key, value;
  Wire entry = wire;
  while (wire.next()) {
    switch (wire.field()) {
      case bytesField(1):
        key = wire.text();
        break;
      case bytesField(2):
        value = wire.text();
        break;
      default:
        wire.skip();
    }
  }
  if (key == "location") tensor.location = value;
  if (key == "offset") tensor.offset = wholeNumber(entry, key, value);
  if (key == "length") tensor.length = wholeNumber(entry, key, value);
}

// A packed field of numbers of fixed width is laid out as raw_data is; the first is kept, all are counted.
void fixedNumbers(Wire& wire, std::string_view& view, std::size_t& fields) {
  const std::string_view packed = wire.bytes();
  if (fields++ == 0) view = packed;
}

std::string tensorLabel(const Tensor& tensor) {
  return tensor.name.empty() ? "a tensor" : fmt::format("tensor \"{}\"", tensor.name);
}

void checkDims(Wire& wire, const Tensor& tensor) {
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0) {
      wire.fail(fmt::format("{} has the dimension {}", tensorLabel(tensor), dim),
                "a tensor with data needs dimensions of 0 or more; export the model again");
      return;
    }
  }
  const auto bytes = bytesOf(tensor.type, tensor.dims);
  if (bitsOf(tensor.type) != 0 && !bytes) {
    wire.fail(fmt::format("{} has more than 2^60 bytes", tensorLabel(tensor)),
              "check its dimensions, or export the model again");
    return;
  }
  const auto size = static_cast<std::int64_t>(tensor.raw.size());
  if (size > 0 && bytes && size != *bytes)
    wire.fail(fmt::format("{} has {} bytes of data where its dimensions need {}", tensorLabel(tensor), size,
                          *bytes),
              "the file is damaged; export the model again");
}

}  // namespace

Tensor parseTensor(Wire wire) {
  Tensor tensor;
  Wire whole = wire;
  std::string_view floats, doubles;
  std::size_t float_fields = 0, double_fields = 0;
  bool full = false;
  while (wire.next()) {
    switch (wire.field()) {
      case varintField(1):
      case bytesField(1):
        wire.integers(tensor.dims);
        break;
      case varintField(2):
        tensor.type = static_cast<ElementType>(static_cast<std::int32_t>(wire.varint()));
        break;
      case bytesField(4):
        fixedNumbers(wire, floats, float_fields);
        break;
      case varintField(5):
      case bytesField(5):
      case varintField(7):
      case bytesField(7):
      case varintField(11):
      case bytesField(11):
        wire.integers(tensor.integers, static_cast<std::size_t>(kMaxKnownElements), full);
        break;
      case bytesField(8):
        tensor.name = wire.text();
        break;
      case bytesField(9):
        tensor.raw = wire.bytes();
        break;
      case bytesField(10):
        fixedNumbers(wire, doubles, double_fields);
        break;
      case bytesField(13):
        parseExternal(wire.message(), tensor);
        break;
      case varintField(14):
        tensor.external = wire.varint() == 1;
        break;
      default:
        wire.skip();
    }
  }
  if (full) tensor.integers = {};
  if (tensor.raw.empty() && tensor.type == ElementType::kFloat && float_fields == 1) tensor.raw = floats;
  if (tensor.raw.empty() && tensor.type == ElementType::kDouble && double_fields == 1) tensor.raw = doubles;
  if (tensor.external) {
    tensor.raw = {};
    tensor.integers = {};
  }
  if (!whole.failed()) checkDims(whole, tensor);
  return tensor;
}

Tensor parseSparseTensor(Wire wire) {
  Tensor dense;
  Wire whole = wire;
  while (wire.next()) {
    switch (wire.field()) {
      case bytesField(1): {
        const Tensor values = parseTensor(wire.message());
        dense.name = values.name;
        dense.type = values.type;
        break;
      }
      case varintField(3):
      case bytesField(3):
        wire.integers(dense.dims);
        break;
      default:
        wire.skip();
    }
  }
  if (!whole.failed()) checkDims(whole, dense);
  return dense;
}

}  // namespace allot::onnx
