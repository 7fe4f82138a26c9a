// Shapes of ai.onnx.ml operators.
#include <algorithm>

#include "formats/onnx/rules_list.h"

namespace allot::onnx {
namespace {

// Rows of a matrix; a vector is one row.
std::int64_t rowsOf(const Shape* shape) {
  if (shape == nullptr || shape->size() > 2) return -1;
  return shape->size() == 2 ? (*shape)[0] : 1;
}

std::int64_t positive(std::int64_t count) {
  return count > 0 ? count : -1;
}

}  // namespace

void mlFloatShape(Site& site) {
  site.copy(0, 0);
  site.setType(0, ElementType::kFloat);
}

void labelEncoderShape(Site& site) {
  site.copy(0, 0);
  site.setType(0, ElementType::kUndefined);
  for (const Attribute& attribute : site.node->attributes) {
    if (attribute.name == "values_strings" || attribute.name == "cats_strings") {
      site.setType(0, ElementType::kString);
    } else if (attribute.name == "values_int64s") {
      site.setType(0, ElementType::kInt64);
    } else if (attribute.name == "values_floats") {
      site.setType(0, ElementType::kFloat);
    } else if (attribute.name == "values_tensor" && attribute.tensor != nullptr) {
      site.setType(0, attribute.tensor->type);
    }
  }
  if (site.node->op_type == "CategoryMapper") {
    site.setType(0, site.type(0) == ElementType::kString ? ElementType::kInt64 : ElementType::kString);
  }
}

void oneHotEncoderShape(Site& site) {
  site.setType(0, ElementType::kFloat);
  const Shape* x = site.shape(0);
  if (x == nullptr) return;
  std::int64_t count = -1;
  for (const Attribute& attribute : site.node->attributes) {
    if (attribute.name == "cats_int64s") count = static_cast<std::int64_t>(attribute.ints.size());
    if (attribute.name == "cats_strings") count = static_cast<std::int64_t>(attribute.strings.size());
  }
  Shape out = *x;
  out.push_back(count);
  site.setShape(0, out);
}

void linearRegressorShape(Site& site) {
  site.set(0, ElementType::kFloat, {rowsOf(site.shape(0)), positive(site.integer("targets", 1))});
}

void svmRegressorShape(Site& site) {
  site.set(0, ElementType::kFloat, {rowsOf(site.shape(0)), 1});
}

void classifierShape(Site& site) {
  const std::int64_t rows = rowsOf(site.shape(0));
  std::int64_t classes = -1;
  ElementType label = ElementType::kInt64;
  for (const Attribute& attribute : site.node->attributes) {
    if (attribute.name == "classlabels_strings" || attribute.name == "classlabels_ints" ||
        attribute.name == "classlabels_int64s") {
      const bool text = attribute.name == "classlabels_strings";
      if (text && attribute.strings.empty()) continue;
      if (text) label = ElementType::kString;
      classes = static_cast<std::int64_t>(text ? attribute.strings.size() : attribute.ints.size());
    }
  }
  site.set(0, label, {rows});
  // Two classes may be scored by one number; how many columns come out then depends on the weights.
  site.set(1, ElementType::kFloat, {rows, classes > 2 ? classes : -1});
}

void treeEnsembleShape(Site& site) {
  const bool newer = site.node->op_type == "TreeEnsemble";
  site.set(0, newer ? site.type(0) : ElementType::kFloat,
           {rowsOf(site.shape(0)), positive(site.integer("n_targets", 1))});
}

void featureVectorizerShape(Site& site) {
  const auto* sizes = site.list("inputdimensions");
  std::int64_t total = sizes != nullptr ? 0 : -1;
  for (std::size_t at = 0; sizes != nullptr && at < sizes->size(); ++at) {
    total = plusDim(total, std::max<std::int64_t>((*sizes)[at], -1));
  }
  site.set(0, ElementType::kFloat, {rowsOf(site.shape(0)), total});
}

void zipMapShape(Site& site) {
  if (site.outputs.empty()) return;
  site.outputs[0].kind = Type::Kind::kSequence;
  site.outputs[0].element = ElementType::kFloat;
  site.outputs[0].length = rowsOf(site.shape(0));
}

void castMapShape(Site& site) {
  const std::string_view to = site.text("cast_to", "TO_FLOAT");
  site.set(0,
           to == "TO_STRING"  ? ElementType::kString
           : to == "TO_INT64" ? ElementType::kInt64
                              : ElementType::kFloat,
           {1, -1});
}

}  // namespace allot::onnx
