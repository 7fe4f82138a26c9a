#include "solve/latency/lanes.h"

#include <algorithm>

namespace allot {
namespace {

constexpr std::uint32_t kAllLanes = (1u << Lanes::kLanes) - 1;

}  // namespace

Lanes::Lanes(const Decoder& decoder)
    : decoder_(decoder),
      first_lane_(decoder.ports_ ? 1 : 0),
      differs_(decoder.opCount(), 0),
      absent_(decoder.opCount(), 0),
      device_(decoder.opCount()),
      end_(decoder.opCount()),
      free_(decoder.devices_),
      port_(2 * decoder.devices_),
      slots_(decoder.arrival_.size()) {
  clear();
}

void Lanes::clear() {
  for (const std::uint32_t op : touched_) differs_[op] = absent_[op] = 0;
  touched_.clear();
  inserts_.clear();
  used_ = first_lane_;
  from_ = UINT32_MAX;
}

void Lanes::mark(std::uint32_t op, std::uint32_t lane) {
  if (differs_[op] == 0) {
    touched_.push_back(op);
    device_[op].fill(UINT32_MAX);
  }
  differs_[op] |= 1u << lane;
}

void Lanes::add(const Move& move) {
  const std::uint32_t lane = used_++;
  from_ = std::min(from_, move.from);
  for (const auto& [op, device] : move.placed) {
    mark(op, lane);
    device_[op][lane] = device;
    for (const std::uint32_t reader : decoder_.readers_[op]) mark(reader, lane);
  }
  if (move.shifted) {
    mark(move.shift_op, lane);
    absent_[move.shift_op] |= 1u << lane;
    inserts_.push_back({move.shift_to + (move.shift_to > move.shift_from ? 1u : 0u), lane, move.shift_op});
  }
}

inline double Lanes::endOf(std::uint32_t op, std::uint32_t lane) const {
  return accepted_->position[op] < start_ ? decoder_.end_[op] : end_[op].at(lane);
}

// What has been sent before the sweep, for all lanes alike, is in the decoder.
inline Lanes::Sent& Lanes::sentOf(std::uint32_t net, std::uint32_t to) {
  Slot& slot = slots_[net * decoder_.devices_ + to];
  if (slot.run == run_) return sent_[slot.at];
  slot = {run_, static_cast<std::uint32_t>(sent_.size())};
  Sent& sent = sent_.emplace_back();
  const Decoder::Arrival& arrival = decoder_.arrival_[net * decoder_.devices_ + to];
  if (arrival.setter != Decoder::kNobody && accepted_->device[arrival.setter] == to &&
      accepted_->position[arrival.setter] < start_) {
    sent.lanes = kAllLanes;
    sent.time = LaneTimes(arrival.time);
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
      ready = std::max(ready, sent->time.at(lane));
      continue;
    }
    LaneTimes &send = port_[from], &receive = port_[decoder_.receive_offset_ + to];
    const double there = std::max({end, send.at(lane), receive.at(lane)}) + seconds;
    send.set(lane, there);
    receive.set(lane, there);
    ready = std::max(ready, there);
    if (sent != nullptr) {
      sent->lanes |= 1u << lane;
      sent->time.set(lane, there);
    }
  }
  const double seconds = decoder_.seconds_[op * decoder_.devices_ + to];
  double end = ready;
  if (seconds != 0) {
    end = std::max(ready, free_[to].at(lane)) + seconds;
    free_[to].set(lane, end + decoder_.launch_[to]);
  }
  end_[op].set(lane, end);
}

