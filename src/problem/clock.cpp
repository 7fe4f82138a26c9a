// Times that are too short to move the clock: they count as 0, for evaluators and solvers alike.
//
// Let S be the longest that everything can take, one after the other. Sums of times up to S carry a rounding
// error of about 2^-53 S each, so an op below 2^-50 S may start and end at once; a schedule that holds its
// device for such an op could not be told from one that does not. The checker has the same rule and code of
// its own.
#include <algorithm>
#include <cmath>

#include "allot/problem.h"

namespace allot {
namespace {

bool missing(const Link& link) {
  return std::isnan(link.latency_seconds);
}

// Of these links, those that may be the slowest for some number of bytes.
std::vector<Link> slowest(std::vector<Link> links) {
  std::erase_if(links, missing);
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return a.latency_seconds != b.latency_seconds
               ? a.latency_seconds > b.latency_seconds
               : a.bandwidth_bytes_per_second < b.bandwidth_bytes_per_second;
  });
  std::vector<Link> kept;
  for (const Link& link : links) {
    if (kept.empty() || link.bandwidth_bytes_per_second < kept.back().bandwidth_bytes_per_second)
      kept.push_back(link);
  }
  return kept;
}

}  // namespace

double Problem::longestTransfer(TensorId tensor, std::span<const Link> links,
                                std::span<const double> longest_of_matrix) const {
  const std::size_t t = tensor.index();
  if (tensor_matrix[t] >= 0) return longest_of_matrix[static_cast<std::size_t>(tensor_matrix[t])];
  if (!std::isnan(tensor_seconds[t])) return tensor_seconds[t];
  double longest = 0;
  for (const Link& link : links) longest = std::max(longest, link.seconds(graph.tensor_bytes[t]));
  return longest;
}

double Problem::longestWork() const {
  const std::size_t classes = cluster.classCount();
  const std::size_t cells = deviceCount() * deviceCount();
  double sum = model_release.empty() ? 0 : *std::max_element(model_release.begin(), model_release.end());
  for (std::size_t i = 0; i < opCount(); ++i) {
    double longest = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      const double seconds = op_seconds[i * classes + c];
      if (seconds != kCannotRun) longest = std::max(longest, seconds);
    }
    sum += longest;
  }
  const bool calls = modes.goal == Goal::kLatency && modes.model == LatencyModel::kSubgraphCalls;
  const bool via_host = calls || (modes.goal == Goal::kThroughput && transfers() == Transfers::kViaHost);
  std::vector<Link> links = pair_link_;
  if (via_host) {
    links.clear();
    for (std::size_t d = 0; d < deviceCount(); ++d) {
      if (!cluster.isAccelerator(DeviceId(d))) continue;
      links.push_back(to_host_[d]);
      links.push_back(from_host_[d]);
    }
  }
  links = slowest(std::move(links));
  std::vector<double> longest_of_matrix(cells == 0 ? 0 : matrices.size() / cells, 0);
  for (std::size_t m = 0; m < longest_of_matrix.size(); ++m) {
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const bool same_device = cell % (deviceCount() + 1) == 0;
      if (!same_device) longest_of_matrix[m] = std::max(longest_of_matrix[m], matrices[m * cells + cell]);
    }
  }
  for (std::size_t t = 0; t < first_order_tensor_; ++t) {
    sum += longestTransfer(TensorId(t), links, longest_of_matrix) *
           static_cast<double>(graph.tensor_consumers[t].size());
  }
  return sum;
}

void Problem::dropShortTimes() {
  using Table = ShortTime::Table;
  const auto tableOf = [this](Table table) -> std::vector<double>& {
    return table == Table::kOp ? op_seconds : table == Table::kTensor ? tensor_seconds : matrices;
  };
  for (const ShortTime& time : short_times_) tableOf(time.table)[time.index] = time.seconds;
  short_times_.clear();
  clock_step_ = std::ldexp(longestWork(), -50);
  for (const Table table : {Table::kOp, Table::kTensor, Table::kMatrix}) {
    std::vector<double>& times = tableOf(table);
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (!(times[i] > 0 && times[i] < clock_step_)) continue;
      short_times_.push_back({table, i, times[i]});
      times[i] = 0;
    }
  }
}

std::vector<double> Problem::givenTimes(ShortTime::Table table) const {
  using Table = ShortTime::Table;
  std::vector<double> times = table == Table::kOp       ? op_seconds
                              : table == Table::kTensor ? tensor_seconds
                                                        : matrices;
  for (const ShortTime& time : short_times_) {
    if (time.table == table) times[time.index] = time.seconds;
  }
  return times;
}

}  // namespace allot
