// allot devices, driven from outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "allot/catalogue.h"
#include "base/json_reader.h"
#include "command_support.h"
#include "formats_support.h"

namespace allot {
namespace {

class Devices : public CommandTest {
 protected:
  void expectJson(const std::string& text) const {
    const auto document = JsonDocument::parse(text, "out", false);
    EXPECT_TRUE(document) << text;
  }
};

TEST_F(Devices, ListsAndFilters) {
  const CommandAnswer all = runCommand("devices list");
  EXPECT_EQ(all.code, 0) << all.err;
  for (const char* name : {"a100-80gb", "t4", "h100", "mi300x", "graviton3"})
    EXPECT_NE(all.out.find(name), std::string::npos) << name;
  const CommandAnswer amd = runCommand("devices list amd cdna2");
  EXPECT_NE(amd.out.find("mi250x"), std::string::npos);
  EXPECT_EQ(amd.out.find("t4 "), std::string::npos);
  EXPECT_EQ(runCommand("devices list zzzz").code, 3);
  const CommandAnswer json = runCommand("devices list --json");
  expectJson(json.out);
  EXPECT_NE(json.out.find("\"bandwidth\": 2039000000000"), std::string::npos);
}

TEST_F(Devices, ShowsFiguresSourcesAndPrices) {
  const CommandAnswer shown = runCommand("devices show A100-80GB");
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (const char* part :
       {"2039 GB/s", "nvlink3", "p4de.24xlarge", "2026-08-22", "USD/h", "NVIDIA datasheet"})
    EXPECT_NE(shown.out.find(part), std::string::npos) << part << "\n" << shown.out;
  EXPECT_EQ(runCommand("devices show RTX 3090").code, 0);
  EXPECT_NE(runCommand("devices show cpu:16").out.find("assumed"), std::string::npos);
  expectJson(runCommand("devices show h100 --json").out);
}

TEST_F(Devices, UnknownNamesSuggestOthers) {
  const CommandAnswer wrong = runCommand("devices show A100-90GB");
  EXPECT_EQ(wrong.code, 3);
  EXPECT_NE(wrong.err.find("did you mean a100-40gb, a100-80gb"), std::string::npos) << wrong.err;
  EXPECT_EQ(std::count(wrong.err.begin(), wrong.err.end(), '\n'), 1);
  EXPECT_EQ(runCommand("devices").code, 2);
  EXPECT_EQ(runCommand("devices sell").code, 2);
  EXPECT_EQ(runCommand("devices show").code, 2);
}

TEST_F(Devices, NewWritesAClusterThatReadsBack) {
  const CommandAnswer done = runCommand("devices new 2xA100-80GB,1xT4,cpu:16 -o rig.yaml");
  EXPECT_EQ(done.code, 0) << done.err;
  const std::string text = textOf((folder / "rig.yaml").string());
  EXPECT_NE(text.find("# "), std::string::npos);
  const auto expected = clusterFromShortForm("2xA100-80GB,1xT4,cpu:16", "");
  ASSERT_TRUE(expected);
  EXPECT_EQ(writeCluster(clusterOf(text)), writeCluster(*expected));
  EXPECT_EQ(writeCluster(clusterOf(runCommand("devices new 2xA100-80GB,1xT4,cpu:16 --json").out)),
            writeCluster(*expected));
  EXPECT_EQ(runCommand("devices new 2xA100-80GB,1xT4,cpu:16 -o rig.json").code, 0);
  EXPECT_EQ(textOf((folder / "rig.json").string()), writeCluster(*expected));
  EXPECT_EQ(clusterOf(runCommand("devices new t4 t4 --link pcie4x8").out).deviceCount(), 2u);
  EXPECT_EQ(runCommand("devices new").code, 0);
  EXPECT_EQ(runCommand("devices new 0xT4").code, 3);
  EXPECT_EQ(runCommand("devices new T4 --link nowhere").code, 3);
}

TEST_F(Devices, WrittenClustersAreValidByTheSchema) {
  const std::string source = ALLOT_SOURCE_DIR;
  const auto valid = [&](const std::string& schema, const std::string& file) {
    const std::string command = "/usr/bin/python3 '" + source + "/tests/schemas/validate.py' '" + source +
                                "/docs/schemas/" + schema + ".json' '" + (folder / file).string() + "'";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  ASSERT_EQ(runCommand("devices new 2xA100-80GB,1xT4,cpu:16 -o rig.json").code, 0);
  const int code = valid("cluster", "rig.json");
  if (code == 77 || code == 127) GTEST_SKIP() << "the Python module jsonschema is absent";
  EXPECT_EQ(code, 0);
  save(
      "device.json",
      R"({"schema": "allot.cluster/1", "classes": [{"name": "c", "device": "t4", "peak": {"fp16": "60TFLOPS"}}],
    "devices": [{"name": "d", "class": "c", "memory": null}]})");
  EXPECT_EQ(valid("cluster", "device.json"), 0);
  save("wrong.json",
       R"({"schema": "allot.cluster/1", "classes": [{"name": "c", "kind": "cpu", "peak": {"fp99": 1}}],
    "devices": [{"name": "d", "class": "c"}]})");
  EXPECT_EQ(valid("cluster", "wrong.json"), 1);
  save("profile.json",
       R"({"schema": "allot.profile/1", "class": "t4", "ops": [{"name": "a", "time": {"t4": "3us"}}]})");
  EXPECT_EQ(valid("profile", "profile.json"), 0);
  save("profile.json", R"({"schema": "allot.profile/1", "ops": [{"name": "a", "time": -1}]})");
  EXPECT_EQ(valid("profile", "profile.json"), 1);
}

TEST_F(Devices, DetectFindsThisMachineAndAFakeCard) {
  save("nvidia-smi", "#!/bin/sh\necho 'Tesla T4, 15360, 3, 16'\n");
  std::filesystem::permissions(folder / "nvidia-smi", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  ASSERT_EQ(setenv("PATH", (folder.string() + ":" + path).c_str(), 1), 0);
  const CommandAnswer found = runCommand("devices detect");
  const CommandAnswer measured = runCommand("devices detect --measure --json -o here.yaml");
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(found.code, 0) << found.err;
  const Cluster cluster = clusterOf(found.out);
  ASSERT_GE(cluster.deviceCount(), 2u);
  EXPECT_EQ(cluster.devices[0].name, "t4-0");
  EXPECT_EQ(cluster.classes[0].spec->catalogue, "t4");
  EXPECT_EQ(cluster.classes.back().kind, DeviceKind::kCpu);
  EXPECT_EQ(measured.code, 0) << measured.err;
  expectJson(measured.out);
  EXPECT_NE(measured.out.find("\"measured\""), std::string::npos);
  EXPECT_GE(clusterOf(textOf((folder / "here.yaml").string())).deviceCount(), 2u);
}

TEST_F(Devices, CompletionKnowsTheActions) {
  const CommandAnswer script = runCommand("completion bash");
  EXPECT_NE(script.out.find("list show new detect"), std::string::npos);
}

}  // namespace
}  // namespace allot
