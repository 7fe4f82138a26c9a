// Which records of two runs of the same model belong together.
//
// Problem: the same model, profiled on two devices, gives nearly the same sequence of ops; a few are there on
// one side only, and some bear another name by device.
// Method: what both sequences begin with and end with is matched outright; between, the longest common
// subsequence where a match weighs what its two records take, each as a share of its run. On ties records are
// matched rather than left out.
// Guarantee: the heaviest common subsequence between the matched ends; order is kept on both sides.
// Complexity: O(n m) time and n m / 4 bytes for the middle, refused above kMaxAlignCells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {

inline constexpr double kMaxAlignCells = 4e8;

// `key` and `seconds` have one entry per record; equal keys may be matched. Absent when too large.
struct AlignSide {
  std::span<const std::uint32_t> key;
  std::span<const double> seconds;
};
using Alignment = std::vector<std::pair<std::size_t, std::size_t>>;
std::optional<Alignment> align(const AlignSide& a, const AlignSide& b);

// The name of an operator without what differs by device or version: "aten::", the autograd engine's wrapper,
// and the maker of a backward kernel (Mkldnn, Cudnn, Native, ...).
std::string_view deviceFreeName(std::string_view name);

}  // namespace allot
