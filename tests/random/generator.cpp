#include "random/generator.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "base/random.h"

namespace allot::tiny {
namespace {

// What the times of a problem look like.
enum class Style { kQuarters, kTenths, kUniform, kTies, kMagnitudes, kFarApart };

class Generator {
 public:
  Generator(std::uint64_t seed, const Wish& wish) : random_(seed, 2027), wish_(wish) {}

  Tiny make() {
    chooseGoal();
    makeCluster();
    makeModels();
    makeOps();
    makeTensors();
    makeLinks();
    makeConstraints();
    makeShared();
    setMemories();
    return std::move(tiny_);
  }

 private:
  Random random_;
  Wish wish_;
  Tiny tiny_;
  Style style_ = Style::kQuarters;
  bool training_ = false, mirrored_ = false, via_host_ = false, tight_ = false, links_ = false,
       live_schedule_ = false;
  double tie_[2] = {1, 2};
  int devices_ = 1, ops_ = 1;
  std::vector<int> rank_;  // the ops in an order that every edge follows; the numbers need not

  int below(int n) { return static_cast<int>(random_.below(static_cast<std::uint32_t>(n))); }
  bool oneIn(int n) { return below(n) == 0; }
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  template <class Enum>
  Enum pick(int choices) {
    return static_cast<Enum>(below(choices));
  }

  double time() {
    if (oneIn(7)) return 0;
    switch (style_) {
      case Style::kQuarters:
        return 0.25 * (1 + below(12));
      case Style::kTenths:
        return (1 + below(30)) / 10.0;
      case Style::kUniform:
        return random_.unit() * 4;
      case Style::kTies:
        return tie_[below(2)];
      case Style::kMagnitudes:
        return live_schedule_ ? std::ldexp(1.0 + below(3), below(20) - 10)
                              : (1 + below(9)) * std::pow(10.0, below(32) - 20);
      case Style::kFarApart:
        return live_schedule_ ? std::ldexp(1.0, below(2) * 20)
                              : std::pow(10.0, below(2) * (below(2) == 0 ? -18 : 7)) * (1 + below(3));
    }
    return 1;
  }

  std::int64_t bytes() { return oneIn(4) ? 0 : oneIn(12) ? std::int64_t{1} << below(40) : 1 + below(12); }

  void chooseGoal() {
    Modes& m = tiny_.modes;
    // Pipelines are the cheapest to enumerate and have most modes.
    m.goal = wish_.goal     ? *wish_.goal
             : below(5) < 3 ? Goal::kThroughput
             : oneIn(2)     ? Goal::kLatency
                            : Goal::kCompletion;
    m.headroom = oneIn(8) ? 0.25 : oneIn(10) ? 0.1 : 0;
    m.optimizer_factor = oneIn(5)                               ? 2
                         : wish_.features.fractions && oneIn(8) ? (oneIn(2) ? 1.5 : 1.1)
                         : oneIn(10)                            ? 4
                                                                : 1;
    m.memory = MemoryModel::kStatic;
    training_ = oneIn(2);
    if (*m.goal == Goal::kThroughput) {
      m.contiguity = oneIn(2) ? Contiguity::kChain : pick<Contiguity>(3);
      m.transfers = pick<Transfers>(2);
      m.overlap = pick<Overlap>(2);
      m.training_load = oneIn(2) ? TrainingLoad::kMaxParts : TrainingLoad::kSum;
      m.replicate = oneIn(2);
      m.in_flight = m.contiguity == Contiguity::kChain && oneIn(3);
      m.max_stages = oneIn(4) ? static_cast<std::uint32_t>(1 + below(3)) : 0;
      via_host_ = m.transfers == Transfers::kViaHost;
      if (wish_.features.live && oneIn(3)) m.memory = MemoryModel::kLive;
      const bool many_devices = oneIn(12);
      ops_ = many_devices ? 2 + below(3) : 1 + below(oneIn(6) ? 6 : 5);
      devices_ = many_devices ? 5 : 1 + below(oneIn(2) ? 4 : 3);
    } else {
      m.link_mode = pick<LinkMode>(3);
      m.send = pick<Send>(2);
      if (*m.goal == Goal::kLatency && oneIn(3)) {
        m.model = LatencyModel::kSubgraphCalls;
        m.calls = static_cast<std::uint32_t>(1 + below(3));
        via_host_ = true;
      } else if (oneIn(3)) {
        m.memory = MemoryModel::kLive;
        live_schedule_ = true;
      }
      ops_ = 1 + below(live_schedule_ ? 4 : 5);
      devices_ = 1 + below(live_schedule_ || oneIn(2) ? 2 : 3);
    }
    mirrored_ = training_ && ops_ >= 3 && oneIn(3);
    if (mirrored_ && *m.goal == Goal::kThroughput) ops_ = 4 + below(5);
    if (ops_ > 6) devices_ = std::min(devices_, 3);
    style_ = pick<Style>(6);
    // Equal times must be equal where freed and taken memory meet, so sums have to be exact.
    if (live_schedule_ && (style_ == Style::kTenths || style_ == Style::kUniform)) style_ = Style::kQuarters;
    if (style_ == Style::kTies && !live_schedule_ && oneIn(2)) tie_[0] = 0.1, tie_[1] = oneIn(2) ? 0.3 : 0.7;
    tight_ = oneIn(3);
    links_ = oneIn(2);
  }

