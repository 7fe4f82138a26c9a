// Why a proof of the chain engine covers every plan, part by part: each step of the argument in
// docs/throughput.md is asked of plans at random, as the evaluator values them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "allot/allot.h"
#include "solve/throughput/chain_proof.h"
#include "solve/throughput/chain_search.h"
#include "support/random_problem.h"
#include "support/scale.h"
#include "support/unlike_pipeline.h"

namespace allot {
namespace {

constexpr double kRounding = 1e-9;

bool near(double a, double b) {
  return a == b || std::fabs(a - b) <= kRounding * std::max(std::fabs(a), std::fabs(b));
}

std::vector<std::uint32_t> countsOf(const PipelineModel& model) {
  std::vector<std::uint32_t> counts;
  for (const Pool& pool : model.pools) counts.push_back(static_cast<std::uint32_t>(pool.devices.size()));
  return counts;
}

// A plan as the engine sees it.
struct Seen {
  Seen(const PipelineModel& model, const Plan& plan) : items(plan.stages.size()), taken(items.size()) {
    stage_of.assign(model.itemCount(), 0);
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      for (std::uint32_t v = 0; v < model.itemCount(); ++v) {
        const OpId op = model.problem->unitOps(model.item_units[v].front()).front();
        if (plan.assignment[op.index()] != plan.stages[s].devices.front()) continue;
        items[s].push_back(v);
        stage_of[v] = s;
      }
      taken[s].assign(model.poolCount(), 0);
      for (const DeviceId device : plan.stages[s].devices) {
        for (std::uint32_t k = 0; k < model.poolCount(); ++k) {
          const auto& devices = model.pools[k].devices;
          if (std::find(devices.begin(), devices.end(), device) == devices.end()) continue;
          ++taken[s][k];
          if (device == plan.stages[s].devices.front()) first.push_back(k);
        }
      }
    }
  }