void Lanes::stepAll(std::uint32_t op) {
  const std::uint32_t to = accepted_->device[op];
  LaneTimes ready(0);
  for (std::uint32_t i = decoder_.input_begin_[op]; i < decoder_.input_begin_[op + 1]; ++i) {
    const Decoder::Input& input = decoder_.inputs_[i];
    const std::uint32_t from = accepted_->device[input.producer];
    const double seconds = from == to ? 0 : decoder_.transferSeconds(input, from, to);
    LaneTimes there = accepted_->position[input.producer] < start_ ? LaneTimes(decoder_.end_[input.producer])
                                                                   : end_[input.producer];
    if (seconds == 0 || !decoder_.ports_) {
      there += seconds;
      ready.raise(there);
      continue;
    }
    Sent* sent = decoder_.shared_ ? &sentOf(input.net, to) : nullptr;
    if (sent == nullptr || sent->lanes == 0) {
      LaneTimes &send = port_[from], &receive = port_[decoder_.receive_offset_ + to];
      there.raise(send);
      there.raise(receive);
      there += seconds;
      send = there;
      receive = there;
      ready.raise(there);
      if (sent == nullptr) continue;
      sent->lanes = kAllLanes;
      sent->time = there;
      continue;
    }
    if (sent->lanes != kAllLanes) sendRest(*sent, input.producer, from, to, seconds);
    ready.raise(sent->time);
  }
  if (const double seconds = decoder_.seconds_[op * decoder_.devices_ + to]; seconds != 0) {
    ready.raise(free_[to]);
    ready += seconds;
    LaneTimes free = ready;
    free += decoder_.launch_[to];
    free_[to] = free;
  }
  end_[op] = ready;
}

// Sends a net in the lanes that have not yet done so.
void Lanes::sendRest(Sent& sent, std::uint32_t producer, std::uint32_t from, std::uint32_t to,
                     double seconds) {
  LaneTimes &send = port_[from], &receive = port_[decoder_.receive_offset_ + to];
  for (std::uint32_t l = 0; l < kLanes; ++l) {
    if (sent.lanes >> l & 1) continue;
    const double there = std::max({endOf(producer, l), send.at(l), receive.at(l)}) + seconds;
    send.set(l, there);
    receive.set(l, there);
    sent.time.set(l, there);
  }
  sent.lanes = kAllLanes;
}

// How far the lanes have come at the end of the decoder's window, valued as the decoder does.
void Lanes::valueAll() {
  const auto devices = static_cast<double>(decoder_.devices_);
  const std::uint32_t stop = decoder_.stop_, last = std::min(stop, 2 * decoder_.stride_);
  LaneTimes free(0), latest(0), ends(0);
  for (const LaneTimes& time : free_) {
    free += time;
    latest.raise(time);
  }
  for (std::uint32_t p = stop - last; p < stop; ++p) {
    const std::uint32_t op = accepted_->order[p];
    if (p < start_)
      ends += decoder_.end_[op];
    else
      ends += end_[op];
  }
  // A shift over the first of the last ends changes which they are.
  const std::uint32_t first = stop - last;
  for (const Insert& insert : inserts_) {
    const std::uint32_t l = insert.lane, from = accepted_->position[insert.op];
    double more = 0;
    if (from < first && insert.position > first)
      more = endOf(insert.op, l) - endOf(accepted_->order[first], l);
    if (from >= first && insert.position < first)
      more = endOf(accepted_->order[first - 1], l) - endOf(insert.op, l);
    ends.set(l, ends.at(l) + more);
  }
  for (std::uint32_t l = 0; l < used_; ++l)
    value_[l] = free.at(l) / devices + latest.at(l) + ends.at(l) / last;
}

void Lanes::run(const Sequence& accepted) {
  accepted_ = &accepted;
  sent_.clear();
  if (++run_ == 0) {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    run_ = 1;
  }
  std::sort(inserts_.begin(), inserts_.end(),
            [](const Insert& a, const Insert& b) { return a.position < b.position; });
  const std::uint32_t block = from_ / decoder_.stride_;
  const Decoder::Checkpoint& start = decoder_.checkpoints_[2 * block + decoder_.copy_[block]];
  start_ = block * decoder_.stride_;
  for (std::uint32_t d = 0; d < decoder_.devices_; ++d) free_[d] = LaneTimes(start.free[d]);
  for (std::size_t p = 0; p < start.port.size(); ++p) port_[p] = LaneTimes(start.port[p].free);
  std::size_t insert = 0;
  for (std::uint32_t position = start_; position < decoder_.stop_; ++position) {
    for (; insert < inserts_.size() && inserts_[insert].position == position; ++insert)
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
  // Those that go behind all others.
  for (; insert < inserts_.size(); ++insert) stepLane(inserts_[insert].op, inserts_[insert].lane);
  valueAll();
}

}  // namespace allot
