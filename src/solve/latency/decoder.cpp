#include "solve/latency/decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void Sequence::setOrder(std::vector<std::uint32_t> ops) {
  order = std::move(ops);
  position.resize(order.size());
  for (std::uint32_t p = 0; p < order.size(); ++p) position[order[p]] = p;
}

void Sequence::shift(std::uint32_t from, std::uint32_t to) {
  const std::uint32_t op = order[from];
  for (std::uint32_t p = from; p < to; ++p) position[order[p] = order[p + 1]] = p;
  for (std::uint32_t p = from; p > to; --p) position[order[p] = order[p - 1]] = p;
  order[to] = op;
  position[op] = to;
}

inline void Decoder::dropOldest(Port& port) {
  std::memmove(port.begin, port.begin + 1, (kGaps - 1) * sizeof(double));
  std::memmove(port.end, port.end + 1, (kGaps - 1) * sizeof(double));
  --port.gaps;
}

// The earliest time at or after `ready` when both ports are idle for `seconds`; takes it.
inline double Decoder::put(Port& a, Port& b, double ready, double seconds) {
  const double latest = std::max(a.free, b.free);
  if (ready >= latest || (a.gaps | b.gaps) == 0) {
    const double start = std::max(ready, latest);
    for (Port* port : {&a, &b}) {
      if (start > port->free) {
        if (port->gaps == kGaps) dropOldest(*port);
        port->begin[port->gaps] = port->free;
        port->end[port->gaps++] = start;
      }
      port->free = start + seconds;
      if (&a == &b) break;
    }
    return start;
  }
  // Walk both lists of idle times, the endless last one included.
  std::uint32_t i = 0, j = 0;
  double start;
  while (true) {
    const double begin_a = i < a.gaps ? a.begin[i] : a.free, end_a = i < a.gaps ? a.end[i] : kInfinity;
    const double begin_b = j < b.gaps ? b.begin[j] : b.free, end_b = j < b.gaps ? b.end[j] : kInfinity;
    start = std::max({ready, begin_a, begin_b});
    if (start + seconds <= std::min(end_a, end_b)) break;
    if (end_a <= end_b)
      ++i;
    else
      ++j;
  }
  const auto take = [&](Port& port, std::uint32_t at) {
    const double stop = start + seconds;
    if (at == port.gaps) {
      if (start > port.free) {
        if (port.gaps == kGaps) dropOldest(port);
        port.begin[port.gaps] = port.free;
        port.end[port.gaps++] = start;
      }
      port.free = stop;
      return;
    }
    const double left = port.begin[at], right = port.end[at];
    if (left < start && stop < right) {
      // Split. Without room the oldest idle time goes.
      if (port.gaps == kGaps) {
        if (at == 0) {
          port.begin[at] = stop;
          return;
        }
        dropOldest(port);
        --at;
      }
      for (std::uint32_t k = port.gaps++; k > at; --k) {
        port.begin[k] = port.begin[k - 1];
        port.end[k] = port.end[k - 1];
      }
      port.end[at] = start;
      port.begin[at + 1] = stop;
    } else if (left < start) {
      port.end[at] = start;
    } else if (stop < right) {
      port.begin[at] = stop;
    } else {
      for (std::uint32_t k = at; k + 1 < port.gaps; ++k) {
        port.begin[k] = port.begin[k + 1];
        port.end[k] = port.end[k + 1];
      }
      --port.gaps;
    }
  };
  take(a, i);
  if (&a != &b) take(b, j);
  return start;
}

