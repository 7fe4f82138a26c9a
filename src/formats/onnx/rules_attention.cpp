// Shapes of attention, embedding and the normalisations around them: ai.onnx and com.microsoft.
#include <algorithm>

#include "formats/onnx/rules_list.h"

namespace allot::onnx {
namespace {

std::int64_t divideDim(std::int64_t a, std::int64_t b) {
  return a < 0 || b <= 0 ? -1 : a / b;
}

// One of query, key, value in either layout.
struct Heads {
  bool known = false;
  bool flat = false;  // [batch, sequence, heads * size] instead of [batch, heads, sequence, size]
  std::int64_t batch = -1, heads = -1, sequence = -1, size = -1;
};

Heads headsOf(const Shape* shape, std::int64_t count) {
  Heads out;
  if (shape == nullptr) return out;
  if (shape->size() == 4) {
    out = {true, false, (*shape)[0], (*shape)[1], (*shape)[2], (*shape)[3]};
  } else if (shape->size() == 3) {
    out = {true, true, (*shape)[0], count > 0 ? count : -1, (*shape)[1], divideDim((*shape)[2], count)};
  }
  return out;
}

void normStatistics(Site& site, std::size_t first) {
  const Shape* x = site.shape(0);
  for (std::size_t at = first; at < first + 2; ++at) {
    site.setType(at, ElementType::kFloat);
    if (x == nullptr || x->empty()) continue;
    Shape out = *x;
    out.back() = 1;
    site.setShape(at, out);
  }
}

}  // namespace

void attentionShape(Site& site) {
  const Heads q = headsOf(site.shape(0), site.integer("q_num_heads", -1));
  const Heads k = headsOf(site.shape(1), site.integer("kv_num_heads", -1));
  const Heads v = headsOf(site.shape(2), site.integer("kv_num_heads", -1));
  site.setType(0, site.type(0));
  site.setType(1, site.type(1));
  site.setType(2, site.type(2));
  site.setType(3, site.type(0));
  if (!q.known || !k.known || !v.known) return;
  if (q.flat) {
    site.setShape(0, {q.batch, q.sequence, timesDim(q.heads, v.size)});
  } else {
    site.setShape(0, {q.batch, q.heads, q.sequence, v.size});
  }
  std::int64_t total = k.sequence;
  if (site.in(4) != nullptr) {
    const Shape* past = site.shape(4);
    total = past != nullptr && past->size() == 4 ? plusDim((*past)[2], total) : -1;
  }
  site.setShape(1, {k.batch, k.heads, total, k.size});
  site.setShape(2, {v.batch, v.heads, total, v.size});
  site.setShape(3, {q.batch, q.heads, q.sequence, total});
}

// ai.onnx.preview: four axes always.
void flexAttentionShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* q = site.shape(0);
  const Shape* k = site.shape(1);
  const Shape* v = site.shape(2);
  if (q == nullptr || v == nullptr || q->size() != 4 || v->size() != 4) return;
  site.setShape(0, {(*q)[0], (*q)[1], (*q)[2], (*v)[3]});
  if (k == nullptr || k->size() != 4 || site.bodies == nullptr) return;
  Value scores;
  scores.kind = Type::Kind::kTensor;
  const std::int64_t precision = site.integer("softmax_precision", 0);
  scores.element = precision > 0 && precision < 100       ? static_cast<ElementType>(precision)
                   : site.type(0) == ElementType::kDouble ? ElementType::kDouble
                                                          : ElementType::kFloat;
  scores.shape = Shape{(*q)[0], (*q)[1], (*q)[2], (*k)[2]};
  for (const Attribute& attribute : site.node->attributes) {
    if (attribute.graph != nullptr) site.bodies->run(*attribute.graph, {scores});
  }
}

void linearAttentionShape(Site& site) {
  site.setType(0, site.type(0));
  site.setType(1, site.in(3) != nullptr ? site.type(3) : site.type(0));
  const std::int64_t q_heads = site.integer("q_num_heads", -1);
  const std::int64_t kv_heads = site.integer("kv_num_heads", -1);
  const Heads q = headsOf(site.shape(0), q_heads);
  const Heads k = headsOf(site.shape(1), kv_heads);
  const Heads v = headsOf(site.shape(2), kv_heads);
  if (!q.known || !v.known || !q.flat) return;
  site.setShape(0, {q.batch, q.sequence, timesDim(q.heads, v.size)});
  if (k.known) site.setShape(1, {q.batch, v.heads, k.size, v.size});
}

// com.microsoft Attention: one projection makes query, key and value of one input.
void msAttentionShape(Site& site) {
  const bool quantized = site.node->op_type == "QAttention";
  const ElementType type = quantized ? site.type(3) : site.type(0);
  site.setType(0, type);
  site.setType(1, type);
  const Shape* x = site.shape(0);
  const Shape* w = site.shape(1);
  if (x == nullptr || x->size() != 3) return;
  const std::int64_t heads = site.integer("num_heads", -1);
  std::int64_t value_size = w != nullptr && w->size() == 2 ? divideDim((*w)[1], 3) : -1;
  std::int64_t key_size = value_size;
  if (const auto* sizes = site.list("qkv_hidden_sizes"); sizes != nullptr && sizes->size() == 3) {
    key_size = std::max<std::int64_t>((*sizes)[1], -1);
    value_size = std::max<std::int64_t>((*sizes)[2], -1);
  }
  site.setShape(0, {(*x)[0], (*x)[1], value_size});
  const std::size_t past_at = quantized ? 8 : 4;
  std::int64_t total = (*x)[1];
  if (site.in(past_at) != nullptr) {
    const Shape* past = site.shape(past_at);
    if (past == nullptr || past->size() != 5) return;
    if (site.integer("past_present_share_buffer", 0) != 0) return site.setShape(1, *past);
    total = plusDim((*past)[3], total);
  }
  site.setShape(1, {2, (*x)[0], heads > 0 ? heads : -1, total, divideDim(key_size, heads)});
}

