// Small pipelines where one byte, one sample in flight or one constraint decides, and what is said where no
// plan exists.
#include <gtest/gtest.h>

#include <limits>

#include "allot/allot.h"
#include "support/proven_optimum.h"
#include "support/random_pipeline.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Ops in a row; one accelerator class unless told otherwise.
struct Row {
  Problem draft;

  explicit Row(std::size_t devices, std::optional<std::int64_t> memory = {}) {
    draft.modes.goal = Goal::kThroughput;
    draft.cluster.classes.push_back({"acc", DeviceKind::kAccelerator, 0, 1});
    for (std::size_t d = 0; d < devices; ++d)
      draft.cluster.devices.push_back({"acc" + std::to_string(d), ClassId(0), memory, HostId()});
  }
  Row& op(std::vector<double> seconds, std::int64_t memory = 0) {
    const OpId id = draft.graph.addOp("op" + std::to_string(draft.opCount()));
    draft.op_seconds.insert(draft.op_seconds.end(), seconds.begin(), seconds.end());
    draft.graph.op_memory_bytes.back() = memory;
    if (id.index() > 0) {
      const OpId to[] = {id};
      draft.addTensor(OpId(id.index() - 1), to, 0, 0.5);
    }
    return *this;
  }
};

TEST(ThroughputLimits, AByteDecides) {
  // Three ops of 5 bytes on two devices: two of them need 10 bytes; with 9 no device holds two.
  Row fits(2, 10);
  fits.op({1}, 5).op({1}, 5).op({1}, 5);
  EXPECT_DOUBLE_EQ(provenOptimum(finished(fits.draft)), 2.5);
  Row not_quite(2, 9);
  not_quite.op({1}, 5).op({1}, 5).op({1}, 5);
  EXPECT_EQ(provenOptimum(finished(not_quite.draft)), kInfinity);
  // With three devices one each: the middle one pays for both its tensors.
  Row three(3, 9);
  three.op({1}, 5).op({1}, 5).op({1}, 5);
  EXPECT_DOUBLE_EQ(provenOptimum(finished(three.draft)), 2);
}

TEST(ThroughputLimits, SamplesInFlightDecide) {
  // Two stages: the first stashes 4 bytes for each of two samples, 8 in all; with 7 one device must do.
  for (const std::int64_t limit : {8, 7}) {
    Row row(2, limit);
    row.op({1}).op({1});
    Problem& draft = row.draft;
    for (const std::uint32_t of : {0u, 1u}) {
      const OpId back = draft.graph.addOp("back" + std::to_string(of));
      draft.op_seconds.push_back(1);
      draft.graph.op_phase.back() = Phase::kBackward;
      const OpId to[] = {back};
      draft.addTensor(OpId(of), to, of == 0 ? 4 : 0, 0);
      draft.constraints.together.push_back({OpId(of), back});
    }
    draft.modes.in_flight = true;
    EXPECT_DOUBLE_EQ(provenOptimum(finished(draft)), limit == 8 ? 2.5 : 4);
  }
}

TEST(ThroughputLimits, UnsupportedOpsStayAway) {
  // The middle op only runs on the cpu: a chain of three stages, or of two with the rest there as well.
  Row row(2);
  row.draft.cluster.classes.push_back({"cpu", DeviceKind::kCpu, 0, 1});
  row.draft.cluster.devices.push_back({"cpu0", ClassId(1), {}, HostId()});
  row.op({1, 4}).op({kCannotRun, 2}).op({1, 4});
  const SolveOutcome outcome = solve(finished(row.draft), oneThread());
  EXPECT_EQ(outcome.plan.status, Status::kOptimal);
  EXPECT_DOUBLE_EQ(outcome.plan.value, 2);
  EXPECT_EQ(outcome.plan.assignment[1], DeviceId(2));
}

TEST(ThroughputConflicts, AreExplained) {
  const auto facts = [](const Problem& problem) {
    const SolveOutcome outcome = solve(problem, oneThread());
    EXPECT_EQ(outcome.plan.status, Status::kInfeasible);
    return outcome.conflict.facts.size();
  };
  Row large(2, 4);
  large.op({1}, 5);
  EXPECT_GT(facts(finished(large.draft)), 0u);
  Row full(2, 8);
  full.op({1}, 5).op({1}, 5).op({1}, 5);
  EXPECT_GT(facts(finished(full.draft)), 0u);
  Row nowhere(2);
  nowhere.op({1});
  nowhere.draft.constraints.forbid = {{OpId(0), DeviceId(0)}, {OpId(0), DeviceId(1)}};
  EXPECT_GT(facts(finished(nowhere.draft)), 0u);
  Row apart(2);
  apart.op({1}).op({1});
  apart.draft.constraints.together = {{OpId(0), OpId(1)}};
  apart.draft.constraints.pin = {{OpId(0), DeviceId(0)}, {OpId(1), DeviceId(1)}};
  EXPECT_GT(facts(finished(apart.draft)), 0u);
  // Each class runs one of the two ops, and there may be one stage.
  Row stages(1);
  stages.draft.cluster.classes.push_back({"other", DeviceKind::kAccelerator, 0, 1});
  stages.draft.cluster.devices.push_back({"other0", ClassId(1), {}, HostId()});
  stages.op({1, kCannotRun}).op({kCannotRun, 1});
  stages.draft.modes.max_stages = 1;
  EXPECT_GT(facts(finished(stages.draft)), 0u);
  // Out and back again: no chain, but a plan without contiguity.
  Row back(2);
  back.op({1}).op({1}).op({1});
  back.draft.constraints.pin = {{OpId(0), DeviceId(0)}, {OpId(1), DeviceId(1)}, {OpId(2), DeviceId(0)}};
  EXPECT_GT(facts(finished(back.draft)), 0u);
  back.draft.modes.contiguity = Contiguity::kNone;
  EXPECT_DOUBLE_EQ(provenOptimum(finished(back.draft)), 3);
}

}  // namespace
}  // namespace allot
