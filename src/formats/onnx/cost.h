// What a flop rule sees of one node, and the rules by family.
//
// Conventions: a multiply-add is two operations; an addition, comparison, root, exponential or other
// elementary function is one each; moving data is none. Counts follow the definition of the operator, not an
// algorithm such as Winograd or FFT convolution. A rule gives a negative number where it lacks a shape.
#pragma once

#include <string_view>
#include <vector>

#include "formats/onnx/types.h"

namespace allot::onnx {

struct OpRow;

struct CostSite {
  const Node* node = nullptr;
  const OpRow* row = nullptr;
  std::vector<const Value*> inputs, outputs;  // null = absent or not known

  const Value* in(std::size_t index) const { return index < inputs.size() ? inputs[index] : nullptr; }
  const Shape* shape(std::size_t index) const;
  const Shape* made(std::size_t index) const;
  double elements(std::size_t input) const;  // -1 where not known
  double madeElements(std::size_t output) const;
};

inline constexpr double kFlopsUnknown = -1;

double noFlops(const CostSite& site);
double perElement(const CostSite& site);     // weight times elements of output 0
double perInput(const CostSite& site);       // weight times elements of input 0
double perEveryInput(const CostSite& site);  // weight times elements of each further input: Sum, Max
double perMade(const CostSite& site);        // weight times elements of all outputs
double matMulFlops(const CostSite& site);    // 2 * inner * output; inner from input 0
double gemmFlops(const CostSite& site);
double qgemmFlops(const CostSite& site);
double einsumFlops(const CostSite& site);
double matMulNBitsFlops(const CostSite& site);
double convFlops(const CostSite& site);         // weights are input 1
double qlinearConvFlops(const CostSite& site);  // weights are input 3
double convTransposeFlops(const CostSite& site);
double causalConvFlops(const CostSite& site);
double deformConvFlops(const CostSite& site);
double poolFlops(const CostSite& site);
double recurrentFlops(const CostSite& site);
double attentionFlops(const CostSite& site);
double linearAttentionFlops(const CostSite& site);
double msAttentionFlops(const CostSite& site);
double moeFlops(const CostSite& site);
double fourierFlops(const CostSite& site);
double detFlops(const CostSite& site);
double resizeFlops(const CostSite& site);
double topKFlops(const CostSite& site);
double lrnFlops(const CostSite& site);
double linearModelFlops(const CostSite& site);  // ai.onnx.ml

// Bytes of the scores that attention keeps when it is not fused; -1 where not known.
std::int64_t attentionWorkspace(const CostSite& site);

}  // namespace allot::onnx