void multiHeadAttentionShape(Site& site) {
  for (std::size_t at = 0; at < site.outputs.size(); ++at) site.setType(at, site.type(0));
  const Shape* q = site.shape(0);
  if (q == nullptr || q->size() < 3) return;
  const std::int64_t heads = site.integer("num_heads", -1);
  const bool packed = q->size() == 5;
  Heads k = headsOf(site.shape(1), heads);
  Heads v = headsOf(site.shape(2), heads);
  if (packed) {
    k = v = {true, true, (*q)[0], (*q)[2], (*q)[1], (*q)[4]};
  } else if (const Shape* kv = site.shape(1); kv != nullptr && kv->size() == 5) {
    k = v = {true, true, (*kv)[0], (*kv)[2], (*kv)[1], (*kv)[4]};
  }
  if (!v.known) return;
  site.setShape(0, {(*q)[0], (*q)[1], timesDim(v.heads, v.size)});
  if (!k.known) return;
  std::int64_t total = k.sequence;
  if (site.in(6) != nullptr) {
    const Shape* past = site.shape(6);
    total = past != nullptr && past->size() == 4 ? plusDim((*past)[2], total) : -1;
  }
  site.setShape(1, {(*q)[0], k.heads, total, k.size});
  site.setShape(2, {(*q)[0], v.heads, total, v.size});
  site.setShape(3, {(*q)[0], k.heads, (*q)[1], total});
}

void decoderMaskedAttentionShape(Site& site) {
  site.copy(0, 0);
  site.copy(1, 5);
  site.copy(2, 6);
}

// com.microsoft: past and present may be one buffer, whose length then is the larger of the two.
void groupQueryAttentionShape(Site& site) {
  for (std::size_t at = 0; at < 3; ++at) site.setType(at, site.type(0));
  const Shape* q = site.shape(0);
  if (q == nullptr || q->size() != 3) return;
  const std::int64_t heads = site.integer("num_heads", -1);
  const std::int64_t kv_heads = site.integer("kv_num_heads", -1);
  const bool packed = site.in(1) == nullptr;
  if (heads <= 0 || kv_heads <= 0 || heads > kMostDim || kv_heads > kMostDim) return;
  const std::int64_t size = divideDim((*q)[2], packed ? heads + 2 * kv_heads : heads);
  site.setShape(0, {(*q)[0], (*q)[1], timesDim(size, heads)});
  const auto given = site.scalar(6);
  const std::int64_t total = given && *given >= 0 && *given < 1e12 ? static_cast<std::int64_t>(*given) : -1;
  for (const std::size_t at : {std::size_t{1}, std::size_t{2}}) {
    Shape out{(*q)[0], kv_heads, total, size};
    if (site.in(at + 2) != nullptr) {
      const Shape* past = site.shape(at + 2);
      site.setType(at, site.type(at + 2));
      if (past == nullptr || past->size() != 4) continue;
      // A cache may be quantised and packed, and may keep only a window.
      out[3] = (*past)[3];
      out[2] = total >= 0 && (*past)[2] >= 0 ? std::max(total, (*past)[2]) : -1;
      if (site.integer("sliding_window_cache", 0) != 0) out[2] = (*past)[2];
    }
    site.setShape(at, out);
  }
}

// com.microsoft: embedding, query, its rotation, key, its rotation.
void gemmaRotaryShape(Site& site) {
  site.copy(0, 1);
  site.copy(1, 3);
}

void skipLayerNormShape(Site& site) {
  site.copy(0, 0);
  normStatistics(site, 1);
  site.copy(3, 0);
}

void embedLayerNormShape(Site& site) {
  const ElementType type = site.type(2);
  site.setType(0, type);
  site.setType(1, ElementType::kInt32);
  site.setType(2, type);
  const Shape* ids = site.shape(0);
  const Shape* words = site.shape(2);
  if (ids == nullptr || ids->size() != 2 || words == nullptr || words->size() != 2) return;
  const Shape out{(*ids)[0], (*ids)[1], (*words)[1]};
  site.setShape(0, out);
  site.setShape(1, {(*ids)[0]});
  site.setShape(2, out);
}

void skipGroupNormShape(Site& site) {
  site.copy(0, 0);
  site.copy(1, 0);
}

// com.microsoft: half of the last axis gates the other half.
void biasSplitGeluShape(Site& site) {
  site.copy(0, 0);
  const Shape* x = site.shape(0);
  if (x == nullptr || x->empty()) return;
  Shape out = *x;
  out.back() = divideDim(out.back(), 2);
  site.setShape(0, out);
}

}  // namespace allot::onnx
