#include "solve/latency/lanes.h"

#include <algorithm>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kAllLanes = (1u << Lanes::kLanes) - 1;
constexpr std::uint32_t kLookEvery = 16;  // positions between two looks at the limits

}  // namespace

Lanes::Lanes(const ScheduleModel& model, const Decoder& decoder)
    : model_(model),
      decoder_(decoder),
      first_lane_(decoder.ports_ ? 1 : 0),
      differs_(decoder.opCount(), 0),
      absent_(decoder.opCount(), 0),
      device_(decoder.opCount()),
      end_(decoder.opCount()),
      free_(decoder.devices_),
      port_(2 * decoder.devices_),
      sent_(decoder.arrival_.size()) {
  clear();
}

void Lanes::clear() {
  for (const std::uint32_t op : touched_) differs_[op] = 0;
  for (const std::uint32_t op : moved_) absent_[op] = 0;
  touched_.clear();
  moved_.clear();
  inserts_.clear();
  used_ = first_lane_;
  from_ = UINT32_MAX;
  limit_.fill(kInfinity);
  until_.fill(0);
}

void Lanes::mark(std::uint32_t op, std::uint32_t lane) {
  if (differs_[op] == 0) {
    touched_.push_back(op);
    device_[op].fill(UINT32_MAX);
  }
  differs_[op] |= 1u << lane;
}

void Lanes::add(const Move& move, double limit) {
  const std::uint32_t lane = used_++;
  limit_[lane] = limit;
  from_ = std::min(from_, move.from);
  until_[lane] = move.until;
  for (const auto& [op, device] : move.placed) {
    mark(op, lane);
    device_[op][lane] = device;
    for (const std::uint32_t reader : decoder_.readers_[op]) mark(reader, lane);
  }
  if (move.shifted) {
    const std::uint32_t op = move.shift_op;
    mark(op, lane);
    absent_[op] |= 1u << lane;
    moved_.push_back(op);
    inserts_.push_back({move.shift_to + (move.shift_to > move.shift_from ? 1u : 0u), lane, op});
  }
}

inline double Lanes::endOf(std::uint32_t op, std::uint32_t lane) const {
  return accepted_->position[op] < start_ ? decoder_.end_[op] : end_[op].at[lane];
}

// What has been sent before the sweep, for all lanes alike, is in the decoder.
inline Lanes::Sent& Lanes::sentOf(std::uint32_t net, std::uint32_t to) {
  Sent& sent = sent_[net * decoder_.devices_ + to];
  if (sent.run == run_) return sent;
  sent.run = run_;
  sent.lanes = 0;
  const Decoder::Arrival& arrival = decoder_.arrival_[net * decoder_.devices_ + to];
  if (arrival.setter != Decoder::kNobody && accepted_->device[arrival.setter] == to &&
      accepted_->position[arrival.setter] < start_) {
    sent.lanes = kAllLanes;
    sent.time.at.fill(arrival.time);
  }
  return sent;
}

void Lanes::stepLane(std::uint32_t op, std::uint32_t lane) {
  const auto deviceOf = [&](std::uint32_t other) {
    if ((differs_[other] >> lane & 1) == 0) return accepted_->device[other];
    const std::uint32_t device = device_[other][lane];
    return device == UINT32_MAX ? accepted_->device[other] : device;
  };
  const std::uint32_t to = deviceOf(op);
  double ready = 0;
  for (std::uint32_t i = decoder_.input_begin_[op]; i < decoder_.input_begin_[op + 1]; ++i) {
    const Decoder::Input& input = decoder_.inputs_[i];
    const double end = endOf(input.producer, lane);
    const std::uint32_t from = deviceOf(input.producer);
    if (from == to) {
      ready = std::max(ready, end);
      continue;
    }
    const double seconds = decoder_.transferSeconds(input, from, to);
    if (!decoder_.ports_ || seconds == 0) {
      ready = std::max(ready, end + seconds);
      continue;
    }
    Sent* sent = decoder_.shared_ ? &sentOf(input.net, to) : nullptr;
    if (sent != nullptr && (sent->lanes >> lane & 1)) {
      ready = std::max(ready, sent->time.at[lane]);
      continue;
    }
    double &send = port_[from].at[lane], &receive = port_[decoder_.receive_offset_ + to].at[lane];
    const double there = std::max({end, send, receive}) + seconds;
    send = receive = there;
    ready = std::max(ready, there);
    if (sent != nullptr) {
      sent->lanes |= 1u << lane;
      sent->time.at[lane] = there;
    }
  }
  const std::size_t at = op * decoder_.devices_ + to;
  const double seconds = decoder_.seconds_[at];
  double end = ready;
  if (seconds != 0) {
    end = std::max(ready, free_[to].at[lane]) + seconds;
    free_[to].at[lane] = end + decoder_.launch_[to];
  }
  end_[op].at[lane] = end;
  late_.at[lane] = std::max(late_.at[lane], end + decoder_.tail_[at]);
}

