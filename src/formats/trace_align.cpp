#include "formats/trace_align.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace allot {
namespace {

enum Step : std::uint8_t { kMatch = 0, kSkipA = 1, kSkipB = 2 };

// Steps of the programme, two bits each.
class StepTable {
 public:
  StepTable(std::size_t rows, std::size_t columns) : columns_(columns), bits_((rows * columns + 3) / 4, 0) {}
  void set(std::size_t row, std::size_t column, Step step) {
    const std::size_t cell = row * columns_ + column;
    bits_[cell / 4] = static_cast<std::uint8_t>(bits_[cell / 4] | (step << (cell % 4 * 2)));
  }
  Step at(std::size_t row, std::size_t column) const {
    const std::size_t cell = row * columns_ + column;
    return static_cast<Step>((bits_[cell / 4] >> (cell % 4 * 2)) & 3);
  }

 private:
  std::size_t columns_;
  std::vector<std::uint8_t> bits_;
};

double shareFactor(std::span<const double> seconds) {
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return sum > 0 ? 1 / sum : 0;
}

}  // namespace

std::optional<Alignment> align(const AlignSide& a, const AlignSide& b) {
  std::size_t begin = 0, a_end = a.key.size(), b_end = b.key.size();
  while (begin < std::min(a_end, b_end) && a.key[begin] == b.key[begin]) ++begin;
  while (std::min(a_end, b_end) > begin && a.key[a_end - 1] == b.key[b_end - 1]) {
    --a_end;
    --b_end;
  }
  const std::size_t rows = a_end - begin, columns = b_end - begin;
  if (static_cast<double>(rows) * static_cast<double>(columns) > kMaxAlignCells) return std::nullopt;

  const double a_factor = shareFactor(a.seconds), b_factor = shareFactor(b.seconds);
  StepTable steps(rows, columns);
  // best[j]: weight of the best match of what was passed of `a` with the first j of the middle of `b`.
  std::vector<double> best(columns + 1, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    double diagonal = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const double above = best[j + 1];
      double value = above;
      Step step = kSkipA;
      if (best[j] > value) {
        value = best[j];
        step = kSkipB;
      }
      if (a.key[begin + i] == b.key[begin + j]) {
        const double match = diagonal + a.seconds[begin + i] * a_factor + b.seconds[begin + j] * b_factor;
        if (match >= value) {
          value = match;
          step = kMatch;
        }
      }
      steps.set(i, j, step);
      diagonal = above;
      best[j + 1] = value;
    }
  }
  Alignment middle;
  for (std::size_t i = rows, j = columns; i > 0 && j > 0;) {
    const Step step = steps.at(i - 1, j - 1);
    if (step == kMatch) middle.emplace_back(begin + i - 1, begin + j - 1);
    if (step != kSkipB) --i;
    if (step != kSkipA) --j;
  }
  Alignment all;
  for (std::size_t i = 0; i < begin; ++i) all.emplace_back(i, i);
  all.insert(all.end(), middle.rbegin(), middle.rend());
  for (std::size_t i = a_end, j = b_end; i < a.key.size(); ++i, ++j) all.emplace_back(i, j);
  return all;
}

std::string_view deviceFreeName(std::string_view name) {
  constexpr std::string_view kWrapper = "autograd::engine::evaluate_function: ";
  constexpr std::string_view kNamespace = "aten::";
  constexpr std::array<std::string_view, 6> kMakers{"Mkldnn", "Cudnn", "Native", "Miopen", "Thnn", "Slow"};
  if (name.starts_with(kWrapper)) name.remove_prefix(kWrapper.size());
  if (name.starts_with(kNamespace)) name.remove_prefix(kNamespace.size());
  if (name.find("Backward") == std::string_view::npos) return name;
  for (const std::string_view maker : kMakers) {
    if (name.starts_with(maker)) return name.substr(maker.size());
  }
  return name;
}

}  // namespace allot
