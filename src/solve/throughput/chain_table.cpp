#include <fmt/format.h>

#include <algorithm>

#include "allot/evaluate.h"
#include "allot/table.h"
#include "solve/relaxed_search.h"
#include "solve/throughput/chain_proof.h"

namespace allot {
namespace {

constexpr std::size_t kMostRows = 20'000;

// Kinds are named by their class, and by their first device too where a class has several.
std::vector<std::string> kindNames(const PipelineModel& model) {
  std::vector<std::string> names;
  const Cluster& cluster = model.problem->cluster;
  for (const Pool& pool : model.pools) {
    const auto same = std::count_if(model.pools.begin(), model.pools.end(),
                                    [&](const Pool& other) { return other.cls == pool.cls; });
    const std::string& name = cluster.classes[pool.cls.index()].name;
    names.push_back(same == 1 ? name
                              : fmt::format("{} ({})", name, cluster.devices[pool.devices[0].index()].name));
  }
  return names;
}

}  // namespace

bool hasCompositionTable(const Problem& problem) {
  return problem.goal() == Goal::kThroughput && problem.modes.contiguity == Contiguity::kChain &&
         problem.transfers() == Transfers::kViaHost;
}

Result<CompositionTable> compositionTable(const Problem& problem, const RunOptions& run,
                                          const std::atomic<bool>* stop_flag) {
  if (!hasCompositionTable(problem)) {
    return fail({ErrorCode::kUsage, "", "--table", "only chains under via-host transfers have one",
                 "use --goal throughput --contiguity chain --transfers via-host"});
  }
  const Budget budget(run, stop_flag);
  const std::optional<Problem> relaxed = relaxedForEngines(problem);
  PipelineModel model(relaxed ? *relaxed : problem, PipelineModel::Items::kBlocks);
  model.joinFreeItems(true);
  CompositionTable table;
  table.kinds = kindNames(model);
  // Rows by mixed-radix number; a row's smaller neighbours have smaller numbers.
  std::vector<std::size_t> stride;
  std::size_t rows = 1;
  for (const Pool& pool : model.pools) {
    stride.push_back(rows);
    rows *= pool.devices.size() + 1;
    if (rows > kMostRows) {
      return fail({ErrorCode::kBadInput, "", "table", "there are too many ways to choose among the devices",
                   "use fewer kinds or numbers of devices"});
    }
  }
  table.rows.resize(rows - 1);
  // From all devices down: fewer devices are never better, so what is known of more is a bound.
  for (std::size_t number = rows - 1; number > 0; --number) {
    CompositionRow& row = table.rows[number - 1];
    for (std::size_t k = 0; k < stride.size(); ++k) {
      const std::size_t most = model.pools[k].devices.size();
      row.counts.push_back(static_cast<std::uint32_t>(number / stride[k] % (most + 1)));
      if (row.counts[k] < most) row.bound = std::max(row.bound, table.rows[number + stride[k] - 1].bound);
    }
    if (budget.stopped()) continue;
    ChainProof proof(model, row.counts, budget);
    if (!proof.suitable()) continue;
    row.bound = std::max(row.bound, proof.workBound() * (1 - kChainEqual));
    const auto end =
        proof.close(row.bound, proof.worstLoad(), UINT64_MAX, [&](double bound) { row.bound = bound; });
    if (end == ChainProof::Pass::kNone) row.status = Status::kInfeasible;
    if (end != ChainProof::Pass::kFound) continue;
    const Evaluation evaluated = evaluate(problem, proof.plan());
    if (!evaluated.valid() || evaluated.plan.value > proof.value() * (1 + 10 * kChainEqual)) continue;
    row.status = Status::kOptimal;
    row.value = row.bound = evaluated.plan.value;
  }
  return table;
}

}  // namespace allot