template <bool kRecord>
double Decoder::arrive(std::uint32_t op, std::uint32_t to, const Sequence& sequence, Schedule* schedule) {
  double ready = 0;
  crossing_.clear();
  for (std::uint32_t i = input_begin_[op]; i < input_begin_[op + 1]; ++i) {
    const Input& input = inputs_[i];
    const double end = end_[input.producer];
    const std::uint32_t from = sequence.device[input.producer];
    if (from == to) {
      ready = std::max(ready, end);
      continue;
    }
    const double seconds = transferSeconds(input, from, to);
    if (!ports_ || seconds == 0) {
      ready = std::max(ready, end + seconds);
      if (kRecord && seconds > 0) schedule->transfers.push_back({input.net, to, end, end + seconds});
      continue;
    }
    if (shared_) {
      const Arrival& arrival = arrival_[input.net * devices_ + to];
      // The setter still sits there and came earlier: the net has been sent.
      if (arrival.setter != kNobody && sequence.device[arrival.setter] == to &&
          sequence.position[arrival.setter] < sequence.position[op]) {
        ready = std::max(ready, arrival.time);
        continue;
      }
    }
    crossing_.push_back({end, seconds, from, input.net});
  }
  // Few: insertion sort, the first input first among equals.
  for (std::size_t i = 1; i < crossing_.size(); ++i) {
    for (std::size_t k = i; k > 0 && crossing_[k].ready < crossing_[k - 1].ready; --k)
      std::swap(crossing_[k], crossing_[k - 1]);
  }
  for (const Crossing& crossing : crossing_) {
    const double start =
        put(port_[crossing.from], port_[receive_offset_ + to], crossing.ready, crossing.seconds);
    ready = std::max(ready, start + crossing.seconds);
    if (shared_) {
      Arrival& arrival = arrival_[crossing.net * devices_ + to];
      saved_arrival_.emplace_back(crossing.net * devices_ + to, arrival);
      if (arrival.time != start + crossing.seconds)
        dirty_ = std::max(dirty_, last_use_[model_.net_producer[crossing.net] - first_] + 1);
      arrival = {start + crossing.seconds, op};
    }
    if (kRecord) schedule->transfers.push_back({crossing.net, to, start, start + crossing.seconds});
  }
  return ready;
}

template <bool kRecord>
inline double Decoder::step(std::uint32_t op, const Sequence& sequence, Schedule* schedule) {
  const std::uint32_t to = sequence.device[op];
  const double ready = arrive<kRecord>(op, to, sequence, schedule);
  const double seconds = seconds_[op * devices_ + to];
  if (seconds == 0) return ready;
  const double start = std::max(ready, free_[to]);
  free_[to] = start + seconds + launch_[to];
  return start + seconds;
}

bool Decoder::sameState(const Checkpoint& checkpoint) const {
  if (!std::equal(free_.begin(), free_.end(), checkpoint.free.begin())) return false;
  for (std::size_t p = 0; p < checkpoint.port.size(); ++p) {
    const Port &a = port_[p], &b = checkpoint.port[p];
    if (a.free != b.free || a.gaps != b.gaps) return false;
    for (std::uint32_t g = 0; g < a.gaps; ++g) {
      if (a.begin[g] != b.begin[g] || a.end[g] != b.end[g]) return false;
    }
  }
  return true;
}

void Decoder::clear() {
  std::fill(arrival_.begin(), arrival_.end(), Arrival{});
  std::fill(free_.begin(), free_.end(), 0);
  std::fill(port_.begin(), port_.end(), Port{});
}

void Decoder::findLastUse(const Sequence& sequence, std::uint32_t op) {
  std::uint32_t last = 0;
  for (const std::uint32_t reader : readers_[op]) last = std::max(last, sequence.position[reader]);
  last_use_[op] = last;
}

// Makes the ways behind ops known from position `from` on.
void Decoder::findRest(const Sequence& sequence, std::uint32_t from) {
  while (rest_from_ > (from + stride_ - 1) / stride_) {
    --rest_from_;
    double* const gate = &gate_[rest_from_ * devices_];
    std::copy_n(gate + devices_, devices_, gate);
    const std::uint32_t begin = rest_from_ * stride_;
    const auto n = static_cast<std::uint32_t>(opCount());
    for (std::uint32_t p = std::min(n, begin + stride_); p-- > begin;) {
      const std::uint32_t op = sequence.order[p], on = sequence.device[op];
      const double seconds = seconds_[op * devices_ + on];
      double rest = seconds > 0 ? std::max(0.0, launch_[on] + gate[on]) : 0;
      for (std::uint32_t i = readers_.begin[op]; i < readers_.begin[op + 1]; ++i) {
        const std::uint32_t reader = readers_.items[i], to = sequence.device[reader];
        const double on_way = on == to ? 0 : transferSeconds(inputs_[reader_input_[i]], on, to);
        rest = std::max(rest, on_way + seconds_[reader * devices_ + to] + rest_[reader]);
      }
      rest_[op] = rest;
      if (seconds > 0) gate[on] = seconds + rest;
    }
  }
}

