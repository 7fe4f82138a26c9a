// Explain names the weights that several devices hold.
#include <gtest/gtest.h>

#include "command_support.h"

namespace allot {
namespace {

class ExplainCopies : public CommandTest {};

TEST_F(ExplainCopies, NamesBlocksAndDevices) {
  save("tied.json", R"({"schema": "allot.problem/1", "goal": "throughput",
    "classes": [{"name": "g", "kind": "accelerator"}],
    "devices": [{"name": "g0", "class": "g"}, {"name": "g1", "class": "g"}],
    "ops": [{"name": "first", "time": [1], "weights": [{"name": "embedding", "bytes": 2048}]},
      {"name": "middle", "time": [1], "weights": [{"name": "inner", "bytes": 64}]},
      {"name": "last", "time": [1], "weights": [{"name": "embedding", "bytes": 2048}, {"name": "inner", "bytes": 64}]}],
    "tensors": [{"from": "first", "to": ["middle"], "time": 0}, {"from": "middle", "to": ["last"], "time": 0}],
    "constraints": {"pin": {"first": "g0", "middle": "g1", "last": "g1"}}})");
  ASSERT_EQ(runCommand("plan tied.json -q -o plan.json").code, 0);
  const CommandAnswer text = runCommand("explain tied.json plan.json");
  EXPECT_NE(text.out.find("weights on several devices"), std::string::npos) << text.out << text.err;
  EXPECT_NE(text.out.find("embedding"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("inner"), std::string::npos) << text.out;  // both its readers are on g1
  const CommandAnswer json = runCommand("explain tied.json plan.json --json");
  EXPECT_NE(json.out.find("\"copies\": [\n"), std::string::npos) << json.out;
  EXPECT_NE(json.out.find("\"block\": \"embedding\""), std::string::npos) << json.out;
}

}  // namespace
}  // namespace allot
