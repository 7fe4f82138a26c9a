// Large ONNX files: weights are mapped and never read, structure is read in linear time.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/mapped_file.h"
#include "command_support.h"
#include "onnx_support.h"

namespace allot {
namespace {

using namespace onnx_test;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(_GLIBCXX_ASSERTIONS)
constexpr bool kMeasure = false;  // sanitizers and checks take time and memory of their own
#else
constexpr bool kMeasure = true;
#endif

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value % 128 + 128);
  return bytes + static_cast<char>(value);
}

// The head of a field of bytes.
std::string head(std::uint32_t field, std::uint64_t length) {
  return varint(field << 3 | 2) + varint(length);
}

struct Measured {
  std::int64_t ops = 0, weights = 0;
  double megabytes = 0, seconds = 0;  // of memory beyond what was there before; of processor time
};

rusage usageNow() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

// Reads the file in a process of its own. What that has from its parent is there from the start: only growth
// counts.
Measured readInChild(const std::string& path) {
  int ends[2];
  Measured measured;
  if (pipe(ends) != 0) return measured;
  const pid_t child = fork();
  if (child == 0) {
    const rusage before = usageNow();
    Warnings warnings;
    const auto file = MappedFile::open(path);
    const auto graph = file ? readGraph(file->text(), path, {}, warnings) : fail(file.error());
    if (graph) {
      const rusage usage = usageNow();
      measured.ops = static_cast<std::int64_t>(graph->graph.opCount());
      for (const std::int64_t bytes : graph->graph.op_weight_bytes) measured.weights += bytes;
      measured.megabytes = static_cast<double>(usage.ru_maxrss - before.ru_maxrss) / 1024;
      for (const timeval& time : {usage.ru_utime, usage.ru_stime})
        measured.seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    } else {
      std::fprintf(stderr, "%s\n", graph.error().text().c_str());
    }
    _exit(write(ends[1], &measured, sizeof measured) == sizeof measured ? 0 : 1);
  }
  close(ends[1]);
  EXPECT_EQ(read(ends[0], &measured, sizeof measured), static_cast<ssize_t>(sizeof measured));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return measured;
}

class OnnxLarge : public CommandTest {
 protected:
  // A net whose weight w [rows, 1024] has its data inside; the file is sparse.
  std::string writeNet(std::int64_t rows) {
    const auto hole = static_cast<std::uint64_t>(rows) * 1024 * 4;
    const std::string weight = tensor("w", kFloat, {rows, 1024}) + head(9, hole);
    const std::string rest = graph({.nodes = {node("Gather", {"w", "x"}, {"y"}, {.name = "lookup"})},
                                    .inputs = {valueInfo("x", kInt64, {16})},
                                    .outputs = {valueInfo("y", kFloat, {16, 1024})}});
    const std::string before = head(5, weight.size() + hole) + weight;
    const std::string front =
        varint(1 << 3) + varint(8) + head(7, before.size() + hole + rest.size()) + before;
    const std::string back = rest + head(8, opset("", 17).size()) + opset("", 17);
    const std::string path = (folder / "large.onnx").string();
    std::ofstream out(path, std::ios::binary);
    out << front;
    out.seekp(static_cast<std::streamoff>(hole), std::ios::cur);
    out << back;
    EXPECT_TRUE(out.flush());
    return path;
  }
};

TEST_F(OnnxLarge, TwoGigabytesOfWeights) {
  const Measured measured = readInChild(writeNet(512 * 1024));
  EXPECT_EQ(measured.ops, 1);
  EXPECT_EQ(measured.weights, std::int64_t{2} << 30);
  if (!kMeasure) return;
  EXPECT_LT(measured.megabytes, 50);
  EXPECT_LT(measured.seconds, 1);
}

TEST_F(OnnxLarge, LengthsAbove32Bits) {
  const Measured measured = readInChild(writeNet(3 * 512 * 1024));
  EXPECT_EQ(measured.ops, 1);
  EXPECT_EQ(measured.weights, std::int64_t{6} << 30);
}

TEST_F(OnnxLarge, AHundredThousandNodes) {
  GraphParts net{.inputs = {valueInfo("x0", kFloat, {8, 64})},
                 .outputs = {valueInfo("x100000", kFloat, {8, 64})}};
  for (int i = 0; i < 100000; ++i) {
    const std::string number = std::to_string(i), next = "x" + std::to_string(i + 1);
    const std::string name = "/model/layers." + std::to_string(i / 100) + "/part/Op_" + number;
    if (i % 4 == 0) {
      net.initializers.push_back(tensor("w" + number, kFloat, {64, 64}));
      net.nodes.push_back(node("MatMul", {"x" + number, "w" + number}, {next}, {.name = name}));
    } else {
      net.nodes.push_back(node(i % 4 == 1 ? "Relu" : "Sigmoid", {"x" + number}, {next}, {.name = name}));
    }
    if (i + 1 < 100000) net.value_info.push_back(valueInfo(next, kFloat, {8, 64}));
  }
  save("deep.onnx", model(net));
  const Measured measured = readInChild((folder / "deep.onnx").string());
  EXPECT_EQ(measured.ops, 100000);
  EXPECT_EQ(measured.weights, 25000 * 64 * 64 * 4);
  if (kMeasure) EXPECT_LT(measured.seconds, 1);
}

TEST_F(OnnxLarge, MapsFilesAndReadsPipes) {
  save("text", "some text");
  save("empty", "");
  const auto mapped = MappedFile::open((folder / "text").string());
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->text(), "some text");
  auto empty = MappedFile::open((folder / "empty").string());
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->text(), "");
  EXPECT_FALSE(MappedFile::open((folder / "none").string()));
  EXPECT_FALSE(MappedFile::open(folder.string()));

  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "piped", 5), 5);
  close(ends[1]);
  auto piped = MappedFile::open("/proc/self/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  ASSERT_TRUE(piped) << piped.error().text();
  const MappedFile moved = std::move(*piped);
  EXPECT_EQ(moved.text(), "piped");
}

}  // namespace
}  // namespace allot
