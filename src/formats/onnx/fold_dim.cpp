// Declared dimensions: numbers, symbols, and the sums exporters write between them.
#include <cctype>
#include <charconv>

#include "formats/onnx/types.h"

namespace allot::onnx {
namespace {

// Grammar: sum of products of factors; a factor is a number, a bound name or a sum in parentheses. Division
// rounds down, as exporters mean it ("//" and "/" alike).
class DimReader {
 public:
  DimReader(std::string_view text, const Dims& dims) : text_(text), dims_(dims) {}

  std::optional<std::int64_t> read() {
    const auto out = sum(0);
    skip();
    return at_ == text_.size() ? out : std::nullopt;
  }

 private:
  using Size = std::optional<std::int64_t>;
  static constexpr int kDeepest = 32;

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Size sum(int depth) {
    Size left = term(depth);
    while (left) {
      const bool plus = take('+');
      if (!plus && !take('-')) return left;
      const Size right = term(depth);
      std::int64_t out = 0;
      if (!right || (plus ? __builtin_add_overflow(*left, *right, &out)
                          : __builtin_sub_overflow(*left, *right, &out))) {
        return std::nullopt;
      }
      left = out;
    }
    return left;
  }

  Size term(int depth) {
    Size left = factor(depth);
    while (left) {
      const bool times = take('*');
      if (!times && !take('/')) return left;
      if (!times) take('/');
      const Size right = factor(depth);
      std::int64_t out = 0;
      if (!right || (!times && *right <= 0)) return std::nullopt;
      if (!times) {
        out = *left / *right - (*left % *right < 0 ? 1 : 0);
      } else if (__builtin_mul_overflow(*left, *right, &out)) {
        return std::nullopt;
      }
      left = out;
    }
    return left;
  }

  Size factor(int depth) {
    if (depth > kDeepest) return std::nullopt;
    if (take('(')) {
      const Size inside = sum(depth + 1);
      return inside && take(')') ? inside : std::nullopt;
    }
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  text_[at_] == '_' || text_[at_] == '.')) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return std::nullopt;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && end == word.data() + word.size()) return number;
    const auto bound = dims_.find(std::string(word));
    return bound != dims_.end() ? Size(bound->second) : std::nullopt;
  }

  std::string_view text_;
  const Dims& dims_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> sizeOf(const Dim& dim, const Dims& dims) {
  if (dim.value >= 0) return dim.value;
  if (dim.symbol.empty() || dims.empty()) return std::nullopt;
  if (const auto found = dims.find(std::string(dim.symbol)); found != dims.end()) return found->second;
  if (dim.symbol.find_first_of("+-*/(") == std::string_view::npos) return std::nullopt;
  return DimReader(dim.symbol, dims).read();
}

}  // namespace allot::onnx
