#include "cost/arithmetic.h"

#include <fmt/format.h>

namespace allot {
namespace {

constexpr std::size_t kMostListed = 6;

std::string_view shownName(DataType type) {
  return type == DataType::kTf32 ? "TF32" : name(type);
}

// "a100-80gb (156 TFLOPS), rtx3090 (35.6)"
std::string listText(const Cluster& cluster, const std::vector<std::size_t>& classes, DataType type) {
  const bool whole = type == DataType::kInt8 || type == DataType::kInt4;
  std::string text;
  for (std::size_t i = 0; i < classes.size() && i < kMostListed; ++i) {
    const DeviceClass& cls = cluster.classes[classes[i]];
    text += fmt::format("{}{} ({:.4g}{})", i == 0 ? "" : ", ", cls.name, peakFor(*cls.spec, type) / 1e12,
                        i > 0   ? ""
                        : whole ? " TOPS"
                                : " TFLOPS");
  }
  if (classes.size() > kMostListed) text += fmt::format(" and {} more", classes.size() - kMostListed);
  return text;
}

}  // namespace

DataType estimatedIn(DataType own, std::optional<DataType> asked) {
  const bool wide = own == DataType::kFloat32 || own == DataType::kTf32 || own == DataType::kUnknown;
  if (!wide) return own;
  return asked == DataType::kFloat32 ? DataType::kFloat32 : DataType::kTf32;
}

void ArithmeticUse::note(const OpWork& work, std::size_t cls) {
  if (!isProduct(work.family) || work.flops <= 0) return;
  auto& classes = classes_[static_cast<std::size_t>(work.type)];
  if (classes.size() <= cls) classes.resize(cls + 1);
  classes[cls] = 1;
}

std::string ArithmeticUse::text(const Cluster& cluster, std::optional<DataType> asked) const {
  std::vector<std::string> parts;
  for (std::size_t t = 0; t < kDataTypeCount; ++t) {
    const auto type = static_cast<DataType>(t);
    std::array<std::vector<std::size_t>, kDataTypeCount> by_peak;
    for (std::size_t c = 0; c < classes_[t].size(); ++c) {
      if (classes_[t][c] != 0)
        by_peak[static_cast<std::size_t>(peakOf(*cluster.classes[c].spec, type).type)].push_back(c);
    }
    const auto add = [&](DataType peak, std::string_view more) {
      const auto& classes = by_peak[static_cast<std::size_t>(peak)];
      if (!classes.empty())
        parts.push_back(
            fmt::format("{} products on {}{}", shownName(peak), listText(cluster, classes, peak), more));
    };
    add(type, "");
    if (type == DataType::kTf32 && asked != DataType::kTf32) {
      // The model asks for fp32: no device lacks anything.
      if (by_peak[t].empty())
        add(DataType::kFloat32, "");
      else
        parts.emplace_back("fp32 elsewhere");
      continue;
    }
    for (std::size_t p = 0; p < kDataTypeCount; ++p) {
      if (p != t) add(static_cast<DataType>(p), fmt::format(" for want of {}", shownName(type)));
    }
  }
  if (!asked) return parts.empty() ? "" : fmt::format("{}; types of the model", fmt::join(parts, ", "));
  return fmt::format("{}{}--dtype {}", fmt::join(parts, ", "), parts.empty() ? "" : "; ", name(*asked));
}

}  // namespace allot