  void makeCluster() {
    const int classes = 1 + below(oneIn(4) ? 3 : 2);  // few, so that replicas are common
    for (int c = 0; c < classes; ++c) tiny_.classes.push_back({oneIn(3), oneIn(4) ? time() : 0});
    tiny_.hosts = std::min(below(3), devices_);
    for (int d = 0; d < devices_; ++d) {
      const int cls = oneIn(2) ? 0 : below(classes);
      tiny_.devices.push_back({cls, -1,
                               d < tiny_.hosts                ? d
                               : tiny_.hosts > 0 && !oneIn(4) ? below(tiny_.hosts)
                                                              : -1});
    }
  }

  void makeModels() {
    const bool completion = *tiny_.modes.goal == Goal::kCompletion;
    const int models = std::min(ops_, completion ? 1 + below(3) : oneIn(10) ? 2 : 1);
    for (int m = 0; m < models; ++m)
      tiny_.models.push_back({oneIn(3) ? below(9) * 0.25 : 1, oneIn(3) ? time() : 0});
    rank_.resize(at(ops_));
    std::iota(rank_.begin(), rank_.end(), 0);
    if (!oneIn(3)) return;
    for (int i = ops_ - 1; i > 0; --i) std::swap(rank_[at(i)], rank_[at(below(i + 1))]);
  }

  void makeOps() {
    const int classes = static_cast<int>(tiny_.classes.size());
    const int models = static_cast<int>(tiny_.models.size());
    const bool alike = oneIn(5);
    for (int i = 0; i < ops_; ++i) {
      Op& op = tiny_.ops.emplace_back();
      // Some class that has a device can run it, mostly.
      const int sure = oneIn(20) ? -1 : tiny_.devices[at(below(devices_))].cls;
      for (int c = 0; c < classes; ++c) {
        const double seconds = alike && i > 0 ? tiny_.ops[0].seconds[at(c)] : time();
        op.seconds.push_back(c != sure && oneIn(6) ? kNone : seconds);
      }
      op.model = i < models ? i : below(models);
      op.memory = bytes();
      op.activations = oneIn(4) ? bytes() : 0;
      op.weights = bytes();
      op.workspace = oneIn(2) ? bytes() : 0;
    }
    if (!training_) return;
    if (mirrored_) {
      for (int k = 0; k < ops_; ++k) {
        Op& op = tiny_.ops[at(rank_[at(k)])];
        if (k < ops_ / 2) {
          op.group = k;
        } else {
          op.phase = oneIn(6) ? Phase::kUpdate : Phase::kBackward;
          op.group = oneIn(5) ? -1 : ops_ - 1 - k;  // without a partner: an orphan
        }
      }
      return;
    }
    // Mostly the usual course, forward before backward before update; sometimes anything.
    const bool anything = oneIn(3);
    const int forward = below(ops_ + 1);
    for (int k = 0; k < ops_; ++k) {
      Op& op = tiny_.ops[at(rank_[at(k)])];
      op.phase = anything      ? pick<Phase>(3)
                 : k < forward ? Phase::kForward
                 : oneIn(4)    ? Phase::kUpdate
                               : Phase::kBackward;
    }
  }

  void makeTensors() {
    const bool all_links = links_ && oneIn(2), matrices = !via_host_ && oneIn(3), dense = oneIn(4),
               line = oneIn(4);
    const int cells = devices_ * devices_;
    for (int a = 0; a < ops_; ++a) {
      for (int outputs = oneIn(8) ? 2 : 1; outputs > 0; --outputs) {
        Tensor tensor;
        tensor.from = rank_[at(a)];
        for (int b = a + 1; b < ops_; ++b) {
          const bool next = line ? b == a + 1 || oneIn(6) : dense ? !oneIn(3) : oneIn(3);
          if (next) tensor.to.push_back(rank_[at(b)]);
        }
        if (tensor.to.empty() && !oneIn(4)) continue;
        std::sort(tensor.to.begin(), tensor.to.end());
        tensor.bytes = bytes();
        if (!links_ || (!all_links && oneIn(2))) tensor.seconds = oneIn(3) ? time() / 4 : time();
        if (matrices && oneIn(2)) {
          for (int cell = 0; cell < cells; ++cell) tensor.matrix.push_back(time());
        }
        tiny_.tensors.push_back(tensor);
      }
    }
  }

  std::uint32_t numberOf(LinkEnd kind) {
    return static_cast<std::uint32_t>(kind == LinkEnd::kDevice ? below(devices_)
                                      : kind == LinkEnd::kClass
                                          ? below(static_cast<int>(tiny_.classes.size()))
                                      : kind == LinkEnd::kHost ? below(tiny_.hosts)
                                                               : 0);
  }

