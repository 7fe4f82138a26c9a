// Times for a graph that has none.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "allot/catalogue.h"
#include "allot/cost.h"
#include "allot/problem.h"
#include "cost/arithmetic.h"
#include "cost/provenance.h"
#include "cost/roofline.h"

namespace allot {
namespace {

class Pricer {
 public:
  Pricer(GraphFile& file, const Cluster& cluster, const MeasuredTimes* measured)
      : file_(file), graph_(file.graph), cluster_(cluster), measured_(measured) {
    for (const std::string& type : graph_.type_name) family_.push_back(familyOf(type));
  }

  Result<CostReport> price() {
    ALLOT_CHECK(checkWork());
    for (std::size_t i = 0; i < graph_.opCount(); ++i) ALLOT_CHECK(priceOp(OpId(i)));
    if (report_.estimated > 0) report_.arithmetic = used_.text(cluster_, file_.dtype);
    warnUnused();
    file_.costs = provenanceText(report_, cluster_, measured_);
    return std::move(report_);
  }

 private:
  GraphFile& file_;
  OpGraph& graph_;
  const Cluster& cluster_;
  const MeasuredTimes* measured_;
  std::vector<OpFamily> family_;  // by type
  CostReport report_;
  ArithmeticUse used_;  // of products, by class
  std::size_t ops_measured_ = 0;

  double around(OpId op) const {
    double bytes = static_cast<double>(graph_.op_weight_bytes[op.index()]);
    for (const BlockId block : graph_.blocks(op))
      bytes += static_cast<double>(graph_.block_bytes[block.index()]);
    for (const InputId input : graph_.modelInputs(op))
      bytes += static_cast<double>(graph_.input_bytes[input.index()]);
    for (const TensorId tensor : graph_.inputs(op))
      bytes += static_cast<double>(graph_.tensor_bytes[tensor.index()]);
    for (const TensorId tensor : graph_.outputs(op))
      bytes += static_cast<double>(graph_.tensor_bytes[tensor.index()]);
    return bytes;
  }

  // Traffic of its tensors and weights stands in where the reader gave none to an op that works.
  OpWork workOf(OpId op) const {
    const std::size_t i = op.index();
    const bool unknown = graph_.op_cost_unknown[i] != 0;
    OpWork work{
        family_[graph_.op_type[i]], estimatedIn(graph_.op_data_type[i], file_.dtype), graph_.op_flops[i],
        static_cast<double>(graph_.op_read_bytes[i]) + static_cast<double>(graph_.op_written_bytes[i])};
    if (unknown || (work.bytes == 0 && work.flops > 0)) work.bytes = std::max(work.bytes, around(op));
    return work;
  }

  // A graph that says nothing of its ops would come out as free of cost.
  Result<void> checkWork() const {
    for (std::size_t i = 0; i < graph_.opCount(); ++i) {
      if (isDescribed(i) || !std::isnan(file_.op_seconds[i]) || !file_.op_class_seconds[i].empty()) return {};
    }
    if (measured_ != nullptr && !measured_->by_op.empty()) return {};
    return badInput("", "the graph gives neither times nor flops nor traffic of its ops",
                    "give \"time\", or \"flops\", \"read\" and \"written\", or measured times (--times)");
  }

  const std::vector<std::pair<std::string, double>>* measuredOf(OpId op) const {
    if (measured_ == nullptr) return nullptr;
    const auto found = measured_->by_op.find(graph_.op_name[op.index()]);
    return found == measured_->by_op.end() ? nullptr : &found->second;
  }

  static const double* timeFor(const std::vector<std::pair<std::string, double>>& times,
                               std::string_view cls) {
    for (const auto& [class_name, seconds] : times) {
      if (class_name == cls) return &seconds;
    }
    return nullptr;
  }

  Result<void> priceOp(OpId op) {
    const std::size_t i = op.index();
    auto& given = file_.op_class_seconds[i];
    const auto* measured = measuredOf(op);
    if (measured != nullptr) ++ops_measured_;
    bool estimated = false;
    std::vector<std::pair<std::string, double>> times;
    for (const DeviceClass& cls : cluster_.classes) {
      const double* time = measured == nullptr ? nullptr : timeFor(*measured, cls.name);
      if (time == nullptr && measured != nullptr) time = timeFor(*measured, "");
      if (time != nullptr) {
        ++report_.measured;
        times.emplace_back(cls.name, *time);
      } else if (const double* own = timeFor(given, cls.name)) {
        ++report_.given;
        times.emplace_back(cls.name, *own);
      } else if (!std::isnan(file_.op_seconds[i])) {
        ++report_.given;  // scaled by the class's speed later
      } else if (cls.spec && canEstimate(*cls.spec)) {
        ++report_.estimated;
        estimated = true;
        const OpWork work = workOf(op);
        used_.note(work, static_cast<std::size_t>(&cls - cluster_.classes.data()));
        times.emplace_back(cls.name, std::min(estimateSeconds(work, *cls.spec), kMaxSeconds));
      } else {
        return badInput(fmt::format("op \"{}\"", graph_.op_name[i]),
                        fmt::format("no time on class \"{}\", whose {} not known", cls.name,
                                    cls.spec ? "peak and bandwidth are" : "figures are"),
                        "give measured times (--times), or a device of the catalogue (allot devices list)");
      }
    }
    if (estimated && graph_.op_cost_unknown[i] != 0) ++report_.unpriced[graph_.type_name[graph_.op_type[i]]];
    given = std::move(times);
    return {};
  }

