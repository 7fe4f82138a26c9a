#include "formats/onnx/dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_set>

namespace allot::onnx {
namespace {

constexpr std::int64_t kMaxDim = std::int64_t{1} << 40;
constexpr std::size_t kShown = 20;

bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

// Sums, differences, products and quotients of names and whole numbers, with brackets. A text that is none is
// a name as it stands; so is "batch-size", because exporters put blanks around the signs that names may hold.
class Expression {
 public:
  explicit Expression(std::string_view text) : text_(text) {
    scan();
    if (!good_) names_.assign(1, std::string(text));
  }

  // The names it is made of.
  const std::vector<std::string>& names() const { return names_; }

  std::optional<std::int64_t> value(const Dims& dims) {
    const auto given = dims.find(std::string(text_));
    if (given != dims.end()) return given->second;
    if (!good_) return std::nullopt;
    dims_ = &dims;
    const auto result = scan();
    return result && *result >= 0 && *result <= kMaxDim ? result : std::nullopt;
  }

 private:
  std::optional<std::int64_t> scan() {
    at_ = 0;
    depth_ = 0;
    good_ = true;
    names_.clear();
    const auto result = sum();
    good_ = good_ && at_ == text_.size() && !names_.empty();
    return good_ ? result : std::nullopt;
  }

  bool accept(std::string_view sign) {
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  std::optional<std::int64_t> sum() {
    auto left = product();
    while (good_) {
      const bool plus = accept(" + ");
      if (!plus && !accept(" - ")) break;
      const auto right = product();
      std::int64_t result = 0;
      if (!left || !right ||
          (plus ? __builtin_add_overflow(*left, *right, &result)
                : __builtin_sub_overflow(*left, *right, &result)))
        left = std::nullopt;
      else
        left = result;
    }
    return left;
  }

  std::optional<std::int64_t> product() {
    auto left = factor();
    while (good_) {
      const bool times = accept("*") || accept(" * ");
      if (!times && !accept("//") && !accept(" // ") && !accept(" / ")) break;
      const auto right = factor();
      std::int64_t result = 0;
      if (!left || !right ||
          (times ? __builtin_mul_overflow(*left, *right, &result) : *left < 0 || *right <= 0))
        left = std::nullopt;
      else
        left = times ? result : *left / *right;
    }
    return left;
  }

  std::optional<std::int64_t> factor() {
    const std::size_t begin = at_;
    if (accept("(")) {
      good_ = good_ && ++depth_ <= 16;
      if (!good_) return std::nullopt;
      const auto inner = sum();
      --depth_;
      good_ = good_ && accept(")");
      return inner;
    }
    if (at_ < text_.size() && isDigit(text_[at_])) {
      while (at_ < text_.size() && isDigit(text_[at_])) ++at_;
      std::int64_t number = 0;
      good_ = good_ && std::from_chars(text_.data() + begin, text_.data() + at_, number).ec == std::errc();
      return number;
    }
    if (at_ == text_.size() || !isNameStart(text_[at_])) {
      good_ = false;
      return std::nullopt;
    }
    while (at_ < text_.size() && (isNameStart(text_[at_]) || isDigit(text_[at_]) || text_[at_] == '.')) ++at_;
    names_.emplace_back(text_.substr(begin, at_ - begin));
    if (dims_ == nullptr) return std::nullopt;
    const auto found = dims_->find(names_.back());
    return found == dims_->end() ? std::nullopt : std::optional(found->second);
  }

  std::string_view text_;
  const Dims* dims_ = nullptr;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool good_ = true;
  std::vector<std::string> names_;
};

// A value that makes a fair example of the command.
int exampleOf(std::string_view name) {
  for (const std::string_view part : {"seq", "len", "token", "time", "ctx", "context"}) {
    if (name.find(part) != std::string_view::npos) return 128;
  }
  for (const std::string_view part : {"height", "width"}) {
    if (name.find(part) != std::string_view::npos) return 224;
  }
  return 1;
}

std::string argumentOf(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return isNameStart(c) || isDigit(c) || c == '.' || c == '-' || c == ':' || c == '/';
  });
  std::string quoted;
  for (const char c : name) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return plain ? fmt::format("--dim {}={}", name, exampleOf(name))
               : fmt::format("--dim '{}={}'", quoted, exampleOf(name));
}

class Binder {
 public:
  Binder(Model& model, const std::map<std::string, std::int64_t>& given) : model_(model), dims_(given) {}