  std::vector<std::vector<std::uint32_t>> items, taken;  // by stage
  std::vector<std::uint32_t> first;                      // by stage: pool of its first device
  std::vector<std::size_t> stage_of;                     // by item
};

// Forward and rest, communication included, before replicas share them.
std::array<double, 2> partsOf(const PipelineModel& model, const Seen& seen, std::size_t stage) {
  const bool by_parts = model.problem->modes.training_load == TrainingLoad::kMaxParts;
  const std::size_t k = seen.first[stage];
  std::array<double, 2> compute{}, transfer{}, load{};
  for (const std::uint32_t v : seen.items[stage]) {
    const double rest = by_parts ? model.rest_seconds[v * model.poolCount() + k] : 0;
    compute[0] += model.time(v, k) - rest;
    compute[1] += rest;
  }
  for (std::size_t e = 0; e < model.netCount(); ++e) {
    std::size_t inside = 0;
    for (const std::uint32_t v : model.net_items[e]) inside += seen.stage_of[v] == stage ? 1 : 0;
    if (inside == 0 || inside == model.net_items[e].size()) continue;
    transfer[by_parts ? model.net_rest[e] : 0] +=
        model.cost(e, k, seen.stage_of[model.net_producer[e]] == stage);
  }
  for (std::size_t part = 0; part < 2; ++part)
    load[part] = model.problem->modes.overlap == Overlap::kSum ? compute[part] + transfer[part]
                                                               : std::max(compute[part], transfer[part]);
  return load;
}

// Calls test(problem, model, plan, random) for valid plans of stages in a chain, as the evaluator gives them
// back.
template <class Test>
void forEachPlan(double problems, std::uint64_t stream, Test&& test) {
  std::size_t plans = 0;
  for (std::uint64_t seed = 0; seed < scaled(problems); ++seed) {
    Random random(seed, stream);
    std::optional<Problem> problem = unlikePipeline(random);
    if (!problem) continue;
    Modes modes = problem->modes;
    modes.contiguity = Contiguity::kChain;
    if (!problem->setModes(modes)) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(*problem));
    const PipelineModel model(*problem, PipelineModel::Items::kBlocks);
    for (int i = 0; i < 12; ++i) {
      const Evaluation made = evaluate(*problem, randomStages(*problem, random));
      if (!made.valid()) continue;
      ++plans;
      test(*problem, model, made.plan, random);
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(plans, scaled(problems) / 2);
}

TEST(ChainCover, StagesAreDifferencesOfIdealsOfTheItems) {
  forEachPlan(3000, 81, [](const Problem&, const PipelineModel& model, const Plan& plan, Random&) {
    const Seen seen(model, plan);
    for (std::uint32_t v = 0; v < model.itemCount(); ++v) {
      for (const UnitId unit : model.item_units[v]) {
        for (const OpId op : model.problem->unitOps(unit))
          EXPECT_EQ(plan.assignment[op.index()], plan.stages[seen.stage_of[v]].devices.front());
      }
      for (const std::uint32_t u : model.before[v]) EXPECT_LE(seen.stage_of[u], seen.stage_of[v]);
    }
  });
}

TEST(ChainCover, DevicesOfAPoolMayChangePlaces) {
  std::size_t changed = 0;
  forEachPlan(4000, 82,
              [&](const Problem& problem, const PipelineModel& model, const Plan& plan, Random& random) {
                const Pool& pool = model.pools[random.below(static_cast<std::uint32_t>(model.poolCount()))];
                const DeviceId a = pool.devices.front(), b = pool.devices.back();
                // By link the pools say nothing of transfers: costs are the least of any pair.
                if (a == b || !model.exact) return;
                ++changed;
                Plan other = plan;
                const auto swapped = [&](DeviceId d) { return d == a ? b : d == b ? a : d; };
                for (DeviceId& d : other.assignment) d = swapped(d);
                for (PlanStage& stage : other.stages) {
                  for (DeviceId& d : stage.devices) d = swapped(d);
                }
                const Evaluation again = evaluate(problem, other);
                EXPECT_TRUE(again.valid());
                EXPECT_TRUE(near(again.plan.value, plan.value)) << again.plan.value << " / " << plan.value;
              });
  EXPECT_GT(changed, scaled(1000));
}

// Of every stage there is one option, and it says what the stage costs and holds.
TEST(ChainCover, OptionsAreAllWaysToRunAStage) {
  forEachPlan(3000, 83, [](const Problem& problem, const PipelineModel& model, const Plan& plan, Random&) {
    const ChainSearch search(model, countsOf(model));
    const Seen seen(model, plan);
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const StageOption* option = nullptr;
      for (const StageOption& o : search.options()) {
        if (o.pool != seen.first[s] || o.taken != seen.taken[s]) continue;
        EXPECT_EQ(option, nullptr);
        option = &o;
      }
      ASSERT_NE(option, nullptr);
      const auto& devices = plan.stages[s].devices;
      EXPECT_EQ(option->replicas, devices.size());
      double memory = std::numeric_limits<double>::infinity();
      for (const DeviceId d : devices) memory = std::min(memory, problem.memoryLimit(d));
      EXPECT_EQ(option->memory, memory);
      double resident = 0, weights = 0;
      bool trains = false;
      for (const std::uint32_t v : seen.items[s]) {
        EXPECT_TRUE(model.runs(v, option->pool) && !option->bars(model, v));
        resident += model.resident[v];
        weights += model.weights[v];
        trains = trains || model.trains[v] != 0;
      }
      for (std::size_t t = 0; t < model.stash_bytes.size(); ++t) {
        const auto readers = model.stash_readers[t];
        if (std::any_of(readers.begin(), readers.end(),
                        [&](std::uint32_t v) { return seen.stage_of[v] == s; }))
          resident += std::ceil(static_cast<double>(plan.stages.size() - s) / option->replicas) *
                      model.stash_bytes[t];
      }
      EXPECT_EQ(resident, plan.devices[devices.front().index()].memory_bytes);
      const std::array<double, 2> parts = partsOf(model, seen, s);
      const double sync = option->replicas > 1 && trains ? option->sync(weights) : 0;
      const double load = (parts[0] + parts[1]) / option->replicas + sync;
      const double evaluated = plan.devices[devices.front().index()].load_seconds;
      if (model.exact)
        EXPECT_TRUE(near(load, evaluated)) << load << " / " << evaluated;
      else
        EXPECT_LE(load, evaluated * (1 + kRounding));
    }
  });
}

// A device that is busy for a time has done work of no more than its weight times that time; shared work too.
TEST(ChainCover, WorkFitsTheWindow) {
  forEachPlan(3000, 84, [](const Problem&, const PipelineModel& model, const Plan& plan, Random&) {
    const ChainSearch search(model, countsOf(model));
    const CapacityWindow window(model, countsOf(model));
    const Seen seen(model, plan);
    for (std::size_t y = 0; y < window.size(); ++y) {
      for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        double work = 0, busy = 0, room = 0;
        for (const std::uint32_t v : seen.items[s]) {
          work += window.work(v, y);
          busy += model.time(v, seen.first[s]);
        }
        for (std::size_t k = 0; k < model.poolCount(); ++k)
          room += plan.value * window.weight(y, k) * seen.taken[s][k];
        EXPECT_LE(work, room * (1 + kRounding));
        // What the stage wastes is no more than what it takes of the devices.
        for (const StageOption& option : search.options()) {
          if (option.pool != seen.first[s] || option.taken != seen.taken[s]) continue;
          EXPECT_LE(work, option.weight[y] * busy * (1 + kRounding));
          EXPECT_LE(option.weight[y] * busy, room * (1 + kRounding));
        }
      }
    }
    EXPECT_LE(window.bound(), plan.value * (1 + kRounding));
  });
}

