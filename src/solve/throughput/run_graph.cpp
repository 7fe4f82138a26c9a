#include "solve/throughput/run_graph.h"

#include <algorithm>

namespace allot {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

double costOf(const PipelineModel& model, std::uint32_t net) {
  return std::min(model.send[net], model.receive[net]);
}

// Whether a net has both items and no other.
bool joins(const PipelineModel& model, std::uint32_t net, std::uint32_t u, std::uint32_t v) {
  const auto ends = model.net_items[net];
  return ends.size() == 2 && ((ends[0] == u && ends[1] == v) || (ends[0] == v && ends[1] == u));
}

bool endsIn(const PipelineModel& model, std::uint32_t net, std::uint32_t v) {
  const auto ends = model.net_items[net];
  return std::find(ends.begin(), ends.end(), v) != ends.end();
}

// Whether all other items of a net follow the item.
bool leadsOn(const PipelineModel& model, std::uint32_t net, std::uint32_t v) {
  const auto ends = model.net_items[net], after = model.after[v];
  return std::all_of(ends.begin(), ends.end(), [&](std::uint32_t w) {
    return w == v || std::find(after.begin(), after.end(), w) != after.end();
  });
}

double costBetween(const PipelineModel& model, std::uint32_t u, std::uint32_t v) {
  double sum = 0;
  for (const std::uint32_t e : model.item_nets[u]) sum += joins(model, e, u, v) ? costOf(model, e) : 0;
  return sum;
}

// Of all nets of an item but those to the one before it.
double costBehind(const PipelineModel& model, std::uint32_t v, std::uint32_t before) {
  double sum = 0;
  for (const std::uint32_t e : model.item_nets[v]) sum += joins(model, e, before, v) ? 0 : costOf(model, e);
  return sum;
}

// Sorted rows without doubles.
Csr<std::uint32_t> rowsOf(std::vector<std::vector<std::uint32_t>> rows) {
  Csr<std::uint32_t> csr;
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    csr.items.insert(csr.items.end(), row.begin(), row.end());
    csr.closeRow();
  }
  return csr;
}

}  // namespace

RunGraph::RunGraph(const PipelineModel& model, std::span<const std::uint32_t> order, double grain) {
  join(model, order, grain);
  std::vector<std::uint32_t> run_of(model.itemCount());
  for (std::uint32_t r = 0; r < runCount(); ++r) {
    for (const std::uint32_t v : items[r]) run_of[v] = r;
  }
  std::vector<std::vector<std::uint32_t>> earlier(runCount()), later(runCount());
  for (std::uint32_t v = 0; v < model.itemCount(); ++v) {
    for (const std::uint32_t u : model.before[v]) {
      if (run_of[u] == run_of[v]) continue;
      earlier[run_of[v]].push_back(run_of[u]);
      later[run_of[u]].push_back(run_of[v]);
    }
  }
  before = rowsOf(std::move(earlier));
  after = rowsOf(std::move(later));
  fillNets(model, run_of);
}

void RunGraph::join(const PipelineModel& model, std::span<const std::uint32_t> order, double grain) {
  std::vector<std::vector<std::uint32_t>> runs;
  std::vector<std::uint32_t> run_of(model.itemCount(), kNone);
  // The run that v goes on with, if any.
  const auto runFor = [&](std::uint32_t v) {
    if (model.before[v].size() != 1) return kNone;
    const std::uint32_t u = model.before[v][0];
    if (model.after[u].size() != 1) return kNone;
    const std::uint32_t r = run_of[u];
    // Other ends of u are ends of its run's first item only.
    for (const std::uint32_t e : model.item_nets[u]) {
      if (joins(model, e, u, v)) continue;
      if (endsIn(model, e, v) || (runs[r].size() > 1 && !joins(model, e, runs[r][runs[r].size() - 2], u)))
        return kNone;
    }
    if (model.seconds[v] > grain || costBetween(model, u, v) != costBehind(model, v, u)) return kNone;
    // What is cut behind the run is cut by what follows it: it was not open before.
    for (const std::uint32_t e : model.item_nets[v]) {
      if (!joins(model, e, u, v) && !leadsOn(model, e, v)) return kNone;
    }
    return r;
  };
  for (const std::uint32_t v : order) {
    run_of[v] = runFor(v);
    if (run_of[v] == kNone) {
      run_of[v] = static_cast<std::uint32_t>(runs.size());
      runs.emplace_back();
    }
    runs[run_of[v]].push_back(v);
  }
  for (const auto& run : runs) {
    items.items.insert(items.items.end(), run.begin(), run.end());
    items.closeRow();
    double sum = 0;
    for (const std::uint32_t v : run) sum += model.seconds[v];
    work.push_back(sum);
    least.push_back(model.seconds[run.front()]);
  }
}

void RunGraph::fillNets(const PipelineModel& model, std::span<const std::uint32_t> run_of) {
  std::vector<std::vector<std::uint32_t>> ends;
  for (std::uint32_t e = 0; e < model.netCount(); ++e) {
    std::vector<std::uint32_t> runs;
    for (const std::uint32_t v : model.net_items[e]) runs.push_back(run_of[v]);
    std::sort(runs.begin(), runs.end());
    runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
    const double cost = costOf(model, e);
    if (runs.size() < 2 || cost <= 0) continue;
    net_maker.push_back(kNoRun);
    for (const std::uint32_t v : model.net_items[e]) {
      const auto run = items[run_of[v]];
      if (run.size() > 1 && run.back() == v && leadsOn(model, e, v)) net_maker.back() = run_of[v];
    }
    ends.push_back(std::move(runs));
    net_cost.push_back(cost);
  }
  std::vector<std::vector<std::uint32_t>> nets(runCount());
  for (std::uint32_t e = 0; e < ends.size(); ++e) {
    for (const std::uint32_t r : ends[e]) nets[r].push_back(e);
  }
  net_runs = rowsOf(std::move(ends));
  run_nets = rowsOf(std::move(nets));
}

}  // namespace allot
