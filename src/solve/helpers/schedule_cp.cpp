#include "solve/helpers/schedule_cp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solve/helpers/grid.h"

namespace allot {
namespace {

constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max() / 4;

}  // namespace

ScheduleCp::ScheduleCp(const ScheduleModel& model, double grid, const Schedule& start,
                       const std::vector<std::uint8_t>& is_free)
    : model_(model), grid_(grid) {
  std::int64_t latest = 0;
  for (std::size_t i = 0; i < model.opCount(); ++i) {
    const double end = start.start[i] + model.time(i, start.device[i]);
    latest = std::max(latest, static_cast<std::int64_t>(wholes(end, grid)) + 1);
  }
  horizon_ = latest;
  latest_ = static_cast<std::size_t>(column(0, horizon_, horizon_));
  cp.objective.back() = 1;
  addOps(start, is_free);
  addTransfers(start);
  addResources(start, is_free);
  addMemory();
}

std::int64_t ScheduleCp::whole(double seconds) {
  const double rounded = wholes(seconds, grid_);
  up += std::max(0.0, rounded * grid_ - seconds);
  return static_cast<std::int64_t>(rounded);
}

std::int32_t ScheduleCp::column(std::int64_t lower, std::int64_t upper, std::int64_t start_value) {
  cp.lower.push_back(lower);
  cp.upper.push_back(upper);
  cp.objective.push_back(0);
  start_values_.push_back(start_value);
  return static_cast<std::int32_t>(cp.lower.size() - 1);
}

void ScheduleCp::term(std::size_t column, std::int64_t value) {
  if (value == 0) return;
  cp.row_variable.push_back(static_cast<std::int32_t>(column));
  cp.row_value.push_back(value);
}

void ScheduleCp::closeRow(std::int64_t lower, std::int64_t upper, std::int32_t literal) {
  cp.row_lower.push_back(lower);
  cp.row_upper.push_back(upper);
  cp.row_if.push_back(literal);
  cp.row_begin.push_back(static_cast<std::uint32_t>(cp.row_variable.size()));
}

void ScheduleCp::minusEnd(std::size_t op) {
  term(static_cast<std::size_t>(begin_[op]), -1);
  for (std::size_t d = 0; d < model_.devices; ++d) {
    if (on(op, d) >= 0) term(static_cast<std::size_t>(on(op, d)), -whole(model_.time(op, d)));
  }
}

void ScheduleCp::addOps(const Schedule& start, const std::vector<std::uint8_t>& is_free) {
  on_.assign(model_.unitCount() * model_.devices, -1);
  for (std::size_t u = 0; u < model_.unitCount(); ++u) {
    const auto ops = model_.unit_ops[u];
    const std::uint32_t here = start.device[ops.front()];
    const bool fixed = !is_free.empty() &&
                       std::any_of(ops.begin(), ops.end(), [&](std::uint32_t op) { return !is_free[op]; });
    for (std::size_t d = 0; d < model_.devices; ++d) {
      if (!model_.runs(ops.front(), d) || (fixed && d != here)) continue;
      const std::int32_t x = column(fixed ? 1 : 0, 1, d == here);
      on_[u * model_.devices + d] = x;
      term(static_cast<std::size_t>(x), 1);
    }
    closeRow(1, 1);
  }
  for (std::size_t i = 0; i < model_.opCount(); ++i)
    begin_.push_back(column(0, horizon_, static_cast<std::int64_t>(wholes(start.start[i], grid_))));
  for (std::size_t i = 0; i < model_.opCount(); ++i) {
    if (model_.after[i].empty()) {
      term(latest_, 1);
      minusEnd(i);
      closeRow(0, kOpen);
    }
    for (const std::uint32_t reader : model_.after[i]) {
      term(static_cast<std::size_t>(begin_[reader]), 1);
      minusEnd(i);
      closeRow(0, kOpen);
    }
  }
}

void ScheduleCp::addTransfers(const Schedule& start) {
  std::vector<double> given(model_.netCount() * model_.devices, -1);
  for (const NetTransfer& transfer : start.transfers)
    given[transfer.net * model_.devices + transfer.to] = transfer.start;
  for (std::uint32_t net = 0; net < model_.netCount(); ++net) {
    const std::uint32_t producer = model_.net_producer[net];
    for (std::uint32_t to = 0; to < model_.devices; ++to) {
      Transfer transfer{net, to, -1, std::vector<std::int32_t>(model_.devices, -1)};
      std::vector<std::uint32_t> readers;
      for (const std::uint32_t reader : model_.net_consumers[net]) {
        if (on(reader, to) >= 0 && model_.unit[reader] != model_.unit[producer]) readers.push_back(reader);
      }
      if (readers.empty()) continue;
      bool any = false;
      for (std::uint32_t from = 0; from < model_.devices; ++from) {
        if (from == to || on(producer, from) < 0 || !(model_.transfer(net, from, to) > 0)) continue;
        const bool goes = start.device[producer] == from && given[net * model_.devices + to] >= 0;
        transfer.from[from] = column(0, 1, goes);
        any = true;
        for (const std::uint32_t reader : readers) {
          term(static_cast<std::size_t>(transfer.from[from]), 1);
          term(static_cast<std::size_t>(on(producer, from)), -1);
          term(static_cast<std::size_t>(on(reader, to)), -1);
          closeRow(-1, kOpen);
        }
      }
      if (!any) continue;
      const double wanted = given[net * model_.devices + to];
      const double end = start.start[producer] + model_.time(producer, start.device[producer]);
      transfer.start =
          column(0, horizon_, static_cast<std::int64_t>(wholes(wanted >= 0 ? wanted : end, grid_)));
      term(static_cast<std::size_t>(transfer.start), 1);
      minusEnd(producer);
      closeRow(0, kOpen);
      for (const std::uint32_t reader : readers) {
        term(static_cast<std::size_t>(begin_[reader]), 1);
        term(static_cast<std::size_t>(transfer.start), -1);
        for (std::uint32_t from = 0; from < model_.devices; ++from) {
          if (transfer.from[from] >= 0)
            term(static_cast<std::size_t>(transfer.from[from]), -whole(model_.transfer(net, from, to)));
        }
        closeRow(0, kOpen, on(reader, to));
      }
      transfers_.push_back(std::move(transfer));
    }
  }
}

void ScheduleCp::addResources(const Schedule& start, const std::vector<std::uint8_t>& is_free) {
  std::vector<std::vector<std::int32_t>> held(3 * model_.devices);  // devices, send ports, receive ports
  const auto hold = [&](std::size_t resource, std::int32_t begin, double seconds, std::int32_t literal) {
    cp.intervals.push_back({begin, whole(seconds), literal});
    held[resource].push_back(static_cast<std::int32_t>(cp.intervals.size() - 1));
  };
  for (std::size_t d = 0; d < model_.devices; ++d) {
    std::vector<std::uint32_t> kept;
    for (std::uint32_t i = 0; i < model_.opCount(); ++i) {
      if (on(i, d) < 0 || !(model_.time(i, d) > 0)) continue;
      hold(d, begin_[i], model_.time(i, d) + model_.launch[d], on(i, d));
      if (!is_free.empty() && !is_free[i] && start.device[i] == d) kept.push_back(i);
    }
    std::sort(kept.begin(), kept.end(),
              [&](std::uint32_t a, std::uint32_t b) { return start.start[a] < start.start[b]; });
    for (std::size_t k = 1; k < kept.size(); ++k) {
      term(static_cast<std::size_t>(begin_[kept[k]]), 1);
      term(static_cast<std::size_t>(begin_[kept[k - 1]]), -1);
      closeRow(whole(model_.time(kept[k - 1], d) + model_.launch[d]), kOpen);
    }
  }
  const std::size_t receive = model_.link_mode == LinkMode::kHalfDuplex ? model_.devices : 2 * model_.devices;
  for (const Transfer& transfer : transfers_) {
    if (model_.link_mode == LinkMode::kFree) break;
    for (std::size_t from = 0; from < model_.devices; ++from) {
      if (transfer.from[from] < 0) continue;
      hold(model_.devices + from, transfer.start, model_.transfer(transfer.net, from, transfer.to),
           transfer.from[from]);
      held[receive + transfer.to].push_back(static_cast<std::int32_t>(cp.intervals.size() - 1));
    }
  }
  for (std::vector<std::int32_t>& set : held) {
    if (set.size() > 1) cp.disjoint.push_back(std::move(set));
  }
}

void ScheduleCp::addMemory() {
  for (std::size_t d = 0; d < model_.devices; ++d) {
    if (!std::isfinite(model_.memory[d])) continue;
    double sum = 0;
    for (const double bytes : model_.unit_bytes) sum += bytes;
    const double unit = std::max(1.0, std::ceil(sum / 0x1.0p50));
    for (std::size_t u = 0; u < model_.unitCount(); ++u) {
      const std::int32_t x = on_[u * model_.devices + d];
      if (x >= 0)
        term(static_cast<std::size_t>(x), static_cast<std::int64_t>(std::floor(model_.unit_bytes[u] / unit)));
    }
    closeRow(0, static_cast<std::int64_t>(std::floor(std::min(model_.memory[d], 0x1.0p60) / unit)));
  }
}

Schedule ScheduleCp::scheduleOf(const std::vector<std::int64_t>& solution) const {
  const auto value = [&](std::int32_t at) { return solution[static_cast<std::size_t>(at)]; };
  Schedule schedule;
  for (std::size_t i = 0; i < model_.opCount(); ++i) {
    std::uint32_t device = 0;
    for (std::uint32_t d = 0; d < model_.devices; ++d) {
      if (on(i, d) >= 0 && value(on(i, d)) == 1) device = d;
    }
    schedule.device.push_back(device);
    schedule.start.push_back(static_cast<double>(value(begin_[i])) * grid_);
  }
  for (const Transfer& transfer : transfers_) {
    const std::uint32_t from = schedule.device[model_.net_producer[transfer.net]];
    const auto readers = model_.net_consumers[transfer.net];
    const bool read = std::any_of(readers.begin(), readers.end(),
                                  [&](std::uint32_t c) { return schedule.device[c] == transfer.to; });
    if (!read || from == transfer.to || transfer.from[from] < 0) continue;
    const double begin = static_cast<double>(value(transfer.start)) * grid_;
    schedule.transfers.push_back(
        {transfer.net, transfer.to, begin, begin + model_.transfer(transfer.net, from, transfer.to)});
  }
  return schedule;
}

}  // namespace allot
