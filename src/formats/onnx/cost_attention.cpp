// Operations of recurrences, attention and experts.
#include <algorithm>

#include "formats/onnx/cost.h"
#include "formats/onnx/op_table.h"

namespace allot::onnx {
namespace {

// Sizes of one attention; negative where not known.
struct Extent {
  double batch = -1, heads = -1, queries = -1, keys = -1, size = -1, value_size = -1;
  bool known() const {
    return batch >= 0 && heads >= 0 && queries >= 0 && keys >= 0 && size >= 0 && value_size >= 0;
  }
};

double dimOf(const Shape* shape, std::size_t at) {
  return shape != nullptr && at < shape->size() ? static_cast<double>((*shape)[at]) : -1;
}

double headSize(const Shape* shape, double heads) {
  if (shape == nullptr || heads <= 0) return -1;
  if (shape->size() == 4 || shape->size() == 5) return dimOf(shape, shape->size() - 1);
  return dimOf(shape, 2) / heads;
}

double sequenceOf(const Shape* shape) {
  if (shape == nullptr) return -1;
  return dimOf(shape, shape->size() == 4 ? 2 : 1);
}

// Keys of the past come first where there are any; those of the presence hold both.
double totalKeys(const CostSite& site, double fresh, std::size_t past_at, std::size_t axis) {
  if (site.in(past_at) == nullptr) return fresh;
  const double past = dimOf(site.shape(past_at), axis);
  return past < 0 || fresh < 0 ? -1 : past + fresh;
}

Extent extentOf(const CostSite& site) {
  const std::string_view op = site.node->op_type;
  const Shape* q = site.shape(0);
  const Shape* k = site.shape(1);
  const Shape* v = site.shape(2);
  Extent out;
  out.batch = dimOf(q, 0);
  const auto number = [&](std::string_view name) {
    return static_cast<double>(site.node->integer(name, -1));
  };
  if (op == "Attention" && site.node->domain != "com.microsoft") {
    if (q == nullptr || k == nullptr || v == nullptr) return out;
    out.heads = q->size() == 4 ? dimOf(q, 1) : number("q_num_heads");
    const double kv_heads = k->size() == 4 ? dimOf(k, 1) : number("kv_num_heads");
    out.queries = sequenceOf(q);
    out.keys = totalKeys(site, sequenceOf(k), 4, 2);
    out.size = headSize(q, out.heads);
    out.value_size = headSize(v, kv_heads);
  } else if (op == "FlexAttention") {
    out = {dimOf(q, 0), dimOf(q, 1), dimOf(q, 2), dimOf(k, 2), dimOf(q, 3), dimOf(v, 3)};
  } else if (op == "Attention" || op == "QAttention") {
    // The projection of com.microsoft gives heads of the size its weights say.
    out.heads = number("num_heads");
    out.queries = dimOf(q, 1);
    const bool shared = site.node->integer("past_present_share_buffer", 0) != 0;
    const std::size_t past_at = op == "QAttention" ? 8 : 4;
    out.keys = shared ? dimOf(site.shape(past_at), 3) : totalKeys(site, out.queries, past_at, 3);
    out.value_size = dimOf(site.made(0), 2) / std::max(out.heads, 1.0);
    out.size = out.value_size;
    const Attribute* sizes = site.node->find("qkv_hidden_sizes");
    if (sizes != nullptr && sizes->ints.size() == 3 && out.heads > 0) {
      out.size = static_cast<double>(sizes->ints[0]) / out.heads;
    }
  } else if (op == "MultiHeadAttention" || op == "DecoderMaskedMultiHeadAttention") {
    out.heads = number("num_heads");
    out.queries = sequenceOf(q);
    if (q != nullptr && q->size() == 5) {
      out.size = out.value_size = dimOf(q, 4);
      out.keys = out.queries;
    } else {
      out.size = headSize(q, out.heads);
      out.value_size = dimOf(site.made(0), 2) / std::max(out.heads, 1.0);
      out.keys = sequenceOf(k);
    }
    out.keys = op == "MultiHeadAttention" ? totalKeys(site, out.keys, 6, 2) : totalKeys(site, 0, 5, 2);
  } else if (op == "GroupQueryAttention") {
    out.heads = number("num_heads");
    out.queries = dimOf(q, 1);
    out.value_size = out.size = dimOf(site.made(0), 2) / std::max(out.heads, 1.0);
    const Value* total = site.in(6);
    if (total != nullptr && total->integers && total->integers->size() == 1) {
      out.keys = static_cast<double>(total->integers->front());
    } else {
      out.keys = dimOf(site.made(1), 2);
    }
  }
  return out;
}

// Scores, softmax over them, and the weighted sum of values.
double coreFlops(const Extent& extent) {
  if (!extent.known()) return kFlopsUnknown;
  constexpr double kSoftmax = 6;  // scale, maximum, difference, exponential, sum, quotient
  return extent.batch * extent.heads * extent.queries * extent.keys *
         (2 * extent.size + 2 * extent.value_size + kSoftmax);
}

}  // namespace

double recurrentFlops(const CostSite& site) {
  const Shape* x = site.shape(0);
  const double w = site.elements(1);
  const double r = site.elements(2);
  if (x == nullptr || x->size() != 3 || w < 0 || r < 0) return kFlopsUnknown;
  const double steps = dimOf(x, 0) * dimOf(x, 1);
  const Shape* shape = site.shape(2);
  // Gates are sums that pass through one function each and are multiplied into the state.
  const double gates = shape != nullptr && shape->size() == 3 ? dimOf(shape, 0) * dimOf(shape, 1) : 0;
  return steps * (2 * (w + r) + 4 * gates);
}

double attentionFlops(const CostSite& site) {
  return coreFlops(extentOf(site));
}

// A state of key size by value size, updated and read once a token.
double linearAttentionFlops(const CostSite& site) {
  const Shape* q = site.shape(0);
  const Shape* k = site.shape(1);
  const Shape* v = site.shape(2);
  const double q_heads = static_cast<double>(site.node->integer("q_num_heads", -1));
  const double kv_heads = static_cast<double>(site.node->integer("kv_num_heads", -1));
  if (q == nullptr || k == nullptr || v == nullptr || q->size() != 3 || k->size() != 3 || v->size() != 3 ||
      q_heads <= 0 || kv_heads <= 0) {
    return kFlopsUnknown;
  }
  const double state = dimOf(k, 2) / kv_heads * (dimOf(v, 2) / kv_heads);
  const Attribute* rule = site.node->find("update_rule");
  const std::string_view kind = rule != nullptr ? rule->s : "gated_delta";
  // Outer product and sum, decay of the state, and for delta rules what the state already says of the key.
  const double update = 2 + (kind.starts_with("gated") ? 1 : 0) + (kind.ends_with("delta") ? 2 : 0);
  return dimOf(q, 0) * dimOf(q, 1) * state * (kv_heads * update + 2 * q_heads);
}

double msAttentionFlops(const CostSite& site) {
  const double core = coreFlops(extentOf(site));
  const Shape* w = site.shape(1);
  const Shape* x = site.shape(0);
  if (core < 0 || w == nullptr || w->size() != 2 || x == nullptr || x->size() != 3) return kFlopsUnknown;
  const double rows = dimOf(x, 0) * dimOf(x, 1);
  return core + rows * dimOf(w, 1) * (2 * dimOf(w, 0) + 1);
}

// Each token runs through k experts, whose weights are stacked along the first axis.
double moeFlops(const CostSite& site) {
  const Shape* router = site.shape(1);
  if (router == nullptr || router->empty() || router->back() <= 0) return kFlopsUnknown;
  const double tokens = site.elements(1) / static_cast<double>(router->back());
  const double chosen = static_cast<double>(std::max<std::int64_t>(site.node->integer("k", 1), 1));
  const bool packed = site.node->op_type == "QMoE";
  const double bits = packed ? static_cast<double>(site.node->integer("expert_weight_bits", 4)) : 8;
  if (!(bits > 0 && bits <= 8)) return kFlopsUnknown;
  double weights = 0;
  for (std::size_t at = 2; at <= (packed ? std::size_t{8} : std::size_t{6}); at += packed ? 3 : 2) {
    if (site.in(at) == nullptr) {
      if (at < site.node->inputs.size() && !site.node->inputs[at].empty()) return kFlopsUnknown;
      continue;
    }
    if (site.elements(at) < 0) return kFlopsUnknown;
    weights += site.elements(at) * 8 / bits;
  }
  return 2 * tokens * chosen * weights / static_cast<double>(router->back());
}

std::int64_t attentionWorkspace(const CostSite& site) {
  if (site.row == nullptr || (site.row->flops != attentionFlops && site.row->flops != msAttentionFlops))
    return 0;
  const Extent extent = extentOf(site);
  const Value* made = site.outputs.empty() ? nullptr : site.outputs[0];
  const int bits = made != nullptr ? bitsOf(made->element) : 0;
  if (!extent.known() || bits == 0) return -1;
  const double bytes = extent.batch * extent.heads * extent.queries * extent.keys * bits / 8;
  return bytes < static_cast<double>(kMostElements) ? static_cast<std::int64_t>(bytes) : kMostElements;
}

}  // namespace allot::onnx
