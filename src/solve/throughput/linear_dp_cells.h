// A line of items cut into cells, and what segments of consecutive cells pay for nets.
//
// What a segment [from, to) pays is what a stage that ends at `to` would pay for all nets cut there, put
// right for the nets that are also cut at `from`. The nets cut at `from` are known while `from` goes down the
// line, so all segments from a place cost O(nets cut there + segments), however long the segments are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solve/throughput/linear_dp_model.h"

namespace allot {

// Where a line may be cut: in places chosen because little is open there.
class CutPlaces {
 public:
  CutPlaces(const LineModel& model, std::span<const std::uint32_t> order);

  // Cells of about equal work and number of items, which end where the open nets weigh least.
  std::vector<std::uint32_t> even(std::size_t cells) const;
  // The places in `anchors`, and around each of them the best of every `step` places up to `radius` away.
  std::vector<std::uint32_t> around(std::span<const std::uint32_t> anchors, std::uint32_t radius,
                                    std::uint32_t step) const;

 private:
  const LineModel& model_;
  std::span<const std::uint32_t> order_;
  std::vector<double> open_;  // by position: what is open when the line is cut before it
};

class LineCells {
 public:
  // Cells begin at the positions `cuts`; the first is 0, the last is the end of the order.
  LineCells(const LineModel& model, std::span<const std::uint32_t> order, std::vector<std::uint32_t> cuts);

  std::vector<std::uint32_t> begin;
  std::vector<double> seconds;  // [(cell * pools + pool) * parts + part]
  std::vector<double> resident, weights;
  std::vector<std::uint8_t> trains;
  std::vector<double> work_before;  // one more than cells
  Csr<std::uint32_t> stashes;

  std::size_t count() const { return begin.size() - 1; }

  // The segments' first cell; only goes down, from count() - 1.
  void setFrom(std::size_t from);
  // Starts a segment with no cell; `sums` gets one entry for each pool.
  void openSegment(std::vector<StageSums>& sums);
  // Sets the communication of the segment that ends before cell `to`; `to` goes up from from + 1 in steps
  // of 1.
  void setCommunication(std::size_t to, std::vector<StageSums>& sums);
  void closeSegment();

 private:
  struct Net {
    std::uint32_t first, last, producer;  // cells
    std::uint32_t next = UINT32_MAX;      // first cell from `from` on
    std::uint32_t place = 0;              // in cut_
    std::uint32_t net;                    // of the model
  };

  const LineModel& model_;
  std::size_t row_;                       // pools * parts
  std::vector<Net> nets_;                 // those with ends in several cells
  Csr<std::uint32_t> cell_nets_;          // by cell, into nets_
  std::vector<double> ends_at_;           // [cell * row_ + ..]: what a stage that ends before the cell pays
  std::vector<std::uint32_t> cut_;        // nets cut at `from`
  std::vector<double> change_, running_;  // [cell * row_ + ..] and [..]

  void fillItems(std::span<const std::uint32_t> order);
  void fillNets(std::span<const std::uint32_t> order);
  void fillEnds();
  std::size_t column(std::size_t net, std::size_t pool) const {
    return pool * model_.parts + model_.net_part[net];
  }
};

}  // namespace allot
