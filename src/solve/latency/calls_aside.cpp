#include "solve/latency/calls_aside.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostAside = 8;
constexpr std::uint32_t kLeastCuts = 4;  // that an item must stand in the way of

// By item, a bit for each item before it.
class Ancestors {
 public:
  explicit Ancestors(const CallItems& items)
      : words_((items.itemCount() + 63) / 64), rows_(items.itemCount() * words_) {
    for (std::uint32_t i = 0; i < items.itemCount(); ++i) {
      for (const std::uint32_t b : items.before[i]) {
        for (std::size_t w = 0; w < words_; ++w) rows_[i * words_ + w] |= rows_[b * words_ + w];
        rows_[i * words_ + b / 64] |= std::uint64_t{1} << (b % 64);
      }
    }
  }
  bool precedes(std::uint32_t a, std::uint32_t b) const {
    return (rows_[b * words_ + a / 64] >> (a % 64)) & 1;
  }
  template <class Visit>
  void forEach(std::uint32_t item, Visit&& visit) const {
    for (std::size_t w = 0; w < words_; ++w) {
      for (std::uint64_t bits = rows_[item * words_ + w]; bits != 0; bits &= bits - 1)
        visit(static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
    }
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> rows_;
};

// The item that stands in the way of most cuts, or kNone.
std::uint32_t findBypass(const CallItems& items, const Ancestors& ancestors) {
  const auto n = static_cast<std::uint32_t>(items.itemCount());
  std::vector<std::uint32_t> comparable(n, 0);
  for (std::uint32_t i = 0; i < n; ++i) {
    ancestors.forEach(i, [&](std::uint32_t a) {
      ++comparable[i];
      ++comparable[a];
    });
  }
  std::vector<std::uint32_t> in_the_way(n, 0);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (comparable[i] + 2 != n) continue;
    for (std::uint32_t j = 0; j < n; ++j)
      in_the_way[j] += j != i && !ancestors.precedes(i, j) && !ancestors.precedes(j, i);
  }
  std::uint32_t best = CallItems::kNone;
  for (std::uint32_t j = 0; j < n; ++j) {
    const auto nets = items.item_outputs[j];
    // On the cpu it goes back into a plan.
    if (in_the_way[j] < kLeastCuts || nets.size() != 1 || items.cpu[j] == kInfinity) continue;
    if (items.tail_bytes[nets[0]] > 0 || items.net_consumers[nets[0]].empty()) continue;
    if (best == CallItems::kNone || in_the_way[j] > in_the_way[best]) best = j;
  }
  return best;
}

// Whether a call may hold both: all between them is in it too.
bool fitTogether(const CallItems& items, const Ancestors& ancestors, std::uint32_t first, std::uint32_t last,
                 std::size_t pool) {
  double bytes = items.bytes[first] + items.bytes[last];
  ancestors.forEach(last, [&](std::uint32_t i) {
    if (ancestors.precedes(first, i)) bytes += items.bytes[i];
  });
  return bytes <= items.pools[pool].memory;
}

// What a call with `consumer` takes at least to have what `item` makes.
double leastToHave(const CallItems& items, const Ancestors& ancestors, std::uint32_t item,
                   std::uint32_t consumer, std::size_t pool) {
  // An item that cannot be in the call, being too far from the consumer.
  const auto isAway = [&](std::uint32_t other) {
    return ancestors.precedes(other, consumer) && !fitTogether(items, ancestors, other, consumer, pool);
  };
  double with_item = items.onPool(item, pool);
  for (const std::uint32_t net : items.item_inputs[item]) {
    // Fetched for this item alone, unless another reader of the net is in the call as well.
    const auto readers = items.net_consumers[net];
    if (isAway(items.net_producer[net]) &&
        std::all_of(readers.begin(), readers.end(), [&](std::uint32_t r) { return r == item || isAway(r); }))
      with_item += items.in(net, pool);
  }
  return std::min(items.in(items.item_outputs[item][0], pool), with_item);
}

// What the item adds at least to the call of `other` of its unit, when they share one: it sends what it makes
// to `consumer`, which cannot be there.
double leastToShare(const CallItems& items, const Ancestors& ancestors, std::uint32_t item,
                    std::uint32_t other, std::uint32_t consumer, std::size_t pool) {
  if (!ancestors.precedes(other, consumer) || fitTogether(items, ancestors, other, consumer, pool)) return 0;
  return items.onPool(item, pool) + items.out(items.item_outputs[item][0], pool);
}

template <class T>
void keepRows(std::vector<T>& values, const std::vector<std::uint8_t>& kept, std::size_t width = 1) {
  std::size_t to = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!kept[i / width]) continue;
    if (to != i) values[to] = std::move(values[i]);
    ++to;
  }
  values.resize(to);
}