void Lanes::stepAll(std::uint32_t op) {
  const std::uint32_t to = accepted_->device[op];
  Times ready;
  ready.at.fill(0);
  for (std::uint32_t i = decoder_.input_begin_[op]; i < decoder_.input_begin_[op + 1]; ++i) {
    const Decoder::Input& input = decoder_.inputs_[i];
    const std::uint32_t from = accepted_->device[input.producer];
    const double seconds = from == to ? 0 : decoder_.transferSeconds(input, from, to);
    Times& end = end_[input.producer];
    if (accepted_->position[input.producer] < start_) end.at.fill(decoder_.end_[input.producer]);
    if (!decoder_.ports_ || seconds == 0) {
      for (std::uint32_t l = 0; l < kLanes; ++l) ready.at[l] = std::max(ready.at[l], end.at[l] + seconds);
      continue;
    }
    Times &send = port_[from], &receive = port_[decoder_.receive_offset_ + to];
    Sent* sent = decoder_.shared_ ? &sentOf(input.net, to) : nullptr;
    if (sent == nullptr || sent->lanes == 0) {
      Times there;
      for (std::uint32_t l = 0; l < kLanes; ++l)
        there.at[l] = std::max(std::max(end.at[l], send.at[l]), receive.at[l]) + seconds;
      send = receive = there;
      for (std::uint32_t l = 0; l < kLanes; ++l) ready.at[l] = std::max(ready.at[l], there.at[l]);
      if (sent != nullptr) {
        sent->lanes = kAllLanes;
        sent->time = there;
      }
      continue;
    }
    for (std::uint32_t l = 0; sent->lanes != kAllLanes && l < kLanes; ++l) {
      if (sent->lanes >> l & 1) continue;
      const double there = std::max({end.at[l], send.at[l], receive.at[l]}) + seconds;
      send.at[l] = receive.at[l] = sent->time.at[l] = there;
    }
    sent->lanes = kAllLanes;
    for (std::uint32_t l = 0; l < kLanes; ++l) ready.at[l] = std::max(ready.at[l], sent->time.at[l]);
  }
  const std::size_t at = op * decoder_.devices_ + to;
  const double seconds = decoder_.seconds_[at], tail = decoder_.tail_[at];
  if (seconds != 0) {
    Times& free = free_[to];
    const double launch = decoder_.launch_[to];
    for (std::uint32_t l = 0; l < kLanes; ++l) ready.at[l] = std::max(ready.at[l], free.at[l]) + seconds;
    for (std::uint32_t l = 0; l < kLanes; ++l) free.at[l] = ready.at[l] + launch;
  }
  end_[op] = ready;
  for (std::uint32_t l = 0; l < kLanes; ++l) late_.at[l] = std::max(late_.at[l], ready.at[l] + tail);
}

// Of the open lanes, those of which the rest of the order can see nothing any more.
std::uint32_t Lanes::joined(std::uint32_t position, std::uint32_t open) const {
  const std::uint32_t block = position / decoder_.stride_;
  const Decoder::Checkpoint& checkpoint = decoder_.checkpoints_[2 * block + decoder_.copy_[block]];
  for (std::uint32_t l = 0; l < used_; ++l) {
    if (position <= until_[l]) open &= ~(1u << l);
  }
  for (std::uint32_t d = 0; d < decoder_.devices_ && open != 0; ++d) {
    for (std::uint32_t l = 0; l < used_; ++l) {
      if (free_[d].at[l] != checkpoint.free[d]) open &= ~(1u << l);
    }
  }
  for (std::uint32_t p = position; p-- > start_ && open != 0;) {
    const std::uint32_t op = accepted_->order[p];
    if (decoder_.last_use_[op] + 1 < position) continue;
    for (std::uint32_t l = 0; l < used_; ++l) {
      if (end_[op].at[l] != decoder_.end_[op]) open &= ~(1u << l);
    }
  }
  return open;
}

void Lanes::run(const Sequence& accepted) {
  accepted_ = &accepted;
  if (++run_ == 0) {
    for (Sent& sent : sent_) sent.run = 0;
    run_ = 1;
  }
  std::sort(inserts_.begin(), inserts_.end(), [](const Insert& a, const Insert& b) {
    return a.position != b.position ? a.position < b.position : a.lane < b.lane;
  });
  const std::uint32_t n = decoder_.stop_, stride = decoder_.stride_;
  std::uint32_t block = from_ / stride;
  const Decoder::Checkpoint& start = decoder_.checkpoints_[2 * block + decoder_.copy_[block]];
  start_ = block * stride;
  for (std::uint32_t d = 0; d < decoder_.devices_; ++d) free_[d].at.fill(start.free[d]);
  for (std::size_t p = 0; p < start.port.size(); ++p) port_[p].at.fill(start.port[p].free);
  late_.at.fill(start.largest);
  std::uint32_t open = (1u << used_) - 1;
  std::size_t insert = 0;
  std::uint32_t position = start_;
  value_.fill(kInfinity);
  while (open != 0) {
    const std::uint32_t stop = std::min({n, position + kLookEvery, (block + 1) * stride});
    for (; position < stop; ++position) {
      for (; insert < inserts_.size() && inserts_[insert].position <= position; ++insert)
        stepLane(inserts_[insert].op, inserts_[insert].lane);
      const std::uint32_t op = accepted.order[position];
      if (differs_[op] == 0) {
        stepAll(op);
        continue;
      }
      for (std::uint32_t l = 0; l < used_; ++l) {
        if ((absent_[op] >> l & 1) == 0) stepLane(op, l);
      }
    }
    for (; insert < inserts_.size() && inserts_[insert].position <= position && position == n; ++insert)
      stepLane(inserts_[insert].op, inserts_[insert].lane);
    for (std::uint32_t l = 0; l < used_; ++l) {
      if (late_.at[l] > limit_[l]) open &= ~(1u << l);
    }
    if (position == n) break;
    if (position != (block + 1) * stride) continue;
    ++block;
    if (first_lane_ > 0) continue;
    const std::uint32_t same = joined(position, open);
    for (std::uint32_t l = 0; l < used_; ++l) {
      if (same >> l & 1) {
        value_[l] = std::max(late_.at[l], decoder_.behind_[block]);
        if (value_[l] > limit_[l]) value_[l] = kInfinity;
      }
    }
    open &= ~same;
  }
  for (std::uint32_t l = 0; l < used_; ++l) {
    if (open >> l & 1) value_[l] = late_.at[l];
  }
}

}  // namespace allot
