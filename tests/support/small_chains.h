// Small chain problems on like devices, and their ideals as sets of bits, for tests that enumerate.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "allot/problem.h"
#include "base/random.h"
#include "solve/throughput/pipeline_model.h"
#include "solve/throughput/run_search.h"
#include "support/random_pipeline.h"

namespace allot {

// Modes under which loads are sums of work and cut nets.
Modes chainModes(Random& random);

PipelineShape smallShape(Random& random);

// On like devices; nothing where the problem is outside what bounds by stages are for.
std::unique_ptr<Problem> likeDevices(Random& random, const PipelineShape& shape);

using Set = std::uint32_t;  // of items, one bit each

bool holds(Set set, std::uint32_t v);
std::vector<Set> allIdeals(const PipelineModel& model);
double cutOf(const PipelineModel& model, Set set);
double sumOver(Set set, std::span<const double> values);

// [stages][ideal]: the least largest load of so many stages at most that hold all behind the ideal.
std::vector<std::vector<double>> leastLoads(const PipelineModel& model, const std::vector<Set>& ideals,
                                            std::size_t stages);
// By stages done: of the ideals from which the others reach the end within the limit.
RunWindows windowsOf(const PipelineModel& model, const std::vector<Set>& ideals,
                     const std::vector<std::vector<double>>& least, double limit);

}  // namespace allot
