// What the decoder keeps of the model: times on the grid, inputs, tails and room for its state.
#include <algorithm>
#include <cmath>

#include "solve/latency/decoder.h"
#include "solve/latency/device_paths.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

double timeGrid(const ScheduleModel& model) {
  double longest = 0;
  for (std::size_t op = 0; op < model.opCount(); ++op) {
    double slowest = 0;
    for (std::size_t d = 0; d < model.devices; ++d) {
      if (model.runs(op, d)) slowest = std::max(slowest, model.time(op, d) + model.launch[d]);
    }
    longest += slowest;
  }
  for (std::size_t net = 0; net < model.netCount(); ++net) {
    const double single = model.singleTransfer(net);
    double slowest = model.devices > 1 ? std::max(0.0, single) : 0;
    for (std::size_t from = 0; from < model.devices && single < 0; ++from) {
      for (std::size_t to = 0; to < model.devices; ++to)
        slowest = std::max(slowest, model.transfer(net, from, to));
    }
    longest += slowest * static_cast<double>(std::min(model.devices, model.net_consumers[net].size()));
  }
  // One bit is left for the rounding of the sum, one for the rounding of its parts.
  return longest > 0 ? std::ldexp(1.0, std::ilogb(longest) + 1 - 51) : 1;
}

Decoder::Decoder(const ScheduleModel& model, std::uint32_t first, std::uint32_t last, bool open, bool ports,
                 double grid)
    : model_(model),
      first_(first),
      devices_(model.devices),
      ports_(ports && model.link_mode != LinkMode::kFree),
      shared_(false),
      receive_offset_(model.link_mode == LinkMode::kHalfDuplex ? 0 : devices_),
      launch_(model.launch),
      end_(last - first),
      free_(devices_),
      port_(2 * devices_),
      last_use_(last - first),
      last_use_found_(last - first),
      saved_end_(last - first) {
  const std::size_t n = last - first;
  const auto onGrid = [grid](double time) {
    return time < kCannotRun ? std::nearbyint(time / grid) * grid : time;
  };
  // Blocks of pair times of the nets inside, each once; single times need none.
  std::vector<std::size_t> block;
  input_begin_.push_back(0);
  for (std::uint32_t op = first; op < last; ++op) {
    for (const std::uint32_t net : model.inputs[op]) {
      if (model.net_producer[net] < first) continue;
      shared_ = shared_ || model.net_consumers[net].size() > 1;
      double single = devices_ > 1 ? onGrid(model.transfer(net, 0, 1)) : 0;
      const bool by_pair = model.singleTransfer(net) < 0;
      for (std::size_t from = 0; by_pair && from < devices_ && single >= 0; ++from) {
        for (std::size_t to = 0; to < devices_; ++to) {
          if (from != to && onGrid(model.transfer(net, from, to)) != single) single = -1;
        }
      }
      block.push_back(pairs_.size());
      if (single < 0) {
        for (std::size_t from = 0; from < devices_; ++from) {
          for (std::size_t to = 0; to < devices_; ++to)
            pairs_.push_back(onGrid(model.transfer(net, from, to)));
        }
      }
      inputs_.push_back({model.net_producer[net] - first, net, single, nullptr});
    }
    input_begin_.push_back(static_cast<std::uint32_t>(inputs_.size()));
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].pairs = pairs_.data() + block[i];
  std::vector<std::uint32_t> count(n + 1, 0);
  for (const Input& input : inputs_) ++count[input.producer + 1];
  for (std::size_t i = 0; i < n; ++i) count[i + 1] += count[i];
  readers_.begin = count;
  readers_.items.resize(inputs_.size());
  reader_input_.resize(inputs_.size());
  for (std::uint32_t op = 0; op < n; ++op) {
    for (std::uint32_t i = input_begin_[op]; i < input_begin_[op + 1]; ++i) {
      const std::uint32_t at = count[inputs_[i].producer]++;
      readers_.items[at] = op;
      reader_input_[at] = i;
    }
  }
  shared_ = shared_ && ports_;
  if (shared_) arrival_.resize(model.netCount() * devices_);
  seconds_.assign(model.seconds.begin() + static_cast<std::ptrdiff_t>(first * devices_),
                  model.seconds.begin() + static_cast<std::ptrdiff_t>(last * devices_));
  for (double& time : seconds_) time = onGrid(time);
  for (double& time : launch_) time = onGrid(time);
  if (open)
    for (std::size_t d = 0; d < devices_; ++d) {
      double& last_seconds = seconds_[(n - 1) * devices_ + d];
      if (last_seconds < kCannotRun) last_seconds = 0;
    }
  // Tails inside the range; behind it nothing counts.
  tail_.assign(n * devices_, 0);
  for (std::size_t op = n; op-- > 0;) {
    LeastTwo ways;  // from its start to the end, by device; sums on the grid are exact in any order
    for (std::uint32_t to = 0; to < devices_; ++to)
      ways.add(to, seconds_[op * devices_ + to] + tail_[op * devices_ + to]);
    for (std::uint32_t i = input_begin_[op]; i < input_begin_[op + 1]; ++i) {
      const Input& input = inputs_[i];
      if (input.single >= 0) {
        for (std::uint32_t from = 0; from < devices_; ++from) {
          double& tail = tail_[input.producer * devices_ + from];
          const double here = seconds_[op * devices_ + from] + tail_[op * devices_ + from];
          tail = std::max(tail, std::min(here, input.single + ways.without(from)));
        }
        continue;
      }
      for (std::uint32_t from = 0; from < devices_; ++from) {
        double shortest = kInfinity;
        for (std::uint32_t to = 0; to < devices_; ++to) {
          const double on_way = from == to ? 0 : transferSeconds(input, from, to);
          shortest = std::min(shortest, on_way + seconds_[op * devices_ + to] + tail_[op * devices_ + to]);
        }
        double& tail = tail_[input.producer * devices_ + from];
        tail = std::max(tail, shortest);
      }
    }
  }
  stride_ = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(static_cast<std::size_t>(std::sqrt(static_cast<double>(n) * 1.5)), 8, 64));
  const std::size_t blocks = std::max<std::size_t>(1, (n + stride_ - 1) / stride_);
  checkpoints_.resize(2 * blocks);
  for (Checkpoint& checkpoint : checkpoints_) {
    checkpoint.free.resize(devices_);
    checkpoint.port.resize(ports_ ? 2 * devices_ : 0);
  }
  copy_.resize(blocks);
  rest_.resize(n);
  gate_.assign((blocks + 1) * devices_, -kInfinity);
  behind_.resize(blocks);
  block_largest_.resize(blocks);
  tried_largest_.resize(blocks);
}

}  // namespace allot
