// Shapes of operators that put the same elements elsewhere.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "formats/onnx/rules_list.h"

namespace allot::onnx {

// The target may hold 0 (take the input's), -1 (whatever is left) and holes. One missing dimension follows
// from the number of elements.
void reshapeShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* from = site.shape(0);
  std::vector<std::int64_t> target;
  if (const auto* listed = site.list("shape")) {
    target = *listed;
  } else if (const Value* value = site.in(1); value != nullptr && value->integers) {
    target = *value->integers;
  } else {
    const Shape* shape = site.shape(1);
    if (shape != nullptr && shape->size() == 1 && shape->front() >= 0 && shape->front() <= 64) {
      site.setShape(0, Shape(static_cast<std::size_t>(shape->front()), -1));
    }
    return;
  }
  const bool allow_zero = site.integer("allowzero", 0) != 0;
  Shape out(target.size(), -1);
  std::size_t missing = 0;
  std::size_t missing_at = 0;
  for (std::size_t at = 0; at < target.size(); ++at) {
    if (target[at] > 0 || (target[at] == 0 && allow_zero)) {
      out[at] = target[at];
    } else if (target[at] == 0) {
      out[at] = from != nullptr && at < from->size() ? (*from)[at] : -1;
    } else if (target[at] < -1 && target[at] != kHole) {
      site.problem = fmt::format("the target of a reshape holds {}", target[at]);
      return;
    }
    if (out[at] < 0) {
      ++missing;
      missing_at = at;
    }
  }
  const std::int64_t count = from != nullptr ? product(*from) : -1;
  if (missing == 1 && count >= 0) {
    std::int64_t rest = 1;
    for (const std::int64_t dim : out) {
      if (dim >= 0) rest = timesDim(rest, dim);
    }
    if (rest > 0 && count % rest == 0) {
      out[missing_at] = count / rest;
    } else if (rest > 0 || count > 0) {
      site.problem = fmt::format("{} cannot be reshaped to {}", shapeText(*from), shapeText(out));
      return;
    }
  } else if (missing == 0 && count >= 0 && product(out) != count) {
    site.problem = fmt::format("{} cannot be reshaped to {}", shapeText(*from), shapeText(out));
    return;
  }
  site.setShape(0, out);
}

void flattenShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return;
  const auto rank = static_cast<std::int64_t>(shape->size());
  std::int64_t axis = site.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return;
  const auto cut = static_cast<std::size_t>(axis);
  site.setShape(0, {product(*shape, 0, cut), product(*shape, cut, shape->size())});
}

void squeezeShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  const Site::List axes = site.listOf("axes", 1);
  if (shape == nullptr || (axes.given && !axes.values)) return;
  std::vector<bool> drop(shape->size(), false);
  if (axes.given) {
    for (const std::int64_t axis : *axes.values) {
      const auto at = axisOf(axis, shape->size());
      if (!at || (*shape)[*at] > 1) {
        site.problem = fmt::format("axis {} of {} cannot be squeezed", axis, shapeText(*shape));
        return;
      }
      drop[*at] = true;
    }
  } else {
    for (std::size_t at = 0; at < shape->size(); ++at) {
      if ((*shape)[at] < 0) return;
      drop[at] = (*shape)[at] == 1;
    }
  }
  Shape out;
  for (std::size_t at = 0; at < shape->size(); ++at) {
    if (!drop[at]) out.push_back((*shape)[at]);
  }
  site.setShape(0, out);
}

void unsqueezeShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  const Site::List axes = site.listOf("axes", 1);
  if (shape == nullptr || !axes.values || axes.values->size() > 64) return;
  const std::size_t rank = shape->size() + axes.values->size();
  std::vector<bool> fresh(rank, false);
  for (const std::int64_t axis : *axes.values) {
    const auto at = axisOf(axis, rank);
    if (!at || fresh[*at]) {
      site.problem = fmt::format("axis {} of {} cannot be added", axis, shapeText(*shape));
      return;
    }
    fresh[*at] = true;
  }
  Shape out(rank, 1);
  std::size_t next = 0;
  for (std::size_t at = 0; at < rank; ++at) {
    if (!fresh[at]) out[at] = (*shape)[next++];
  }
  site.setShape(0, out);
}

void transposeShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return;
  const auto* order = site.list("perm");
  if (order == nullptr || order->empty()) return site.setShape(0, Shape(shape->rbegin(), shape->rend()));
  if (order->size() != shape->size()) {
    site.problem = fmt::format("perm has {} entries for {}", order->size(), shapeText(*shape));
    return;
  }
  Shape out;
  for (const std::int64_t axis : *order) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(shape->size())) return;
    out.push_back((*shape)[static_cast<std::size_t>(axis)]);
  }
  site.setShape(0, out);
}

void concatShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* first = site.shape(0);
  if (first == nullptr) return;
  const auto axis = axisOf(site.integer("axis", 1), first->size());
  if (!axis) return;
  Shape out = *first;
  for (std::size_t at = 1; at < site.inputs.size(); ++at) {
    const Shape* shape = site.shape(at);
    if (shape == nullptr) return;
    if (shape->size() != out.size()) {
      site.problem = fmt::format("{} and {} cannot be joined", shapeText(out), shapeText(*shape));
      return;
    }
    for (std::size_t dim = 0; dim < out.size(); ++dim) {
      if (dim == *axis) {
        out[dim] = plusDim(out[dim], (*shape)[dim]);
      } else if (out[dim] < 0) {
        out[dim] = (*shape)[dim];
      } else if ((*shape)[dim] >= 0 && (*shape)[dim] != out[dim]) {
        site.problem = fmt::format("{} and {} cannot be joined along axis {}", shapeText(*first),
                                   shapeText(*shape), *axis);
        return;
      }
    }
  }
  site.setShape(0, out);
}

void splitShape(Site& site) {
  for (std::size_t at = 0; at < site.outputs.size(); ++at) site.setType(at, site.type(0));
  const Shape* shape = site.shape(0);
  if (shape == nullptr || site.outputs.empty()) return;
  const auto axis = axisOf(site.integer("axis", 0), shape->size());
  if (!axis) return;
  const Site::List parts = site.listOf("split", 1);
  const std::int64_t whole = (*shape)[*axis];
  const auto count = static_cast<std::int64_t>(site.outputs.size());
  for (std::size_t at = 0; at < site.outputs.size(); ++at) {
    Shape out = *shape;
    out[*axis] = -1;
    if (parts.values) {
      if (at < parts.values->size() && (*parts.values)[at] >= 0) out[*axis] = (*parts.values)[at];
    } else if (!parts.given && whole >= 0) {
      // Equal parts, the last one smaller where the division leaves a rest.
      const std::int64_t part = (whole + count - 1) / count;
      const auto place = static_cast<std::int64_t>(at);
      out[*axis] = std::clamp<std::int64_t>(whole - place * part, 0, part);
    }
    site.setShape(at, out);
  }
}

void sliceShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return;
  const Site::List starts = site.listOf("starts", 1);
  const Site::List ends = site.listOf("ends", 2);
  const Site::List axes = site.listOf("axes", 3);
  const Site::List steps = site.listOf("steps", 4);
  Shape out = *shape;
  if (axes.given && !axes.values) return site.setShape(0, Shape(shape->size(), -1));
  // Without axes the first ones are meant; where their number is not known either, any may be cut.
  std::size_t count = shape->size();
  if (axes.values) {
    count = axes.values->size();
  } else if (starts.values) {
    count = starts.values->size();
  } else if (const Shape* listed = site.shape(1);
             listed != nullptr && listed->size() == 1 && listed->front() >= 0) {
    count = static_cast<std::size_t>(listed->front());
  }
  const Value* partial_ends = site.in(2);
  const Value* partial_starts = site.in(1);
  for (std::size_t at = 0; at < count; ++at) {
    const auto axis = axes.values ? axisOf((*axes.values)[at], shape->size())
                                  : axisOf(static_cast<std::int64_t>(at), shape->size());
    if (!axis) {
      site.problem = fmt::format("a slice names an axis outside {}", shapeText(*shape));
      return;
    }
    const auto entry = [at](const Site::List& list, const Value* partial) -> std::optional<std::int64_t> {
      if (list.values) return at < list.values->size() ? std::optional((*list.values)[at]) : std::nullopt;
      if (partial == nullptr || !partial->integers || at >= partial->integers->size()) return std::nullopt;
      const std::int64_t found = (*partial->integers)[at];
      return found == kHole ? std::nullopt : std::optional(found);
    };
    const std::int64_t dim = (*shape)[*axis];
    const auto start = entry(starts, partial_starts);
    const auto end = entry(ends, partial_ends);
    std::optional<std::int64_t> step = 1;
    if (steps.given) step = entry(steps, site.in(4));
    out[*axis] = -1;
    if (step && *step == 0) {
      site.problem = "a slice has step 0";
      return;
    }
    if (start && end && step && *start == 0 && *end >= kMostDim && *step == 1) {
      out[*axis] = dim;
      continue;
    }
    if (dim < 0 || !start || !end || !step) continue;
    const std::int64_t low = *step > 0 ? 0 : -1;
    const std::int64_t high = *step > 0 ? dim : dim - 1;
    const auto place = [&](std::int64_t at_index) {
      return std::clamp(at_index < 0 ? std::max(at_index, -dim - 1) + dim : at_index, low, high);
    };
    const std::int64_t from = place(*start);
    const std::int64_t to = place(*end);
    if (*step > 0) {
      out[*axis] = to > from ? (to - from - 1) / *step + 1 : 0;
    } else {
      // A step of the smallest integer has no negative; one element is all it can reach.
      const std::int64_t back = *step < -kMostElements ? kMostElements : -*step;
      out[*axis] = from > to ? (from - to - 1) / back + 1 : 0;
    }
  }
  site.setShape(0, out);
}

void expandShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  const Value* target = site.in(1);
  if (shape == nullptr || target == nullptr) return;
  Shape wanted;
  if (target->integers) {
    wanted = *target->integers;
    for (std::int64_t& dim : wanted) dim = dim < 0 ? -1 : dim;
  } else if (target->shape && target->shape->size() == 1 && target->shape->front() >= 0 &&
             target->shape->front() <= 64) {
    wanted.assign(static_cast<std::size_t>(target->shape->front()), -1);
  } else {
    return;
  }
  Shape out = *shape;
  if (!broadcastInto(out, wanted)) {
    site.problem = fmt::format("{} cannot be expanded to {}", shapeText(*shape), shapeText(wanted));
    return;
  }
  site.setShape(0, out);
}

void tileShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return;
  Shape out(shape->size(), -1);
  // Opset 1 repeats along one axis only.
  if (site.version > 0 && site.version < 6) {
    const auto times = site.scalar(1);
    const auto axis = site.scalar(2);
    if (!times || !axis || !(*times >= 0 && *times < 1e12) || !(std::abs(*axis) < 64)) return;
    const auto at = axisOf(static_cast<std::int64_t>(*axis), shape->size());
    if (!at) return;
    out = *shape;
    out[*at] = timesDim(out[*at], static_cast<std::int64_t>(*times));
    return site.setShape(0, out);
  }
  const Value* repeats = site.in(1);
  if (repeats != nullptr && repeats->integers) {
    if (repeats->integers->size() != shape->size()) return;
    for (std::size_t at = 0; at < out.size(); ++at) {
      out[at] = timesDim((*shape)[at], std::max<std::int64_t>((*repeats->integers)[at], -1));
    }
  }
  site.setShape(0, out);
}

void padShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return;
  Site::List pads = site.listOf("pads", 1);
  if (const auto* old = site.list("paddings")) pads = {true, *old};
  const Site::List axes = site.listOf("axes", 3);
  Shape out(shape->size(), -1);
  if (pads.values && (!axes.given || axes.values)) {
    const std::size_t count = axes.given ? axes.values->size() : shape->size();
    if (pads.values->size() != 2 * count) return;
    out = *shape;
    for (std::size_t at = 0; at < count; ++at) {
      const auto axis =
          axisOf(axes.given ? (*axes.values)[at] : static_cast<std::int64_t>(at), shape->size());
      if (!axis) return;
      if (out[*axis] < 0) continue;
      std::int64_t sum = 0;
      if (__builtin_add_overflow((*pads.values)[at], (*pads.values)[count + at], &sum) ||
          __builtin_add_overflow(sum, out[*axis], &sum) || sum < 0) {
        site.problem = fmt::format("padding leaves {} elements along axis {}", sum, *axis);
        return;
      }
      out[*axis] = sum;
    }
  }
  site.setShape(0, out);
}

void depthToSpaceShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  const std::int64_t block = site.integer("blocksize", 0);
  if (shape == nullptr || shape->size() != 4 || block <= 0 || block > kMostDim) return;
  const std::int64_t area = timesDim(block, block);
  site.setShape(0, {(*shape)[0], (*shape)[1] < 0 ? -1 : (*shape)[1] / area, timesDim((*shape)[2], block),
                    timesDim((*shape)[3], block)});
}

void spaceToDepthShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  const std::int64_t block = site.integer("blocksize", 0);
  if (shape == nullptr || shape->size() != 4 || block <= 0 || block > kMostDim) return;
  const auto part = [block](std::int64_t dim) { return dim < 0 ? -1 : dim / block; };
  site.setShape(
      0, {(*shape)[0], timesDim((*shape)[1], timesDim(block, block)), part((*shape)[2]), part((*shape)[3])});
}

void centerCropPadShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return;
  const auto* target = site.integers(1);
  const auto* axes = site.list("axes");
  Shape out = *shape;
  const std::size_t count = axes != nullptr ? axes->size() : shape->size();
  if (target != nullptr && target->size() != count) return;
  for (std::size_t at = 0; at < count; ++at) {
    const auto axis = axisOf(axes != nullptr ? (*axes)[at] : static_cast<std::int64_t>(at), shape->size());
    if (!axis) return;
    out[*axis] = target != nullptr ? std::max<std::int64_t>((*target)[at], -1) : -1;
  }
  site.setShape(0, out);
}

}  // namespace allot::onnx
