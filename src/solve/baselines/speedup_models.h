// Rules that give every model one device by its average speed-up or its length (completion).
//
// Problem: several models, cpus and accelerators; who gets which device, and who goes first.
// Rules (g = model of largest average speed-up = time on the best cpu / time on the best accelerator):
//   average-speedup: as described (AlloX, Gavel, Salus): the models of largest speed-up take one accelerator
//     each, the others go to the cpus, each to the one that ends it first;
//   average-speedup-measured: as its published bars were really taken: all models on accelerators, each on
//   the
//     one that ends it first, largest speed-up first;
//   shortest-first: shortest model first, each wholly on the device that ends it first.
// Assumptions: work of a model on a device = sum of its op times there. Where a unit may not or cannot go to
//   its model's device (permissions, memory, units over several models), it goes where it finishes first.
// Guarantee: heuristic. Complexity: O((ops + edges) x devices) up to logarithms.
// When time runs out: nothing is reported.
#pragma once

#include <vector>

#include "allot/solve.h"

namespace allot::baseline {

// Work of whole models and the order of their speed-ups.
class ModelWork {
 public:
  explicit ModelWork(const Problem& problem);

  // Sum of op times of the model on the device, launches included; infinite where an op cannot run.
  double seconds(std::size_t model, DeviceId device) const {
    return seconds_[model * devices_ + device.index()];
  }
  // Time on the best cpu / time on the best accelerator. Without cpus the slowest device stands for them,
  // without accelerators the fastest for those. 0 when no accelerator runs it, infinite when no cpu does.
  double speedup(std::size_t model) const { return speedup_[model]; }
  // Models by speed-up, the largest first; ties by index.
  std::vector<std::size_t> bySpeedup() const;
  // Models by work on their best device per weight, the shortest first; ties by index.
  std::vector<std::size_t> byLength() const;

 private:
  std::size_t devices_;
  std::vector<double> seconds_, speedup_, weight_;
};

SolveResult averageSpeedup(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult averageSpeedupMeasured(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult shortestFirst(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot::baseline
