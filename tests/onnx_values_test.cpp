// ONNX: small values of tensors, sizes of element types, types of values.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "formats/onnx/parse.h"
#include "onnx_support.h"

namespace allot {
namespace {

using namespace onnx_test;
using onnx::ElementType;

onnx::Tensor parsed(const std::string& bytes) {
  onnx::ParseFailure failure(bytes.data());
  onnx::Tensor result = onnx::parseTensor(onnx::Wire(bytes, failure));
  EXPECT_FALSE(failure.failed()) << failure.error().text();
  return result;
}

using Values = std::vector<std::int64_t>;

TEST(OnnxValues, IntegersFromRawData) {
  const std::string raw("\x01\x00\x00\x80\xff\xff\xff\xff", 8);
  const auto typed = [&](std::int32_t type, std::int64_t count) {
    const std::string bytes = tensor("t", type, {count}, raw);
    return onnx::integersOf(parsed(bytes)).value_or(Values{-99});
  };
  EXPECT_EQ(typed(2, 8), (Values{1, 0, 0, 128, 255, 255, 255, 255}));  // uint8
  EXPECT_EQ(typed(3, 8), (Values{1, 0, 0, -128, -1, -1, -1, -1}));     // int8
  EXPECT_EQ(typed(4, 4), (Values{1, 32768, 65535, 65535}));            // uint16
  EXPECT_EQ(typed(5, 4), (Values{1, -32768, -1, -1}));                 // int16
  EXPECT_EQ(typed(6, 2), (Values{std::int32_t(0x80000001), -1}));      // int32
  EXPECT_EQ(typed(12, 2), (Values{0x80000001, 0xffffffff}));           // uint32
  EXPECT_EQ(typed(7, 1), (Values{static_cast<std::int64_t>(0xffffffff80000001)}));
  EXPECT_EQ(typed(21, 16)[0], 1);    // uint4, the first in the low half
  EXPECT_EQ(typed(22, 16)[15], -1);  // int4
  EXPECT_EQ(typed(22, 15).size(), 15u);
  EXPECT_EQ(typed(1, 2), Values{-99});  // not integers
}

TEST(OnnxValues, IntegersFromTypedData) {
  EXPECT_EQ(onnx::integersOf(parsed(integers("t", {3, -1, 7}))), (Values{3, -1, 7}));
  EXPECT_EQ(onnx::integersOf(parsed(integers("t", {}))), Values{});
  EXPECT_EQ(onnx::integersOf(parsed(integers("t", Values(4096, 5)))), Values(4096, 5));
  EXPECT_EQ(onnx::integersOf(parsed(integers("t", Values(4097, 5)))), std::nullopt);
  // Fewer values than dimensions say.
  EXPECT_EQ(onnx::integersOf(parsed(tensor("t", kInt64, {2}))), std::nullopt);
  // Entry by entry instead of packed, as old writers do.
  std::string bytes = tensor("t", 6, {2});
  protozero::pbf_writer writer(bytes);
  writer.add_int32(5, -4);
  writer.add_int32(5, 9);
  EXPECT_EQ(onnx::integersOf(parsed(bytes)), (Values{-4, 9}));
}

TEST(OnnxValues, SingleNumbers) {
  const auto raw = [](auto value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  };
  const auto scalar = [](std::int32_t type, const std::string& data) {
    const std::string bytes = tensor("t", type, {}, data);
    return onnx::scalarOf(parsed(bytes)).value_or(-99);
  };
  EXPECT_EQ(scalar(1, raw(0.25f)), 0.25);
  EXPECT_EQ(scalar(11, raw(0.1)), 0.1);
  EXPECT_EQ(scalar(10, raw(std::uint16_t{0x3555})), 0.333251953125);  // half
  EXPECT_EQ(scalar(10, raw(std::uint16_t{0x8001})), -std::ldexp(1, -24));
  EXPECT_TRUE(std::isinf(scalar(10, raw(std::uint16_t{0x7c00}))));
  EXPECT_EQ(scalar(16, raw(std::uint16_t{0xc040})), -3.0);  // bfloat16
  EXPECT_EQ(onnx::scalarOf(parsed(tensor("t", kFloat, {2}, std::string(8, '\0')))), std::nullopt);
  std::string bytes = tensor("t", kFloat, {1, 1});
  const float values[] = {2.5f};
  protozero::pbf_writer(bytes).add_packed_float(4, std::begin(values), std::end(values));
  EXPECT_EQ(onnx::scalarOf(parsed(bytes)), 2.5);
}

TEST(OnnxValues, SizesInBytes) {
  EXPECT_EQ(onnx::bytesOf(ElementType::kFloat, {}), 4);
  EXPECT_EQ(onnx::bytesOf(ElementType::kInt4, {3, 3}), 5);
  EXPECT_EQ(onnx::bytesOf(ElementType::kUint2, {5}), 2);
  EXPECT_EQ(onnx::bytesOf(ElementType::kFloat, {0, std::int64_t{1} << 62, std::int64_t{1} << 62}), 0);
  EXPECT_EQ(onnx::bytesOf(ElementType::kFloat, {std::int64_t{1} << 59}), std::nullopt);
  EXPECT_EQ(onnx::bytesOf(ElementType::kFloat, {-1}), std::nullopt);
  EXPECT_EQ(onnx::bytesOf(ElementType::kString, {3}), std::nullopt);
  EXPECT_EQ(onnx::bitsOf(static_cast<ElementType>(99)), 0);
}

TEST(OnnxValues, TypesOfSequencesAndOptionals) {
  const auto wrap = [](std::uint32_t field, const std::string& inner) {
    std::string bytes;
    protozero::pbf_writer(bytes).add_message(field, inner);
    return bytes;
  };
  const std::string of_tensor = wrap(1, shapeType(kFloat16, {2, "n"}));
  const auto typed = [](const std::string& bytes) {
    onnx::ParseFailure failure(bytes.data());
    return onnx::parseType(onnx::Wire(bytes, failure));
  };
  const auto check = [&](const std::string& bytes, onnx::Type::Kind kind) {
    const onnx::Type type = typed(bytes);
    EXPECT_EQ(type.kind, kind);
    EXPECT_EQ(type.element, ElementType::kFloat16);
    ASSERT_EQ(type.dims.size(), 2u);
    EXPECT_EQ(type.dims[0].value, 2);
    EXPECT_EQ(type.dims[1].symbol, "n");
  };
  check(of_tensor, onnx::Type::Kind::kTensor);
  check(wrap(4, wrap(1, of_tensor)), onnx::Type::Kind::kSequence);
  check(wrap(9, wrap(1, of_tensor)), onnx::Type::Kind::kOptional);
  check(wrap(9, wrap(1, wrap(4, wrap(1, of_tensor)))), onnx::Type::Kind::kOptional);
  check(wrap(5, wrap(2, of_tensor)), onnx::Type::Kind::kMap);
  check(wrap(8, shapeType(kFloat16, {2, "n"})), onnx::Type::Kind::kTensor);
  EXPECT_EQ(typed("").kind, onnx::Type::Kind::kNone);
}

TEST(OnnxValues, SparseInitialisersAreAsLargeAsDenseOnes) {
  std::string sparse;
  protozero::pbf_writer writer(sparse);
  writer.add_message(1, tensor("w", kFloat, {2}, std::string(8, '\0')));
  writer.add_message(2, integers("", {1, 5}));
  const std::int64_t dims[] = {8, 4};
  writer.add_packed_int64(3, std::begin(dims), std::end(dims));
  GraphParts net = smallNet();
  net.initializers.erase(net.initializers.begin());
  std::string bytes = graph(net);
  protozero::pbf_writer(bytes).add_message(15, sparse);
  EXPECT_EQ(weightsOf(graphOf(model(bytes)).graph, "product"), 8 * 4 * 4);
}

}  // namespace
}  // namespace allot
