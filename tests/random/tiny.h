// A placement problem of a few ops, as plain data that is easy to generate, to cut down and to write out.
//
// The tool of this folder compares the library with an enumeration of all plans. What the library says is
// computed from a Problem; what the enumeration says is computed from this. They share the names of the modes
// and the struct of a link, and nothing else.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "allot/options.h"
#include "allot/problem.h"

namespace allot::tiny {

inline constexpr double kNone = std::numeric_limits<double>::infinity();  // no time: cannot run

struct Op {
  std::vector<double> seconds;  // by class
  std::int64_t memory = 0, activations = 0, weights = 0, workspace = 0;
  int model = 0, group = -1;
  Phase phase = Phase::kForward;
};

struct Tensor {
  int from = 0;
  std::vector<int> to;
  std::int64_t bytes = 0;
  double seconds = std::numeric_limits<double>::quiet_NaN();  // NaN = from a matrix or the links
  std::vector<double> matrix;                                 // [from device][to device], or empty
};

// A block of weights or an input of a model.
struct Shared {
  std::int64_t bytes = 0;
  std::vector<int> readers;
};

struct Class {
  bool cpu = false;
  double launch = 0;
};

struct Device {
  int cls = 0;
  std::int64_t memory = -1;  // -1 = unlimited
  int host = -1;             // -1 = the unnamed one
};

struct Model {
  double weight = 1, release = 0;
};

struct Tiny {
  Modes modes;
  int hosts = 0;
  std::vector<Class> classes;
  std::vector<Device> devices;
  std::vector<Link> links;
  std::vector<Model> models;
  std::vector<Op> ops;
  std::vector<Tensor> tensors;
  std::vector<Shared> blocks, inputs;
  std::vector<int> order_hint;
  std::vector<std::pair<int, int>> pin, forbid;  // op, device
  std::vector<std::pair<int, int>> order;        // first, then
  std::vector<std::vector<int>> together;
};

// What the library plans; the error of a problem that is none.
Result<Problem> toProblem(const Tiny& tiny);
// A problem that was read from a file.
Tiny fromProblem(const Problem& problem);
// The same as an allot.problem/1 file.
std::string toJson(const Tiny& tiny);

}  // namespace allot::tiny