double Decoder::reset(const Sequence& sequence) {
  const auto n = static_cast<std::uint32_t>(opCount());
  stop_ = n;
  rest_from_ = static_cast<std::uint32_t>(copy_.size());
  windowed_ = false;
  clear();
  Checkpoint& zero = checkpoints_[copy_[0]];
  zero.free = free_;
  if (ports_) zero.port = port_;
  for (std::uint32_t op = 0; op < n; ++op) findLastUse(sequence, op);
  tryChange(sequence, 0, n, kInfinity);
  changed_until_ = 0;
  accept(sequence);
  return value_;
}

double Decoder::tryChange(const Sequence& sequence, std::uint32_t from, std::uint32_t until,
                          double threshold) {
  const std::uint32_t n = stop_;
  const double cut = windowed_ ? kInfinity : threshold;
  if (cut < kInfinity) findRest(sequence, until);
  const std::uint32_t known = cut < kInfinity ? std::max(until, rest_from_ * stride_) : n;
  std::uint32_t block = from / stride_;
  const Checkpoint& start = checkpoints_[2 * block + copy_[block]];
  free_ = start.free;
  if (ports_) std::copy(start.port.begin(), start.port.end(), port_.begin());
  double largest = start.largest;
  changed_from_ = from;
  changed_until_ = dirty_ = until;
  tried_from_ = block * stride_;
  saved_arrival_.clear();
  if (shared_) {
    // An op that left a device may have received what later ops there read.
    for (std::uint32_t p = from; p < until; ++p) {
      const std::uint32_t op = sequence.order[p];
      for (std::uint32_t i = input_begin_[op]; i < input_begin_[op + 1]; ++i)
        dirty_ = std::max(dirty_, last_use_[inputs_[i].producer] + 1);
    }
  }
  std::uint32_t position = tried_from_;
  while (true) {
    const std::uint32_t stop = std::min(n, (block + 1) * stride_);
    double block_largest = 0;
    for (; position < stop; ++position) {
      const std::uint32_t op = sequence.order[position];
      const double end = step<false>(op, sequence, nullptr);
      block_largest = std::max(block_largest, end);
      saved_end_[position] = end_[op];
      if (end == end_[op] && position >= until) continue;
      end_[op] = end;
      if (position < from) continue;
      // A shift moves readers back by one place at most, or into the changed range.
      dirty_ = std::max(dirty_, last_use_[op] + 1);
      if (end + (position < known ? tail_[op * devices_ + sequence.device[op]] : rest_[op]) > cut) {
        tried_until_ = position + 1;
        return tried_value_ = kInfinity;
      }
    }
    largest = std::max(largest, block_largest);
    tried_largest_[block] = block_largest;
    if (position == n) {
      if (windowed_) largest = windowValue(sequence);
      break;
    }
    ++block;
    // The last ends of a window count even where nothing reads them.
    const bool counts = windowed_ && position + 2 * stride_ > n;
    if (position > dirty_ && !counts && sameState(checkpoints_[2 * block + copy_[block]])) {
      largest = windowed_ ? value_ : std::max(largest, behind_[block]);
      break;
    }
    Checkpoint& written = checkpoints_[2 * block + 1 - copy_[block]];
    written.free = free_;
    if (ports_) std::copy(port_.begin(), port_.end(), written.port.begin());
    written.largest = largest;
  }
  tried_until_ = position;
  if (largest > threshold) largest = kInfinity;
  return tried_value_ = largest;
}

double Decoder::windowValue(const Sequence& sequence) const {
  double free = 0, latest = 0, ends = 0;
  for (const double time : free_) {
    free += time;
    latest = std::max(latest, time);
  }
  const std::uint32_t last = std::min(stop_, 2 * stride_);
  for (std::uint32_t p = stop_ - last; p < stop_; ++p) ends += end_[sequence.order[p]];
  return free / static_cast<double>(devices_) + latest + ends / last;
}

