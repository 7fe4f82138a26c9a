// Small ONNX models made by hand: a graph under construction that owns its names.
#pragma once

#include <cstring>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/onnx/model.h"
#include "formats/onnx/types.h"

namespace allot::onnx_test {

using namespace allot::onnx;

using Attributes = std::vector<Attribute>;

inline Attribute number(std::string_view name, std::int64_t value) {
  Attribute out;
  out.name = name;
  out.i = value;
  return out;
}

inline Attribute real(std::string_view name, float value) {
  Attribute out;
  out.name = name;
  out.f = value;
  return out;
}

inline Attribute text(std::string_view name, std::string_view value) {
  Attribute out;
  out.name = name;
  out.s = value;
  return out;
}

inline Attribute list(std::string_view name, std::vector<std::int64_t> values) {
  Attribute out;
  out.name = name;
  out.ints = std::move(values);
  return out;
}

inline Attribute body(std::string_view name, std::shared_ptr<Graph> graph) {
  Attribute out;
  out.name = name;
  out.graph = std::move(graph);
  return out;
}

class Builder {
 public:
  explicit Builder(std::int64_t opset = 17) { model.opsets = {{"", opset}, {"com.microsoft", 1}}; }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Model model;

  std::string_view own(std::string text) { return texts_.emplace_back(std::move(text)); }
  std::string_view fresh() { return own("v" + std::to_string(texts_.size())); }

  ValueInfo info(std::string_view name, ElementType type, const Shape& shape) {
    ValueInfo out{name, {Type::Kind::kTensor, type, true, {}}};
    for (const std::int64_t dim : shape) {
      out.type.dims.push_back(dim < 0 ? Dim{-1, own("s" + std::to_string(-dim))} : Dim{dim, {}});
    }
    return out;
  }

  std::string_view input(const Shape& shape, ElementType type = ElementType::kFloat) {
    const std::string_view name = fresh();
    model.graph.inputs.push_back(info(name, type, shape));
    return name;
  }

  // Weights: shape and type only.
  std::string_view weight(const Shape& shape, ElementType type = ElementType::kFloat) {
    Tensor tensor;
    tensor.name = fresh();
    tensor.type = type;
    tensor.dims = shape;
    tensor.external = true;
    model.graph.initializers.push_back(tensor);
    return tensor.name;
  }

  Tensor tensorOf(const std::vector<std::int64_t>& values, const Shape& shape,
                  ElementType type = ElementType::kInt64) {
    Tensor tensor;
    tensor.name = fresh();
    tensor.type = type;
    tensor.dims = shape;
    std::string bytes;
    for (const std::int64_t value : values) {
      char raw[8];
      std::memcpy(raw, &value, 8);
      bytes.append(raw, type == ElementType::kBool ? 1 : type == ElementType::kInt32 ? 4 : 8);
    }
    tensor.raw = own(bytes);
    return tensor;
  }

  Tensor floatTensor(const std::vector<float>& values, const Shape& shape) {
    Tensor tensor;
    tensor.name = fresh();
    tensor.type = ElementType::kFloat;
    tensor.dims = shape;
    tensor.raw = own(std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size()));
    return tensor;
  }

  std::string_view ints(const std::vector<std::int64_t>& values) {
    model.graph.initializers.push_back(tensorOf(values, {static_cast<std::int64_t>(values.size())}));
    return model.graph.initializers.back().name;
  }

  std::string_view scalar(std::int64_t value, ElementType type = ElementType::kInt64) {
    model.graph.initializers.push_back(tensorOf({value}, {}, type));
    return model.graph.initializers.back().name;
  }

  std::string_view floats(const std::vector<float>& values) {
    model.graph.initializers.push_back(floatTensor(values, {static_cast<std::int64_t>(values.size())}));
    return model.graph.initializers.back().name;
  }

  Node make(std::string_view op, std::vector<std::string_view> inputs, Attributes attributes = {},
            std::size_t outputs = 1, std::string_view domain = {}) {
    Node out;
    out.op_type = op;
    out.domain = domain;
    out.inputs = std::move(inputs);
    out.attributes = std::move(attributes);
    for (std::size_t at = 0; at < outputs; ++at) out.outputs.push_back(fresh());
    return out;
  }

  // Appends a node; its first output.
  std::string_view op(std::string_view op, std::vector<std::string_view> inputs, Attributes attributes = {},
                      std::size_t outputs = 1, std::string_view domain = {}) {
    model.graph.nodes.push_back(make(op, std::move(inputs), std::move(attributes), outputs, domain));
    return model.graph.nodes.back().outputs.empty() ? std::string_view()
                                                    : model.graph.nodes.back().outputs[0];
  }

  Result<InferredTypes> infer(const Dims& dims = {}) const { return inferTypes(model, model.graph, dims); }

 private:
  std::deque<std::string> texts_;
};

}  // namespace allot::onnx_test