  Result<Dims> run() {
    // Inputs that are initialisers have their dimensions there.
    std::unordered_set<std::string_view> fed;
    for (const ValueInfo& input : model_.graph.inputs) fed.insert(input.name);
    for (const Tensor& tensor : model_.graph.initializers) fed.erase(tensor.name);
    for (ValueInfo& input : model_.graph.inputs) {
      if (fed.contains(input.name)) bindInput(input);
    }
    ALLOT_CHECK(checkMissing());
    bindGraph(model_.graph);
    ALLOT_CHECK(checkGiven());
    return std::move(dims_);
  }

 private:
  void add(const std::string& name) {
    if (known_.insert(name).second) order_.push_back(name);
  }

  void bindInput(ValueInfo& input) {
    for (std::size_t axis = 0; axis < input.type.dims.size(); ++axis) {
      Dim& dim = input.type.dims[axis];
      if (dim.value >= 0) continue;
      if (dim.symbol.empty()) dim.symbol = model_.owned.emplace_back(fmt::format("{}.{}", input.name, axis));
      Expression expression(dim.symbol);
      const auto names = expression.names();
      for (const std::string& name : names) add(name);
      if (expression.value(dims_)) continue;
      for (const std::string& name : names) {
        if (!dims_.contains(name) && missing_.insert(name).second)
          missing_order_.push_back({name, fmt::format("axis {} of {}", axis, input.name)});
      }
      if (std::all_of(names.begin(), names.end(), [&](const auto& name) { return dims_.contains(name); }))
        impossible_ = std::string(dim.symbol);
    }
  }

  Result<void> checkMissing() const {
    if (!missing_order_.empty()) {
      std::string names, command;
      for (const auto& [name, place] : missing_order_) {
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", name, place);
        command += fmt::format("{}{}", command.empty() ? "" : " ", argumentOf(name));
      }
      return badInput("inputs", fmt::format("dimensions without a value: {}", names),
                      fmt::format("add {}", command));
    }
    if (!impossible_.empty())
      return badInput("--dim",
                      fmt::format("the dimension \"{}\" of an input gets no sensible value", impossible_),
                      fmt::format("use other values, or give it one: --dim '{}=1'", impossible_));
    return {};
  }

  void bindGraph(Graph& graph) {
    for (auto* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
      for (ValueInfo& info : *list) {
        for (Dim& dim : info.type.dims) bindDim(dim);
      }
    }
    for (Node& node : graph.nodes) {
      for (Attribute& attribute : node.attributes) {
        if (attribute.graph) bindGraph(*attribute.graph);
        for (const auto& body : attribute.graphs) bindGraph(*body);
      }
    }
  }

  void bindDim(Dim& dim) {
    if (dim.value >= 0 || dim.symbol.empty()) return;
    const auto [found, fresh] = values_.try_emplace(dim.symbol, std::nullopt);
    if (fresh) {
      Expression expression(dim.symbol);
      found->second = expression.value(dims_);
      add(std::string(dim.symbol));
      for (const std::string& name : expression.names()) add(name);
      if (found->second) dims_.emplace(dim.symbol, *found->second);
    }
    if (found->second) dim.value = *found->second;
  }

  Result<void> checkGiven() const {
    for (const auto& [name, value] : dims_) {
      if (value < 0 || value > kMaxDim)
        return badInput("--dim", fmt::format("\"{}\" cannot be {}", name, value),
                        fmt::format("give a whole number from 0 to {}", kMaxDim));
      if (known_.contains(name)) continue;
      std::string names;
      for (std::size_t i = 0; i < order_.size() && i < kShown; ++i)
        names += fmt::format("{}{}", i == 0 ? "" : ", ", order_[i]);
      if (order_.size() > kShown) names += ", ...";
      return badInput(fmt::format("--dim {}", name), fmt::format("the model has no dimension \"{}\"", name),
                      order_.empty() ? "leave it out: all its dimensions are known"
                                     : fmt::format("use one of {}", names));
    }
    return {};
  }

  Model& model_;
  Dims dims_;
  std::unordered_map<std::string_view, std::optional<std::int64_t>> values_;
  std::set<std::string> known_, missing_;
  std::vector<std::string> order_;  // as they come in the file
  std::vector<std::pair<std::string, std::string>>
      missing_order_;  // the same, with the place of the first use
  std::string impossible_;
};

}  // namespace

Result<Dims> bindDims(Model& model, const std::map<std::string, std::int64_t>& given) {
  return Binder(model, given).run();
}

}  // namespace allot::onnx
