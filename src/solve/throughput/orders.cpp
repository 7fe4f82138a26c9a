#include "solve/throughput/orders.h"

#include <algorithm>

#include "base/random.h"

namespace allot {
namespace {

using Kind = OrderRule::Kind;

class OrderMaker {
 public:
  OrderMaker(const LineModel& model, const OrderRule& rule, std::span<const std::uint32_t> stage_of,
             const Budget& budget)
      : model_(model),
        budget_(budget),
        rule_(rule),
        stage_of_(stage_of),
        in_(rule.backwards ? model.after : model.before),
        out_(rule.backwards ? model.before : model.after),
        random_(rule.seed, 77) {}

  std::vector<std::uint32_t> run() {
    const std::size_t n = model_.item_count;
    std::vector<std::uint32_t> order;
    order.reserve(n);
    waits_.resize(n);
    version_.assign(n, 0);
    stages_ = stage_of_.empty() ? 1 : *std::max_element(stage_of_.begin(), stage_of_.end()) + 1;
    later_.resize(stages_);
    if (rule_.kind == Kind::kLevel) fillLevels();
    if (rule_.kind == Kind::kFrontier) fillFrontier();
    // Given orders count up from the sources, whichever end is started from.
    std::vector<std::uint32_t> sources;
    for (std::uint32_t i = 0; i < n; ++i) {
      waits_[i] = static_cast<std::uint32_t>(in_[i].size());
      if (waits_[i] == 0) sources.push_back(i);
    }
    shuffle(sources);
    for (const std::uint32_t i : sources) later_[turn(i)].push_back(i);
    for (turn_ = 0; turn_ < stages_; ++turn_) {
      for (const std::uint32_t i : later_[turn_]) push(i);
      while (!heap_.empty()) {
        const Entry top = pop();
        if (top.version != version_[top.item]) continue;
        ++version_[top.item];
        order.push_back(top.item);
        if (order.size() % kPoll == 0 && budget_.stopped()) return {};
        if (rule_.kind == Kind::kFrontier) takeNets(top.item);
        ready_.clear();
        for (const std::uint32_t next : out_[top.item]) {
          if (--waits_[next] == 0) ready_.push_back(next);
        }
        shuffle(ready_);
        // The first of them shall come out of a stack first.
        if (rule_.kind == Kind::kDepth) std::reverse(ready_.begin(), ready_.end());
        for (const std::uint32_t next : ready_) {
          if (turn(next) == turn_)
            push(next);
          else
            later_[turn(next)].push_back(next);
        }
      }
    }
    if (rule_.backwards) std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  struct Entry {
    double key;
    std::int64_t tie;
    std::uint32_t item, version;
    // std::push_heap keeps the largest on top.
    bool operator<(const Entry& other) const { return key != other.key ? key > other.key : tie > other.tie; }
  };

  static constexpr std::size_t kPoll = 8192;

  const LineModel& model_;
  const Budget& budget_;
  const OrderRule& rule_;
  std::span<const std::uint32_t> stage_of_;
  const Csr<std::uint32_t>& in_;
  const Csr<std::uint32_t>& out_;
  Random random_;
  std::size_t stages_ = 1, turn_ = 0;
  std::vector<std::vector<std::uint32_t>> later_;  // by turn: items that are ready before it comes
  std::vector<std::uint32_t> waits_, version_, ready_;
  std::vector<double> key_;
  std::vector<Entry> heap_;
  std::int64_t clock_ = 0;
  // Frontier.
  std::vector<double> net_cost_;
  std::vector<std::uint32_t> net_left_;
  std::vector<std::uint8_t> queued_, done_;

  std::size_t turn(std::uint32_t item) const {
    if (stage_of_.empty()) return 0;
    return rule_.backwards ? stages_ - 1 - stage_of_[item] : stage_of_[item];
  }

  void shuffle(std::vector<std::uint32_t>& items) {
    if (rule_.noise == 0) return;
    for (auto i = static_cast<std::uint32_t>(items.size()); i > 1; --i)
      std::swap(items[i - 1], items[random_.below(i)]);
  }

  double noisy(double value) { return rule_.noise == 0 ? value : value * (1 + rule_.noise * random_.unit()); }

  void push(std::uint32_t item) {
    ++clock_;
    Entry entry{0, clock_, item, version_[item]};
    switch (rule_.kind) {
      case Kind::kGiven:
        entry.key = rule_.backwards ? -static_cast<double>(item) : item;
        break;
      case Kind::kDepth:
        entry.tie = -clock_;
        break;
      case Kind::kBreadth:
        break;
      case Kind::kLevel:
        entry.key = key_[item];
        break;
      case Kind::kFrontier:
        entry.key = key_[item];
        entry.tie = -clock_;
        queued_[item] = 1;
        break;
    }
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end());
  }

  Entry pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    const Entry top = heap_.back();
    heap_.pop_back();
    return top;
  }

  // Longest path of work from where the order starts.
  void fillLevels() {
    key_.assign(model_.item_count, 0);
    std::vector<std::uint32_t> waits(model_.item_count), ready;
    for (std::uint32_t i = 0; i < model_.item_count; ++i) {
      waits[i] = static_cast<std::uint32_t>(in_[i].size());
      if (waits[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      const std::uint32_t item = ready.back();
      ready.pop_back();
      const double end = key_[item] + noisy(model_.work[item]);
      for (const std::uint32_t next : out_[item]) {
        key_[next] = std::max(key_[next], end);
        if (--waits[next] == 0) ready.push_back(next);
      }
    }
  }

  void fillFrontier() {
    const std::size_t nets = model_.netCount();
    net_cost_.resize(nets);
    net_left_.resize(nets);
    key_.assign(model_.item_count, 0);
    queued_.assign(model_.item_count, 0);
    done_.assign(model_.item_count, 0);
    for (std::size_t net = 0; net < nets; ++net) {
      net_cost_[net] = noisy(model_.net_weight[net]);
      net_left_[net] = static_cast<std::uint32_t>(model_.net_items[net].size());
      for (const std::uint32_t item : model_.net_items[net]) key_[item] += net_cost_[net];
    }
  }

  void changeKey(std::uint32_t item, double by) {
    key_[item] += by;
    if (!queued_[item]) return;
    ++version_[item];
    heap_.push_back({key_[item], -clock_, item, version_[item]});
    std::push_heap(heap_.begin(), heap_.end());
  }

  // An item's key is the cost of nets it opens less that of nets it closes.
  void takeNets(std::uint32_t item) {
    done_[item] = 1;
    for (const std::uint32_t net : model_.item_nets[item]) {
      const auto ends = model_.net_items[net];
      const bool first = net_left_[net] == ends.size();
      const bool closes_next = --net_left_[net] == 1;
      if (!first && !closes_next) continue;
      const double change = -net_cost_[net] * ((first ? 1 : 0) + (closes_next ? 1 : 0));
      for (const std::uint32_t other : ends) {
        if (!done_[other]) changeKey(other, change);
      }
    }
  }
};

}  // namespace

std::vector<std::uint32_t> makeOrder(const LineModel& model, const OrderRule& rule,
                                     std::span<const std::uint32_t> stage_of, const Budget& budget) {
  return OrderMaker(model, rule, stage_of, budget).run();
}

}  // namespace allot
