#include "report/affinity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

namespace allot {
namespace {

// Keeps a time of 0 from spoiling sums.
constexpr double kLargestSpeedup = 1e6;

double speedupOf(double reference, double accelerated) {
  if (reference == 0 && accelerated == 0) return 1;
  const double ratio = accelerated > 0 ? reference / accelerated : kLargestSpeedup;
  return std::clamp(ratio, 1 / kLargestSpeedup, kLargestSpeedup);
}

// Time of all ops on each class that has devices; those an op cannot run on are counted without it.
std::vector<std::optional<double>> classWork(const Problem& problem) {
  std::vector<std::optional<double>> work(problem.cluster.classCount());
  for (const Device& device : problem.cluster.devices) work[device.cls.index()] = 0;
  for (std::size_t c = 0; c < work.size(); ++c) {
    if (!work[c]) continue;
    for (std::size_t i = 0; i < problem.opCount(); ++i) {
      const double seconds = problem.opSeconds(OpId(i), ClassId(c));
      if (seconds != kCannotRun) *work[c] += seconds;
    }
  }
  return work;
}

// Of the classes for which `fits`, the one with the least (or most) work.
template <class Fits>
ClassId pickClass(const std::vector<std::optional<double>>& work, bool least, Fits&& fits) {
  ClassId best;
  for (std::size_t c = 0; c < work.size(); ++c) {
    if (!work[c] || !fits(c)) continue;
    if (!best.valid() || (least ? *work[c] < *work[best.index()] : *work[c] > *work[best.index()]))
      best = ClassId(c);
  }
  return best;
}

std::string typeOf(const OpGraph& graph, std::size_t op) {
  const std::string& type = graph.type_name[graph.op_type[op]];
  if (!type.empty()) return type;
  // Joined inputs carry their model's name before each op's.
  const std::string prefix = graph.model_name[graph.op_model[op].index()] + "/";
  const std::string& name = graph.op_name[op];
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::vector<double> ascending(const ModelSpeedups& model) {
  std::vector<double> speedups;
  for (const auto& [type, speedup] : model.types) speedups.push_back(speedup);
  std::sort(speedups.begin(), speedups.end());
  return speedups;
}

double sumOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

double hellingerDistance(const std::vector<double>& a, const std::vector<double>& b) {
  const double a_sum = sumOf(a), b_sum = sumOf(b);
  const std::size_t n = std::max(a.size(), b.size());
  double square = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double x = k + a.size() >= n ? a[k + a.size() - n] / a_sum : 0;
    const double y = k + b.size() >= n ? b[k + b.size() - n] / b_sum : 0;
    square += (std::sqrt(x) - std::sqrt(y)) * (std::sqrt(x) - std::sqrt(y));
  }
  return std::sqrt(square / 2);
}

Affinity affinityOf(std::span<const ModelSpeedups> models, std::size_t a, std::size_t b) {
  Affinity pair{a, b, 0, std::max(models[a].types.size(), models[b].types.size()), 0, 0, 0};
  auto x = models[a].types.begin();
  auto y = models[b].types.begin();
  while (x != models[a].types.end() && y != models[b].types.end()) {
    if (x->first == y->first) {
      ++pair.shared;
      pair.shared_distance += std::abs((x++)->second - (y++)->second);
    } else if (x->first < y->first) {
      ++x;
    } else {
      ++y;
    }
  }
  const std::vector<double> first = ascending(models[a]), second = ascending(models[b]);
  for (std::size_t k = 0; k < std::min(first.size(), second.size()); ++k)
    pair.published_distance += std::abs(first[k] - second[k]);
  pair.hellinger = hellingerDistance(first, second);
  return pair;
}

}  // namespace

Result<SpeedupTable> modelSpeedups(const Problem& problem) {
  const auto work = classWork(problem);
  const auto kind = [&](DeviceKind wanted) {
    return [&, wanted](std::size_t c) { return problem.cluster.classes[c].kind == wanted; };
  };
  SpeedupTable table;
  table.reference = pickClass(work, true, kind(DeviceKind::kCpu));
  if (!table.reference.valid()) table.reference = pickClass(work, false, [](std::size_t) { return true; });
  table.accelerated = pickClass(work, true, kind(DeviceKind::kAccelerator));
  if (!table.accelerated.valid() || table.accelerated == table.reference)
    table.accelerated = pickClass(work, true, [&](std::size_t c) { return ClassId(c) != table.reference; });
  if (!table.reference.valid() || !table.accelerated.valid()) {
    return badInput("devices", "there is one class of devices only",
                    "give op times on two classes, for example a cpu and a gpu");
  }
  struct TwoTimes {
    double reference = 0, accelerated = 0;
  };
  const OpGraph& graph = problem.graph;
  std::vector<std::map<std::string, TwoTimes>> sums(graph.modelCount());
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    const double reference = problem.opSeconds(OpId(i), table.reference);
    const double accelerated = problem.opSeconds(OpId(i), table.accelerated);
    if (reference == kCannotRun || accelerated == kCannotRun) continue;
    TwoTimes& sum = sums[graph.op_model[i].index()][typeOf(graph, i)];
    sum.reference += reference;
    sum.accelerated += accelerated;
  }
  for (std::size_t m = 0; m < sums.size(); ++m) {
    ModelSpeedups model{graph.model_name[m], {}};
    if (sums[m].empty()) {
      return badInput(fmt::format("model \"{}\"", model.name), "no op can run on both classes",
                      "give its ops times on both");
    }
    for (const auto& [type, sum] : sums[m])
      model.types.emplace_back(type, speedupOf(sum.reference, sum.accelerated));
    table.models.push_back(std::move(model));
  }
  return table;
}

std::vector<Affinity> affinities(std::span<const ModelSpeedups> models) {
  std::vector<Affinity> pairs;
  for (std::size_t a = 0; a < models.size(); ++a) {
    for (std::size_t b = a + 1; b < models.size(); ++b) pairs.push_back(affinityOf(models, a, b));
  }
  return pairs;
}

std::vector<Affinity> coPlacement(std::vector<Affinity> pairs) {
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Affinity& a, const Affinity& b) { return a.value() > b.value(); });
  std::vector<Affinity> chosen;
  std::vector<std::size_t> taken;
  for (const Affinity& pair : pairs) {
    const auto used = [&](std::size_t model) {
      return std::find(taken.begin(), taken.end(), model) != taken.end();
    };
    if (pair.shared == 0 || used(pair.a) || used(pair.b)) continue;
    taken.push_back(pair.a);
    taken.push_back(pair.b);
    chosen.push_back(pair);
  }
  return chosen;
}

}  // namespace allot