  void warnUnused() {
    if (measured_ == nullptr) return;
    const MeasuredTimes& measured = *measured_;
    if (ops_measured_ < measured.by_op.size()) {
      std::vector<std::string_view> names(graph_.op_name.begin(), graph_.op_name.end());
      std::sort(names.begin(), names.end());
      for (const auto& [op, times] : measured.by_op) {
        if (std::binary_search(names.begin(), names.end(), std::string_view(op))) continue;
        report_.warnings.push_back(fmt::format("{}: {} of {} ops are not in the graph; the first is \"{}\"",
                                               measured.source, measured.by_op.size() - ops_measured_,
                                               measured.by_op.size(), op));
        break;
      }
    }
    std::size_t foreign = 0;
    std::string first;
    for (const auto& [op, times] : measured.by_op) {
      for (const auto& time : times) {
        const std::string& cls = time.first;
        const bool known =
            cls.empty() || std::any_of(cluster_.classes.begin(), cluster_.classes.end(),
                                       [&](const DeviceClass& own) { return own.name == cls; });
        if (known) continue;
        if (foreign++ == 0) first = cls;
      }
    }
    if (foreign > 0) {
      report_.warnings.push_back(
          fmt::format("{}: {} times are of classes the cluster lacks; the first is \"{}\"", measured.source,
                      foreign, first));
    }
  }

  // Whether the file describes the op by its sizes, as readers of models do, and not by a time alone.
  bool isDescribed(std::size_t i) const {
    return graph_.op_flops[i] > 0 || graph_.op_read_bytes[i] > 0 || graph_.op_written_bytes[i] > 0 ||
           graph_.op_cost_unknown[i] != 0;
  }
};

// "a100-80gb, t4 from the catalogue of 2026-08; cpu8 from the cluster".
std::string figuresText(const Cluster& cluster) {
  std::vector<std::string> listed, own;
  for (const DeviceClass& cls : cluster.classes) {
    if (!cls.spec) continue;
    const auto device = catalogueDevice(cls.spec->catalogue);
    if (device && device->spec == *cls.spec)
      listed.push_back(cls.spec->catalogue);
    else
      own.push_back(cls.name);
  }
  std::string text;
  if (!listed.empty())
    text = fmt::format("{} from the catalogue of {}", fmt::join(listed, ", "), catalogue().date);
  if (!own.empty())
    text += fmt::format("{}{} from the cluster's figures", text.empty() ? "" : "; ", fmt::join(own, ", "));
  return text;
}

}  // namespace

Result<CostReport> priceGraph(GraphFile& file, const Cluster& cluster, const MeasuredTimes* measured) {
  return Pricer(file, cluster, measured).price();
}

std::string provenanceText(const CostReport& report, const Cluster& cluster, const MeasuredTimes* measured) {
  std::vector<std::string> parts;
  if (report.estimated > 0) {
    parts.push_back(fmt::format("estimated (roofline; {}{}{})", report.arithmetic,
                                report.arithmetic.empty() ? "" : "; ", figuresText(cluster)));
  }
  if (report.measured > 0) {
    const std::string source = measured == nullptr ? "" : measured->source;
    parts.push_back(report.estimated + report.given == 0
                        ? fmt::format("measured ({})", source)
                        : fmt::format("{} times measured ({})", report.measured, source));
  }
  if (report.given > 0)
    parts.push_back(parts.empty() ? std::string("given") : fmt::format("{} times given", report.given));
  std::size_t unknown = 0;
  for (const auto& [type, count] : report.unpriced) unknown += count;
  // They are counted where they were estimated only.
  if (unknown > 0)
    parts.front().insert(parts.front().size() - 1,
                         fmt::format("; {} ops of unknown cost priced by their traffic", unknown));
  return joinProvenance(parts);
}

}  // namespace allot