// Below a value nothing changes where longer times are not told apart; what is not below stays so.
TEST(ChainCover, TimesBeyondALimitDoNotMatter) {
  forEachPlan(3000, 85,
              [](const Problem& problem, const PipelineModel& model, const Plan& plan, Random& random) {
                PipelineModel limited = model;
                const double value = plan.value * (0.2 + 1.6 * random.unit());
                limited.limitTimes(value * static_cast<double>(problem.deviceCount()));
                const Seen seen(model, plan);
                for (std::size_t s = 0; s < plan.stages.size(); ++s) {
                  const double r = static_cast<double>(plan.stages[s].devices.size());
                  const auto [a, b] = partsOf(model, seen, s);
                  const auto [c, d] = partsOf(limited, seen, s);
                  if (a + b < value * r)
                    EXPECT_TRUE(near(a + b, c + d)) << a + b << " / " << c + d;
                  else
                    EXPECT_GE(c + d, value * r * (1 - kRounding));
                }
              });
}

// Joining items that cost nothing leaves the best chain what it is.
TEST(ChainCover, JoinedItemsHaveTheSameBestChain) {
  std::size_t joined_some = 0;
  for (std::uint64_t seed = 0; seed < scaled(3000); ++seed) {
    Random random(seed, 86);
    std::optional<Problem> problem = unlikePipeline(random);
    if (!problem) continue;
    Modes modes = problem->modes;
    modes.contiguity = Contiguity::kChain;
    if (!problem->setModes(modes)) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(*problem));
    const PipelineModel model(*problem, PipelineModel::Items::kBlocks);
    PipelineModel joined = model;
    joined.joinFreeItems(true);
    if (joined.itemCount() == model.itemCount()) continue;
    ++joined_some;
    RunOptions run;
    run.threads = 1;
    const Budget budget(run, nullptr);
    const auto best = [&](const PipelineModel& items) {
      ChainProof proof(items, countsOf(items), budget);
      return proof.below(proof.worstLoad(), UINT64_MAX) == ChainProof::Pass::kFound
                 ? proof.value()
                 : std::numeric_limits<double>::infinity();
    };
    const double apart = best(model), together = best(joined);
    EXPECT_TRUE(near(apart, together)) << apart << " / " << together;
    if (HasFailure()) return;
  }
  EXPECT_GT(joined_some, scaled(100));
}

}  // namespace
}  // namespace allot
