#include "solve/throughput/linear_dp_cells.h"

#include <algorithm>

namespace allot {

CutPlaces::CutPlaces(const LineModel& model, std::span<const std::uint32_t> order)
    : model_(model), order_(order) {
  const auto n = static_cast<std::uint32_t>(order.size());
  std::vector<std::uint32_t> place(n);
  for (std::uint32_t p = 0; p < n; ++p) place[order[p]] = p;
  open_.assign(n + 1, 0);
  for (std::uint32_t net = 0; net < model.netCount(); ++net) {
    std::uint32_t first = n, last = 0;
    for (const std::uint32_t item : model.net_items[net]) {
      first = std::min(first, place[item]);
      last = std::max(last, place[item]);
    }
    open_[first + 1] += model.net_weight[net];
    open_[last + 1] -= model.net_weight[net];
  }
  for (std::uint32_t p = 1; p <= n; ++p) open_[p] += open_[p - 1];
}

std::vector<std::uint32_t> CutPlaces::even(std::size_t cells) const {
  const auto n = static_cast<std::uint32_t>(order_.size());
  const double share_work = model_.total_work > 0 ? 0.5 / model_.total_work : 0;
  const double share_item = (share_work > 0 ? 0.5 : 1.0) / n;
  const double step = 1.0 / static_cast<double>(cells);
  std::vector<std::uint32_t> cuts{0};
  double filled = 0, next = step;
  std::uint32_t least = 0;
  for (std::uint32_t p = 1; p < n; ++p) {
    filled += share_work * model_.work[order_[p - 1]] + share_item;
    if (least == 0 || open_[p] < open_[least]) least = p;
    if (filled < next) continue;
    cuts.push_back(least);
    least = 0;
    while (next <= filled) next += step;
  }
  cuts.push_back(n);
  return cuts;
}

std::vector<std::uint32_t> CutPlaces::around(std::span<const std::uint32_t> anchors, std::uint32_t radius,
                                             std::uint32_t step) const {
  const auto n = static_cast<std::uint32_t>(order_.size());
  std::vector<std::uint32_t> cuts{0, n};
  cuts.insert(cuts.end(), anchors.begin(), anchors.end());
  for (const std::uint32_t anchor : anchors) {
    const std::uint32_t last = std::min(n - 1, anchor + radius);
    for (std::uint32_t p = anchor > radius ? anchor - radius : 1; p <= last; p += step) {
      const auto first = open_.begin() + p;
      const auto end = open_.begin() + std::min(last, p + step - 1) + 1;
      cuts.push_back(static_cast<std::uint32_t>(std::min_element(first, end) - open_.begin()));
    }
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

LineCells::LineCells(const LineModel& model, std::span<const std::uint32_t> order,
                     std::vector<std::uint32_t> cuts)
    : begin(std::move(cuts)), model_(model), row_(model.poolCount() * model.parts) {
  fillItems(order);
  fillNets(order);
  fillEnds();
  change_.assign((count() + 2) * row_, 0);
  running_.assign(row_, 0);
}

void LineCells::fillItems(std::span<const std::uint32_t> order) {
  seconds.assign(count() * row_, 0);
  resident.assign(count(), 0);
  weights.assign(count(), 0);
  trains.assign(count(), 0);
  work_before.assign(count() + 1, 0);
  std::vector<std::uint32_t> stash_cell(model_.stash_bytes.size(), UINT32_MAX);
  for (std::uint32_t c = 0; c < count(); ++c) {
    work_before[c + 1] = work_before[c];
    for (std::uint32_t p = begin[c]; p < begin[c + 1]; ++p) {
      const std::uint32_t item = order[p];
      for (std::size_t x = 0; x < row_; ++x) seconds[c * row_ + x] += model_.seconds[item * row_ + x];
      resident[c] += model_.resident[item];
      weights[c] += model_.weights[item];
      trains[c] = trains[c] | model_.trains[item];
      work_before[c + 1] += model_.work[item];
      for (const std::uint32_t stash : model_.item_stashes[item]) {
        if (stash_cell[stash] == c) continue;
        stash_cell[stash] = c;
        stashes.items.push_back(stash);
      }
    }
    stashes.closeRow();
  }
}

void LineCells::fillNets(std::span<const std::uint32_t> order) {
  std::vector<std::uint32_t> cell_of(model_.item_count);
  for (std::uint32_t c = 0; c < count(); ++c) {
    for (std::uint32_t p = begin[c]; p < begin[c + 1]; ++p) cell_of[order[p]] = c;
  }
  std::vector<std::uint32_t> cells;
  std::vector<std::uint32_t> ends;  // cell and net of each end, in pairs
  cell_nets_.begin.assign(count() + 1, 0);
  for (std::uint32_t net = 0; net < model_.netCount(); ++net) {
    cells.clear();
    for (const std::uint32_t item : model_.net_items[net]) cells.push_back(cell_of[item]);
    const auto [low, high] = std::minmax_element(cells.begin(), cells.end());
    if (*low == *high) continue;
    std::sort(cells.begin(), cells.end());
    cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
    Net entry;
    entry.first = cells.front();
    entry.last = cells.back();
    entry.producer = cell_of[model_.net_producer[net]];
    entry.net = net;
    for (const std::uint32_t c : cells) {
      ends.push_back(c);
      ends.push_back(static_cast<std::uint32_t>(nets_.size()));
      ++cell_nets_.begin[c + 1];
    }
    nets_.push_back(entry);
  }
  for (std::size_t c = 0; c < count(); ++c) cell_nets_.begin[c + 1] += cell_nets_.begin[c];
  cell_nets_.items.resize(ends.size() / 2);
  std::vector<std::uint32_t> next(cell_nets_.begin.begin(), cell_nets_.begin.end() - 1);
  for (std::size_t i = 0; i < ends.size(); i += 2) cell_nets_.items[next[ends[i]]++] = ends[i + 1];
}

// A stage that ends at a place pays for each net cut there: it sends if the producer is before the place.
void LineCells::fillEnds() {
  ends_at_.assign((count() + 2) * row_, 0);
  for (const Net& net : nets_) {
    for (std::size_t pool = 0; pool < model_.poolCount(); ++pool) {
      const double send = model_.cost(net.net, pool, true), receive = model_.cost(net.net, pool, false);
      double* at = &ends_at_[column(net.net, pool)];
      at[(net.first + 1) * row_] += receive;
      at[(net.producer + 1) * row_] += send - receive;
      at[(net.last + 1) * row_] -= send;
    }
  }
  for (std::size_t i = row_; i < ends_at_.size(); ++i) ends_at_[i] += ends_at_[i - row_];
}

void LineCells::setFrom(std::size_t from) {
  const auto cell = static_cast<std::uint32_t>(from);
  for (const std::uint32_t index : cell_nets_[from]) {
    Net& net = nets_[index];
    net.next = cell;
    if (cell == net.last) {
      net.place = static_cast<std::uint32_t>(cut_.size());
      cut_.push_back(index);
    }
    if (cell == net.first) {
      const std::uint32_t moved = cut_.back();
      cut_[net.place] = moved;
      nets_[moved].place = net.place;
      cut_.pop_back();
    }
  }
}

void LineCells::openSegment(std::vector<StageSums>& sums) {
  sums.assign(model_.poolCount(), {});
  std::fill(running_.begin(), running_.end(), 0.0);
  // A net cut at `from` counts at an end `to` as long as it is cut there, whether or not the segment holds an
  // end of it: take that off, add what is received once the segment holds an end, and once the net is no
  // longer cut at `to`, what was taken off for sending.
  for (const std::uint32_t index : cut_) {
    const Net& net = nets_[index];
    for (std::size_t pool = 0; pool < model_.poolCount(); ++pool) {
      const double send = model_.cost(net.net, pool, true), receive = model_.cost(net.net, pool, false);
      const std::size_t at = column(net.net, pool);
      running_[at] -= net.producer < net.next ? send : receive;
      change_[(net.next + 1) * row_ + at] += receive;
      change_[(net.last + 1) * row_ + at] += send;
    }
  }
}

void LineCells::setCommunication(std::size_t to, std::vector<StageSums>& sums) {
  for (std::size_t pool = 0; pool < sums.size(); ++pool) {
    for (std::size_t part = 0; part < model_.parts; ++part) {
      const std::size_t at = pool * model_.parts + part;
      running_[at] += change_[to * row_ + at];
      sums[pool].communication[part] = std::max(0.0, running_[at] + ends_at_[to * row_ + at]);
    }
  }
}

void LineCells::closeSegment() {
  for (const std::uint32_t index : cut_) {
    const Net& net = nets_[index];
    std::fill_n(&change_[(net.next + 1) * row_], row_, 0.0);
    std::fill_n(&change_[(net.last + 1) * row_], row_, 0.0);
  }
}

}  // namespace allot
