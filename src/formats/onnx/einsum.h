// The equation of an Einsum node, taken apart.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot::onnx {

struct EinsumEquation {
  std::vector<std::string> inputs;    // a letter for each axis; "..." stands for axes that broadcast
  std::optional<std::string> output;  // absent without an arrow

  explicit EinsumEquation(std::string_view equation) {
    std::string text(equation);
    std::erase(text, ' ');
    const std::size_t arrow = text.find("->");
    if (arrow != std::string::npos) output = text.substr(arrow + 2);
    text.erase(std::min(arrow, text.size()));
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      inputs.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
};

}  // namespace allot::onnx