  double bandwidth() {
    return oneIn(4)   ? std::numeric_limits<double>::infinity()
           : oneIn(4) ? std::ldexp(1.0, below(60) - 19)
                      : std::ldexp(1.0, below(5));
  }

  void makeLinks() {
    if (!links_ && !training_ && oneIn(3)) return;  // nothing asks for one
    tiny_.links.push_back({LinkEnd::kAny, LinkEnd::kAny, 0, 0, oneIn(2) ? time() : 0, bandwidth()});
    for (int more = below(4); more > 0; --more) {
      Link link;
      link.from_kind = pick<LinkEnd>(4);
      link.to_kind = pick<LinkEnd>(4);
      if (tiny_.hosts == 0 && link.from_kind == LinkEnd::kHost) link.from_kind = LinkEnd::kAny;
      if (tiny_.hosts == 0 && link.to_kind == LinkEnd::kHost) link.to_kind = LinkEnd::kDevice;
      link.from = numberOf(link.from_kind);
      link.to = numberOf(link.to_kind);
      link.latency_seconds = oneIn(2) ? time() : 0;
      link.bandwidth_bytes_per_second = bandwidth();
      tiny_.links.push_back(link);
    }
    if (!live_schedule_) return;
    // Dyadic times of links: bytes over a power of two.
    for (Link& link : tiny_.links) link.bandwidth_bytes_per_second = std::ldexp(1.0, below(5));
  }

  void makeConstraints() {
    while (oneIn(8)) {
      const int op = below(ops_);
      std::erase_if(tiny_.pin, [&](const auto& pin) { return pin.first == op; });
      tiny_.pin.emplace_back(op, below(devices_));
    }
    while (oneIn(4)) tiny_.forbid.emplace_back(below(ops_), below(devices_));
    while (oneIn(5)) {
      std::vector<int>& set = tiny_.together.emplace_back();
      for (int i = 0; i < ops_; ++i) {
        if (oneIn(2)) set.push_back(i);
      }
      if (set.empty()) tiny_.together.pop_back();
    }
    while (ops_ > 1 && oneIn(3)) {
      const int a = below(ops_ - 1), b = a + 1 + below(ops_ - a - 1);
      tiny_.order.emplace_back(rank_[at(a)], rank_[at(b)]);
    }
    const int groups = mirrored_ || oneIn(training_ ? 4 : 2) ? 0 : 1 + below(2);
    for (int i = 0; i < ops_ && groups > 0; ++i) {
      if (oneIn(2)) tiny_.ops[at(i)].group = below(groups);
    }
  }

  void makeShared() {
    const auto readers = [&](int model) {
      std::vector<int> list;
      for (int i = 0; i < ops_; ++i) {
        if ((model < 0 || tiny_.ops[at(i)].model == model) && oneIn(2)) list.push_back(i);
      }
      return list;
    };
    bool trains = false;
    for (const Op& op : tiny_.ops) trains = trains || op.phase != Phase::kForward;
    if (wish_.features.blocks && (wish_.features.sync || !trains)) {
      while (oneIn(3)) {
        Shared block{bytes(), readers(below(static_cast<int>(tiny_.models.size())))};
        if (!block.readers.empty()) tiny_.blocks.push_back(block);
      }
    }
    if (wish_.features.inputs) {
      while (oneIn(3)) {
        Shared input{bytes(), readers(below(static_cast<int>(tiny_.models.size())))};
        if (!input.readers.empty()) tiny_.inputs.push_back(input);
      }
    }
    const bool throughput = *tiny_.modes.goal == Goal::kThroughput;
    if (throughput && (oneIn(4) || (tiny_.modes.memory == MemoryModel::kLive && tiny_.models.size() > 1)))
      tiny_.order_hint = rank_;
  }

  // Between what one op needs and what all need.
  void setMemories() {
    std::int64_t all = 0;
    for (const Op& op : tiny_.ops) all += op.memory + op.activations + 2 * op.weights + op.workspace;
    for (const Tensor& tensor : tiny_.tensors) all += tensor.bytes;
    for (Device& device : tiny_.devices) {
      if (oneIn(tight_ ? 4 : 2)) continue;
      const double share = tight_ ? 0.2 + 0.7 * random_.unit() : 0.4 + random_.unit();
      device.memory = static_cast<std::int64_t>(std::llround(share * static_cast<double>(all)));
    }
  }
};

}  // namespace

std::optional<Features> featuresFromText(const std::string& text) {
  if (text == "all") return Features{};
  Features features{false, false, false, false, false};
  if (text == "none") return features;
  std::stringstream list(text);
  for (std::string name; std::getline(list, name, ',');) {
    if (name == "live")
      features.live = true;
    else if (name == "blocks")
      features.blocks = true;
    else if (name == "sync")
      features.sync = true;
    else if (name == "inputs")
      features.inputs = true;
    else if (name == "fractions")
      features.fractions = true;
    else
      return std::nullopt;
  }
  return features;
}

Tiny generate(std::uint64_t seed, const Wish& wish) {
  return Generator(seed, wish).make();
}

}  // namespace allot::tiny
