// How far the cost model's estimates are from public measurements.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

#include "allot/catalogue.h"
#include "allot/cost.h"
#include "cost/roofline.h"
#include "formats/csv.h"
#include "formats_support.h"

namespace allot {
namespace {

DeviceSpec specOf(std::string_view device) {
  const auto found = catalogueDevice(device);
  EXPECT_TRUE(found) << device;
  return found ? found->spec : DeviceSpec();
}

// Mean relative error of the estimates by device.
struct Errors {
  std::map<std::string, std::pair<double, std::size_t>> by_device;

  void add(const std::string& device, double estimated, double measured) {
    auto& [sum, count] = by_device[device];
    sum += std::fabs(estimated / measured - 1);
    ++count;
  }
  double mean(const std::string& device) const {
    const auto& [sum, count] = by_device.at(device);
    return sum / static_cast<double>(count);
  }
};

class PublicTimes : public testing::Test {
 protected:
  std::string folder;
  void SetUp() override {
    const char* data = std::getenv("ALLOT_DATA");
    if (data == nullptr) GTEST_SKIP() << "ALLOT_DATA does not name the public data";
    folder = std::string(data) + "/op-times/";
  }
};

TEST_F(PublicTimes, ProductsIn16BitOfAiconfigurator) {
  const std::string text = textOf(folder + "aiconfigurator/gemm.csv");
  const auto table = CsvTable::parse(text);
  ASSERT_TRUE(table);
  const auto number = [&](std::size_t row, const char* column) {
    return *table->number(row, *table->column(column));
  };
  const std::map<std::string, std::string> ids{{"a100_sxm", "a100"},
                                               {"h200_sxm", "h200"},
                                               {"l40s", "l40s"},
                                               {"b60", "b60"},
                                               {"rtx_pro_6000_server", "rtx-pro-6000"}};
  Errors errors;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    if (table->field(row, *table->column("dtype")) != "bfloat16") continue;
    const std::string& device = table->field(row, *table->column("device"));
    const double m = number(row, "m"), n = number(row, "n"), k = number(row, "k");
    const OpWork work{OpFamily::kMatmul, DataType::kBFloat16, 2 * m * n * k, 2 * (m * k + n * k + m * n)};
    errors.add(device, estimateSeconds(work, specOf(ids.at(device))), number(row, "latency_ms") / 1e3);
  }
  // The catalogue's overhead of a call, not one fitted to this harness.
  for (const auto& [device, limit] : std::map<std::string, double>{{"a100_sxm", 0.40},
                                                                   {"h200_sxm", 0.35},
                                                                   {"l40s", 0.40},
                                                                   {"rtx_pro_6000_server", 0.40},
                                                                   {"b60", 0.40}}) {
    EXPECT_LT(errors.mean(device), limit) << device;
    RecordProperty(device, std::to_string(errors.mean(device)));
  }
}

TEST_F(PublicTimes, ProductsInFp32OfNeusight) {
  const std::string text = textOf(folder + "neusight/gemm.csv");
  const auto table = CsvTable::parse(text);
  ASSERT_TRUE(table);
  const auto number = [&](std::size_t row, const char* column) {
    return *table->number(row, *table->column(column));
  };
  Errors errors;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    if (table->field(row, *table->column("op")) != "linear") continue;
    const std::string& device = table->field(row, *table->column("device"));
    const double m = number(row, "m"), n = number(row, "n"), k = number(row, "k");
    const double measured = number(row, "latency_ms") / 1e3;
    if (measured < 1e-3) continue;  // the harness adds up to 60 us to each call
    const OpWork work{OpFamily::kMatmul, DataType::kFloat32, 2 * m * n * k, 4 * (m * n + n * k + m * k)};
    errors.add(device, estimateSeconds(work, specOf(device)), measured);
  }
  for (const auto& [device, limit] : std::map<std::string, double>{{"NVIDIA A100-PCIE-40GB", 0.20},
                                                                   {"NVIDIA A100 80GB PCIe", 0.20},
                                                                   {"NVIDIA L4", 0.35},
                                                                   {"Tesla T4", 0.30},
                                                                   {"Tesla V100-PCIE-32GB", 0.20},
                                                                   {"AMD Instinct MI210", 0.35},
                                                                   {"Tesla P4", 0.50}}) {
    EXPECT_LT(errors.mean(device), limit) << device;
    RecordProperty(device.substr(device.rfind(' ') + 1), std::to_string(errors.mean(device)));
  }
}