void Decoder::setWindow(const Sequence& sequence, std::uint32_t begin, std::uint32_t stop) {
  stop_ = stop;
  windowed_ = true;
  tryChange(sequence, begin, stop, kInfinity);
  changed_until_ = 0;
  accept(sequence);
}

void Decoder::accept(const Sequence& sequence) {
  value_ = tried_value_;
  rest_from_ = std::max(rest_from_, (changed_until_ + stride_ - 1) / stride_);
  // The blocks behind the first one began at checkpoints that the try wrote.
  const std::uint32_t first = tried_from_ / stride_, last = (tried_until_ - 1) / stride_;
  for (std::uint32_t block = first; block <= last; ++block) {
    if (block > first) copy_[block] ^= 1;
    block_largest_[block] = tried_largest_[block];
  }
  double behind = 0;
  for (std::size_t block = block_largest_.size(); block-- > 0;)
    behind_[block] = behind = std::max(behind, block_largest_[block]);
  // `largest` of later checkpoints: the try ended where all was as before, but earlier ends may differ.
  double before = checkpoints_[2 * last + copy_[last]].largest;
  for (std::size_t block = last; block + 1 < block_largest_.size(); ++block) {
    before = std::max(before, block_largest_[block]);
    checkpoints_[2 * (block + 1) + copy_[block + 1]].largest = before;
  }
  ++accepted_;
  for (std::uint32_t position = changed_from_; position < changed_until_; ++position) {
    const std::uint32_t op = sequence.order[position];
    for (std::uint32_t i = input_begin_[op]; i < input_begin_[op + 1]; ++i) {
      // Once for each op, however many of its readers are among those that changed.
      const std::uint32_t producer = inputs_[i].producer;
      if (std::exchange(last_use_found_[producer], accepted_) != accepted_) findLastUse(sequence, producer);
    }
  }
}

void Decoder::reject(const Sequence& tried) {
  for (std::uint32_t position = tried_from_; position < tried_until_; ++position)
    end_[tried.order[position]] = saved_end_[position];
  for (std::size_t i = saved_arrival_.size(); i-- > 0;)
    arrival_[saved_arrival_[i].first] = saved_arrival_[i].second;
}

bool Decoder::greedy(Sequence& sequence, double price, const MemoryPrices& prices, const Budget& budget) {
  clear();
  std::vector<double> room = model_.memory;
  std::vector<std::uint8_t> placed(model_.unitCount(), 0);
  std::vector<Port> ports;
  sequence.device.assign(opCount(), 0);
  for (const std::uint32_t op : sequence.order) {
    if (sequence.position[op] % 1024 == 1023 && budget.stopped()) return false;
    const std::uint32_t unit = model_.unit[first_ + op];
    const double* times = &seconds_[op * devices_];
    if (!placed[unit]) {
      std::uint32_t best = 0;
      std::pair<bool, double> best_cost{true, kInfinity};
      ports = port_;
      for (std::uint32_t d = 0; d < devices_; ++d) {
        if (!(times[d] < kCannotRun)) continue;
        sequence.device[op] = d;
        saved_arrival_.clear();
        const double ready = arrive<false>(op, d, sequence, nullptr);
        for (std::size_t i = saved_arrival_.size(); i-- > 0;)
          arrival_[saved_arrival_[i].first] = saved_arrival_[i].second;
        port_ = ports;
        const double finish = (times[d] > 0 ? std::max(ready, free_[d]) : ready) + times[d];
        const std::pair cost{model_.unit_bytes[unit] > room[d], finish + price * prices.excess(unit, d)};
        if (cost < best_cost) {
          best_cost = cost;
          best = d;
        }
      }
      placed[unit] = 1;
      room[best] -= model_.unit_bytes[unit];
      for (const std::uint32_t member : model_.unit_ops[unit]) sequence.device[member - first_] = best;
    }
    end_[op] = step<false>(op, sequence, nullptr);
  }
  reset(sequence);
  return true;
}

Schedule Decoder::record(const Sequence& sequence) {
  reset(sequence);
  clear();
  Schedule schedule;
  schedule.device = sequence.device;
  schedule.start.resize(opCount());
  for (const std::uint32_t op : sequence.order)
    schedule.start[op] = step<true>(op, sequence, &schedule) - seconds(op, sequence.device[op]);
  return schedule;
}

}  // namespace allot
