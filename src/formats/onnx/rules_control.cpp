// Types of If, Loop and Scan: bodies are inferred with what is bound to their inputs.
#include <algorithm>

#include "formats/onnx/rules_list.h"

namespace allot::onnx {
namespace {

constexpr int kDeepestSettled = 3;

const Graph* bodyOf(const Site& site, std::string_view name) {
  const Attribute* found = site.attribute(name);
  return found != nullptr ? found->graph.get() : nullptr;
}

// What holds for both values.
Value common(const Value& a, const Value& b) {
  Value out;
  out.kind = a.kind == b.kind ? a.kind : Type::Kind::kNone;
  out.element = a.element == b.element ? a.element : ElementType::kUndefined;
  out.length = a.length == b.length ? a.length : -1;
  if (a.shape && b.shape) {
    Shape shape = *a.shape;
    if (commonShape(shape, *b.shape)) out.shape = std::move(shape);
  }
  return out;
}

Value withoutContents(const Value& value) {
  Value out;
  out.kind = value.kind;
  out.element = value.element;
  out.shape = value.shape;
  out.length = value.length;
  return out;
}

bool sameType(const Value& a, const Value& b) {
  return a.kind == b.kind && a.element == b.element && a.shape == b.shape && a.length == b.length;
}

// Values carried around a body: what holds before and after every turn. A dimension that changes is given up
// first, then the whole shape. Loops nested deeper than kDeepestSettled give up all carried shapes at once,
// lest the visits grow with the power of the depth.
std::vector<Value> settle(Site& site, const Graph& body, std::vector<Value>& bound, std::size_t first,
                          std::size_t count, std::size_t first_output) {
  std::vector<Value> made;
  if (site.bodies->depth() >= kDeepestSettled) {
    for (std::size_t at = 0; at < count; ++at) bound[first + at].shape.reset();
    return site.bodies->run(body, bound);
  }
  for (int round = 0; round < 3; ++round) {
    made = site.bodies->run(body, bound);
    bool stable = true;
    for (std::size_t at = 0; at < count && first_output + at < made.size(); ++at) {
      const Value& after = made[first_output + at];
      Value& before = bound[first + at];
      Value both = common(before, after);
      if (before.kind == Type::Kind::kNone) both = withoutContents(before);
      if (sameType(both, before)) continue;
      if (round == 1) both.shape.reset();
      before = std::move(both);
      stable = false;
    }
    if (stable) break;
  }
  return made;
}

Value stacked(const Value& value, std::int64_t axis, std::int64_t count) {
  Value out = withoutContents(value);
  if (!out.shape) return out;
  const auto at = axisOf(axis, out.shape->size() + 1);
  if (!at) {
    out.shape.reset();
  } else {
    out.shape->insert(out.shape->begin() + static_cast<std::ptrdiff_t>(*at), count);
  }
  return out;
}

}  // namespace

void ifShape(Site& site) {
  const Graph* then_branch = bodyOf(site, "then_branch");
  const Graph* else_branch = bodyOf(site, "else_branch");
  if (then_branch == nullptr || else_branch == nullptr || site.bodies == nullptr) return;
  const std::vector<Value> yes = site.bodies->run(*then_branch, {});
  const std::vector<Value> no = site.bodies->run(*else_branch, {});
  const auto taken = site.scalar(0);
  for (std::size_t at = 0; at < site.outputs.size(); ++at) {
    if (at >= yes.size() || at >= no.size()) return;
    site.outputs[at] = taken ? (*taken != 0 ? yes[at] : no[at]) : common(yes[at], no[at]);
    // Which branch runs depends on the condition, even where both are constant.
    site.outputs[at].constant = false;
    site.outputs[at].description = false;
  }
}

// Inputs: trip count, condition, carried values. The body: turn, condition, carried -> condition, carried,
// rows of the scanned outputs.
void loopShape(Site& site) {
  const Graph* body = bodyOf(site, "body");
  if (body == nullptr || site.bodies == nullptr || site.inputs.size() < 2) return;
  const std::size_t carried = site.inputs.size() - 2;
  std::vector<Value> bound(2 + carried);
  bound[0].kind = bound[1].kind = Type::Kind::kTensor;
  bound[0].element = ElementType::kInt64;
  bound[1].element = ElementType::kBool;
  bound[0].shape = bound[1].shape = Shape{};
  // The body runs only while the condition holds.
  bound[1].integers = {1};
  for (std::size_t at = 0; at < carried; ++at) {
    if (site.in(2 + at) != nullptr) bound[2 + at] = withoutContents(*site.in(2 + at));
  }
  const std::vector<Value> made = settle(site, *body, bound, 2, carried, 1);
  if (made.empty()) return;
  const auto trips = site.scalar(0);
  const auto asked = site.in(1) == nullptr ? std::optional<double>(1) : site.scalar(1);
  // The condition that the body gives is true for sure where it is folded to true.
  const bool goes_on = made[0].integers && made[0].integers->size() == 1 && made[0].integers->front() == 1;
  std::int64_t count = -1;
  if (asked && *asked == 0) {
    count = 0;
  } else if (trips && asked && goes_on && *trips < 1e12) {
    count = static_cast<std::int64_t>(std::max(0.0, *trips));
  }
  for (std::size_t at = 0; at < site.outputs.size(); ++at) {
    if (1 + at >= made.size()) return;
    // A loop that never turns gives back what it was given.
    site.outputs[at] = at < carried ? common(bound[2 + at], made[1 + at]) : stacked(made[1 + at], 0, count);
  }
}

// Opset 8 has a batch axis and an optional first input for sequence lengths; later ones have neither.
void scanShape(Site& site) {
  const Graph* body = bodyOf(site, "body");
  if (body == nullptr || site.bodies == nullptr) return;
  const bool batched = site.version == 8;
  const std::size_t first = batched ? 1 : 0;
  const std::int64_t listed = site.integer("num_scan_inputs", -1);
  if (listed < 1 || site.inputs.size() < first + static_cast<std::size_t>(listed)) return;
  const auto scanned = static_cast<std::size_t>(listed);
  const std::size_t states = site.inputs.size() - first - scanned;
  const auto* axes = site.list("scan_input_axes");
  std::vector<Value> bound(states + scanned);
  std::int64_t batch = -1;
  std::int64_t count = -1;
  for (std::size_t at = 0; at < states + scanned; ++at) {
    const Value* input = site.in(first + at);
    if (input == nullptr) continue;
    bound[at] = withoutContents(*input);
    if (!bound[at].shape) continue;
    Shape& shape = *bound[at].shape;
    if (batched && !shape.empty()) {
      batch = shape.front();
      shape.erase(shape.begin());
    }
    if (at < states) continue;
    const std::size_t place = at - states;
    const std::int64_t wanted = !batched && axes != nullptr && place < axes->size() ? (*axes)[place] : 0;
    const auto axis = axisOf(wanted, shape.size());
    if (!axis) {
      bound[at].shape.reset();
      continue;
    }
    if (shape[*axis] >= 0) count = shape[*axis];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  }
  const std::vector<Value> made = settle(site, *body, bound, 0, states, 0);
  const auto* out_axes = site.list("scan_output_axes");
  for (std::size_t at = 0; at < site.outputs.size() && at < made.size(); ++at) {
    if (at < states) {
      site.outputs[at] = common(bound[at], made[at]);
    } else {
      const std::size_t place = at - states;
      site.outputs[at] =
          stacked(made[at], out_axes != nullptr && place < out_axes->size() ? (*out_axes)[place] : 0, count);
    }
    if (batched && site.outputs[at].shape)
      site.outputs[at].shape->insert(site.outputs[at].shape->begin(), batch);
  }
}

}  // namespace allot::onnx
