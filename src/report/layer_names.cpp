#include "report/layer_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace allot {
namespace {

bool isSeparator(char c) {
  return c == '/' || c == '.';
}

// "layers.12" -> "layers." and 12; nothing where the name does not end in a number.
struct Numbered {
  std::string_view stem;
  std::uint64_t number = 0;
};
std::optional<Numbered> numbered(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && text[text.size() - digits - 1] >= '0' &&
         text[text.size() - digits - 1] <= '9')
    ++digits;
  if (digits == 0 || digits > 9) return std::nullopt;
  Numbered result{text.substr(0, text.size() - digits), 0};
  std::from_chars(text.data() + result.stem.size(), text.data() + text.size(), result.number);
  return result;
}

class NameTree {
 public:
  NameTree(const Problem& problem, const std::vector<DeviceId>& assignment)
      : problem_(problem), assignment_(assignment) {
    parts_.emplace_back();
    for (std::size_t i = 0; i < problem.opCount(); ++i) add(OpId(i));
  }

  std::vector<LayerLine> lines() {
    collect(0);
    std::vector<LayerLine> joined;
    for (std::size_t begin = 0; begin < lines_.size();) {
      std::size_t end = begin + 1;
      while (end < lines_.size() && lines_[end].parent == lines_[begin].parent &&
             lines_[end].line.device == lines_[begin].line.device)
        ++end;
      joined.push_back(join(begin, end));
      begin = end;
    }
    return joined;
  }

 private:
  struct Part {
    std::map<std::string_view, std::uint32_t> by_name;
    std::vector<std::uint32_t> children;  // in the order of their first op
    std::string_view prefix;              // the name up to here
    OpId op;                              // an op that ends here
    DeviceId device;
    bool mixed = false;
    std::size_t ops = 0;
    double seconds = 0;
  };
  struct Line {
    LayerLine line;
    std::string_view prefix;
    std::uint32_t parent;
  };

  const Problem& problem_;
  const std::vector<DeviceId>& assignment_;
  std::vector<Part> parts_;
  std::vector<Line> lines_;

  // Neighbours below one part: "layers.0-11" where they are counted, else the first and the last.
  LayerLine join(std::size_t begin, std::size_t end) const {
    LayerLine all = lines_[begin].line;
    if (begin + 1 == end) return all;
    const auto first = numbered(lines_[begin].prefix);
    auto last = first;
    for (std::size_t i = begin + 1; i < end; ++i) {
      all.ops += lines_[i].line.ops;
      all.seconds += lines_[i].line.seconds;
      const auto next = numbered(lines_[i].prefix);
      const bool goes_on = last && next && next->stem == last->stem && next->number == last->number + 1;
      last = goes_on ? next : std::nullopt;
    }
    const std::string_view back = lines_[end - 1].prefix;
    const std::size_t cut = back.find_last_of("/.");
    all.layers =
        last ? fmt::format("{}{}-{}", first->stem, first->number, last->number)
             : fmt::format(
                   "{} .. {}", lines_[begin].prefix,
                   cut == std::string_view::npos || cut + 1 == back.size() ? back : back.substr(cut + 1));
    return all;
  }

  void count(Part& part, DeviceId device, double seconds) {
    part.mixed = part.mixed || (part.ops > 0 && part.device != device);
    part.device = device;
    part.ops += 1;
    part.seconds += seconds;
  }

  void add(OpId op) {
    const std::string_view name = problem_.graph.op_name[op.index()];
    const DeviceId device = assignment_[op.index()];
    const double seconds = problem_.opSeconds(op, device);
    std::uint32_t at = 0;
    count(parts_[0], device, seconds);
    for (std::size_t begin = 0; begin < name.size();) {
      std::size_t end = begin;
      while (end < name.size() && isSeparator(name[end])) ++end;
      while (end < name.size() && !isSeparator(name[end])) ++end;
      const auto [entry, fresh] = parts_[at].by_name.emplace(name.substr(begin, end - begin),
                                                             static_cast<std::uint32_t>(parts_.size()));
      const std::uint32_t child = entry->second;
      if (fresh) {
        parts_[at].children.push_back(child);
        parts_.emplace_back().prefix = name.substr(0, end);
      }
      at = child;
      count(parts_[at], device, seconds);
      begin = end;
    }
    parts_[at].op = op;
  }

  // A stack of our own: hostile names have many separators.
  void collect(std::uint32_t root) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> open{{root, root}};  // part, parent
    while (!open.empty()) {
      const auto [at, parent] = open.back();
      open.pop_back();
      const Part& part = parts_[at];
      if (!part.mixed) {
        const std::string_view shown = at == root ? std::string_view("all layers") : part.prefix;
        lines_.push_back({{std::string(shown), part.device, part.ops, part.seconds}, part.prefix, parent});
        continue;
      }
      if (part.op.valid()) {
        const DeviceId device = assignment_[part.op.index()];
        const double seconds = problem_.opSeconds(part.op, device);
        lines_.push_back({{std::string(part.prefix), device, 1, seconds}, part.prefix, parent});
      }
      for (auto child = part.children.rbegin(); child != part.children.rend(); ++child)
        open.emplace_back(*child, at);
    }
  }
};

}  // namespace

std::vector<LayerLine> layerLines(const Problem& problem, const std::vector<DeviceId>& assignment) {
  return NameTree(problem, assignment).lines();
}

std::vector<OpId> opsOfLayer(const OpGraph& graph, std::string_view layer) {
  std::vector<OpId> ops;
  for (std::size_t i = 0; i < graph.opCount(); ++i) {
    const std::string_view name = graph.op_name[i];
    if (name == layer) return {OpId(i)};
    if (name.size() > layer.size() && name.starts_with(layer) && isSeparator(name[layer.size()]))
      ops.emplace_back(i);
  }
  return ops;
}

}  // namespace allot