// "[[8, 512], [1]]" or "(8, 512)": the lists of numbers in it.
std::vector<std::vector<double>> shapesOf(const std::string& text) {
  std::vector<std::vector<double>> shapes;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] >= '0' && text[at] <= '9') {
      std::size_t used = 0;
      const double number = std::stod(text.substr(at), &used);
      if (shapes.empty()) shapes.emplace_back();
      shapes.back().push_back(number);
      at += used;
    } else {
      if (text[at] == '[' || text[at] == '(') shapes.emplace_back();
      ++at;
    }
  }
  shapes.erase(std::remove_if(shapes.begin(), shapes.end(), [](const auto& shape) { return shape.empty(); }),
               shapes.end());
  return shapes;
}

double elements(const std::vector<double>& shape) {
  double product = 1;
  for (const double side : shape) product *= side;
  return product;
}

// Work of a node of NeuSight's traces in fp32; nothing for views, scalars and drop-outs, which inference
// skips.
std::optional<OpWork> workOf(const std::string& target, const std::string& inputs,
                             const std::string& output) {
  const auto in = shapesOf(inputs);
  const auto outs = shapesOf(output);
  if (in.empty() || outs.empty() || elements(outs[0]) <= 1) return std::nullopt;
  const auto has = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return target.find(word) != std::string::npos; });
  };
  const double out = elements(outs[0]);
  double traffic = out;
  for (const auto& shape : in) traffic += elements(shape);
  OpWork work{OpFamily::kElementwise, DataType::kFloat32, out, 4 * traffic};
  if (has({"dropout", ".drop"})) return std::nullopt;
  if (has({"LayerNorm", "ln_", "softmax"})) {
    work.family = OpFamily::kNormalisation;
  } else if (has({"embeddings", "wte", "wpe"})) {
    work.family = OpFamily::kGather;
    work.bytes = 8 * out;
  } else if (has({"addmm", "matmul"})) {
    work = {OpFamily::kMatmul, DataType::kFloat32, 2 * out * in[in.size() - 2].back(), 4 * traffic};
  } else if (has({"query", "key", "value", "dense", "classifier", "decoder", "lm_head",
                  "seq_relationship"})) {
    const double depth = in[0].back();
    work = {OpFamily::kMatmul, DataType::kFloat32, 2 * out * depth, 4 * (traffic + depth * outs[0].back())};
  } else if (!has({"function add", "function mul", "truediv", "function sub", "pow", "tanh", "gelu", "where",
                   "contiguous", "activation"})) {
    return std::nullopt;
  }
  return work;
}

TEST_F(PublicTimes, WholeGraphsOfNeusight) {
  const std::string node_text = textOf(folder + "neusight/graph_nodes.csv");
  const std::string time_text = textOf(folder + "neusight/graph_times.csv");
  const auto nodes = CsvTable::parse(node_text), times = CsvTable::parse(time_text);
  ASSERT_TRUE(nodes && times);
  const auto text = [](const CsvTable& table, std::size_t row, const char* column) -> const std::string& {
    return table.field(row, *table.column(column));
  };
  std::map<std::pair<std::string, std::string>, OpWork> work;
  for (std::size_t row = 0; row < nodes->rows(); ++row) {
    const auto known = workOf(text(*nodes, row, "target"), text(*nodes, row, "input_shapes"),
                              text(*nodes, row, "output_shape"));
    if (known) work[{text(*nodes, row, "graph"), text(*nodes, row, "node")}] = *known;
  }
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> totals;  // device, graph
  for (std::size_t row = 0; row < times->rows(); ++row) {
    const std::string& graph = text(*times, row, "graph");
    std::string device = text(*times, row, "device");
    std::replace(device.begin(), device.end(), '_', ' ');
    const auto found = work.find({graph, text(*times, row, "node")});
    // A node of an MI250 ran on one of its two dies.
    if (found == work.end() || graph.find("-inf-") == std::string::npos ||
        device.find("MI250") != std::string::npos)
      continue;
    auto& [estimated, measured] = totals[{device, graph}];
    estimated += estimateSeconds(found->second, specOf(device));
    measured += *times->number(row, *times->column("fw_ms")) / 1e3;
  }
  Errors errors;
  for (const auto& [key, total] : totals) errors.add(key.first, total.first, total.second);
  ASSERT_GE(errors.by_device.size(), 6u);
  for (const auto& [device, sums] : errors.by_device) {
    EXPECT_LT(errors.mean(device), 0.30) << device;
    std::string label = device.substr(device.rfind(' ') + 1);
    RecordProperty("total_" + label,
                   std::to_string(errors.mean(device)) + " of " + std::to_string(sums.second));
  }
}

}  // namespace
}  // namespace allot
