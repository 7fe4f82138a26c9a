// Values of small tensors, so far as exporters use them to compute shapes.
//
// A fold runs after the shape rule of its node, when output 0 has a known shape of at most kMostFolded
// elements. Entries that are not known (kHole, NaN) pass through; integer overflow and division by zero give
// holes, never a wrong number. Results of type float are rounded to float, because a floor may hang on the
// last bit.
#pragma once

#include <optional>
#include <vector>

#include "formats/onnx/rules.h"

namespace allot::onnx {

// fold_arith.cpp
void foldAdd(Site& site);
void foldSub(Site& site);
void foldMul(Site& site);
void foldDiv(Site& site);
void foldMod(Site& site);
void foldPow(Site& site);
void foldMin(Site& site);
void foldMax(Site& site);
void foldSum(Site& site);
void foldNeg(Site& site);
void foldAbs(Site& site);
void foldFloor(Site& site);
void foldCeil(Site& site);
void foldRound(Site& site);
void foldRelu(Site& site);
void foldSqrt(Site& site);
void foldReciprocal(Site& site);
void foldNot(Site& site);
void foldClip(Site& site);
void foldCast(Site& site);
void foldReduceSum(Site& site);
void foldReduceProd(Site& site);
void foldReduceMax(Site& site);
void foldReduceMin(Site& site);
void foldCumSum(Site& site);

// fold_compare.cpp
void foldAnd(Site& site);
void foldOr(Site& site);
void foldXor(Site& site);
void foldEqual(Site& site);
void foldLess(Site& site);
void foldLessOrEqual(Site& site);
void foldGreater(Site& site);
void foldGreaterOrEqual(Site& site);
void foldWhere(Site& site);

// fold_move.cpp
void foldSame(Site& site);  // the same entries in the same order
void foldConstantOfShape(Site& site);
void foldRange(Site& site);
void foldConcat(Site& site);
void foldGather(Site& site);
void foldSlice(Site& site);
void foldSplit(Site& site);
void foldTranspose(Site& site);
void foldExpand(Site& site);
void foldTile(Site& site);
void foldScatterNd(Site& site);
void foldNonZero(Site& site);

// Place in a tensor of shape `in` of every element of a tensor of shape `out` that it broadcasts to.
std::vector<std::size_t> broadcastPlaces(const Shape& in, const Shape& out);
// The same for both inputs of a node, by element of its output; absent where entries are missing or do not
// broadcast.
struct PairPlaces {
  std::vector<std::size_t> left, right;
};
std::optional<PairPlaces> pairPlaces(Site& site);
// True where all entries are there, known or holes.
bool hasContents(const Value* value);
// One entry of either kind; NaN for a hole.
double realAt(const Value& value, std::size_t at);

}  // namespace allot::onnx