template <class T>
void keepRows(Csr<T>& csr, const std::vector<std::uint8_t>& kept) {
  Csr<T> all;
  for (std::size_t row = 0; row < csr.rows(); ++row) {
    if (!kept[row]) continue;
    all.items.insert(all.items.end(), csr[row].begin(), csr[row].end());
    all.closeRow();
  }
  csr = std::move(all);
}

// Drops entries that are no longer there and renumbers the others.
void renumber(Csr<std::uint32_t>& csr, const std::vector<std::uint8_t>& kept) {
  std::vector<std::uint32_t> number(kept.size());
  for (std::uint32_t i = 0, next = 0; i < kept.size(); ++i) number[i] = kept[i] ? next++ : CallItems::kNone;
  Csr<std::uint32_t> all;
  for (std::size_t row = 0; row < csr.rows(); ++row) {
    for (const std::uint32_t entry : csr[row]) {
      if (kept[entry]) all.items.push_back(number[entry]);
    }
    all.closeRow();
  }
  csr = std::move(all);
}

// Units of one item bind nothing.
void dropSingles(CallItems& items) {
  std::vector<std::uint8_t> kept;
  for (std::size_t t = 0; t < items.tie_count; ++t) kept.push_back(items.tie_items[t].size() > 1);
  keepRows(items.tie_items, kept);
  items.tie_count = items.tie_items.rows();
  std::fill(items.tie.begin(), items.tie.end(), CallItems::kNone);
  for (std::uint32_t t = 0; t < items.tie_count; ++t) {
    for (const std::uint32_t i : items.tie_items[t]) items.tie[i] = t;
  }
}

void remove(CallItems& items, std::uint32_t item) {
  std::vector<std::uint8_t> kept(items.itemCount(), 1), kept_nets(items.netCount(), 1);
  kept[item] = 0;
  for (std::uint32_t net = 0; net < items.netCount(); ++net) {
    const auto consumers = items.net_consumers[net];
    const bool alone = consumers.size() == 1 && consumers[0] == item && items.tail_bytes[net] <= 0;
    kept_nets[net] = items.net_producer[net] != item && !alone;
    if (items.net_producer[net] > item) --items.net_producer[net];
  }
  const std::size_t pools = items.poolCount();
  keepRows(items.item_ops, kept);
  keepRows(items.cpu, kept);
  keepRows(items.accelerator, kept, pools);
  keepRows(items.bytes, kept);
  keepRows(items.tie, kept);
  renumber(items.tie_items, kept);
  dropSingles(items);
  for (Csr<std::uint32_t>* nets : {&items.item_outputs, &items.item_inputs}) {
    keepRows(*nets, kept);
    renumber(*nets, kept_nets);
  }
  for (Csr<std::uint32_t>* others : {&items.after, &items.before}) {
    keepRows(*others, kept);
    renumber(*others, kept);
  }
  keepRows(items.net_producer, kept_nets);
  keepRows(items.net_consumers, kept_nets);
  renumber(items.net_consumers, kept);
  keepRows(items.receive, kept_nets, pools);
  keepRows(items.send, kept_nets, pools);
  keepRows(items.tail_bytes, kept_nets);
  keepRows(items.tail_ops, kept_nets);
}

}  // namespace

std::optional<CallItems> withoutBypasses(const CallItems& items, std::uint32_t calls_each) {
  std::optional<CallItems> left;
  if (!items.suitable) return left;
  for (std::size_t round = 0; round < kMostAside; ++round) {
    CallItems now = left ? *left : items;
    const Ancestors ancestors(now);
    const std::uint32_t item = findBypass(now, ancestors);
    if (item == CallItems::kNone) break;
    const std::uint32_t consumer = now.net_consumers[now.item_outputs[item][0]].front();
    std::uint32_t other = CallItems::kNone;
    if (now.tie[item] != CallItems::kNone && calls_each == 1) {
      const auto unit = now.tie_items[now.tie[item]];
      other = unit.front() == item ? unit[1] : unit.front();
    }
    const std::size_t pools = now.poolCount();
    for (std::size_t p = 0; p < pools; ++p) {
      const double shared =
          other == CallItems::kNone ? 0 : leastToShare(now, ancestors, item, other, consumer, p);
      now.accelerator[consumer * pools + p] += leastToHave(now, ancestors, item, consumer, p);
      if (other != CallItems::kNone) now.accelerator[other * pools + p] += shared;
    }
    remove(now, item);
    left = std::move(now);
  }
  return left;
}

}  // namespace allot
