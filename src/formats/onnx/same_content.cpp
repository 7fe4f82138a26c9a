#include "formats/onnx/same_content.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <tuple>

namespace allot::onnx {
namespace {

// Some bytes from four places.
std::string sampleOf(std::string_view data) {
  constexpr std::size_t kPlaces = 4, kBytes = 32;
  std::string sample;
  for (std::size_t i = 0; i < kPlaces; ++i)
    sample += data.substr((data.size() - kBytes) * i / (kPlaces - 1), kBytes);
  return sample;
}

}  // namespace

std::vector<std::uint32_t> firstWithSameContent(std::span<const Tensor* const> tensors) {
  std::vector<std::uint32_t> first(tensors.size());
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, ElementType>, std::uint32_t> ranges;
  // Bytes may be those of another type (retype.h), so that equal ones are different numbers.
  using Look = std::tuple<ElementType, std::int64_t, std::size_t, std::string>;
  std::map<Look, std::vector<std::uint32_t>> alike;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    first[i] = i;
    const Tensor& tensor = *tensors[i];
    const std::int64_t bytes = bytesOf(tensor.type, tensor.dims).value_or(tensor.length);
    if (tensor.external) {
      const std::string file = std::filesystem::path(tensor.location).lexically_normal().string();
      first[i] = ranges.try_emplace({file, tensor.offset, bytes, tensor.type}, i).first->second;
    } else if (tensor.raw.size() >= kLeastCompared) {
      alike[{tensor.type, bytes, tensor.raw.size(), sampleOf(tensor.raw)}].push_back(i);
    }
  }
  for (const auto& [key, members] : alike) {
    if (members.size() < 2) continue;
    std::map<std::size_t, std::uint32_t> by_hash;
    for (const std::uint32_t i : members) {
      const std::string_view data = tensors[i]->raw;
      const std::uint32_t same = by_hash.try_emplace(std::hash<std::string_view>{}(data), i).first->second;
      if (tensors[same]->raw == data) first[i] = same;
    }
  }
  return first;
}

}  // namespace allot::onnx
