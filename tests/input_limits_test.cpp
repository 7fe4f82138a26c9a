// Inputs without an end, without a writer, or with a key twice: an error that names them, in bounded time.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "bad_input_support.h"
#include "base/json_reader.h"
#include "base/mapped_file.h"
#include "command_support.h"

namespace allot {
namespace {

class InputLimits : public CommandTest {};

TEST_F(InputLimits, DevicesAreRefused) {
  for (const char* path : {"/dev/zero", "/dev/urandom"}) {
    const auto text = readFile(path);
    ASSERT_FALSE(text) << path;
    EXPECT_EQ(text.error().file, path);
    EXPECT_NE(text.error().message.find("no end"), std::string::npos) << text.error().text();
    EXPECT_FALSE(MappedFile::open(path)) << path;
    for (const char* verb : {"import ", "plan --goal latency "}) {
      const CommandAnswer answer = runCommand(verb + std::string(path));
      EXPECT_EQ(answer.code, 3) << answer.err;
      EXPECT_NE(answer.err.find(path), std::string::npos) << answer.err;
    }
  }
  EXPECT_EQ(readFile("/dev/null").value_or("?"), "");
  EXPECT_EQ(runCommand("import - < /dev/zero").code, 3);
}

TEST_F(InputLimits, PipesAreReadToTheirEnd) {
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const bool mapped : {false, true}) {
    // The writer comes late, pauses, and writes more than a pipe holds.
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      std::ofstream out(pipe, std::ios::binary);
      out << std::string(100, 'a') << std::flush;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      out << std::string(200'000, 'b');
    });
    std::string text;
    if (mapped) {
      const auto file = MappedFile::open(pipe);
      text = file ? std::string(file->text()) : file.error().text();
    } else {
      text = readFile(pipe).value_or("?");
    }
    writer.join();
    EXPECT_EQ(text.size(), 200'100u);
  }
}

TEST_F(InputLimits, APipeWithoutWriterIsGivenUp) {
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto begin = std::chrono::steady_clock::now();
  const auto text = readFile(pipe);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().file, pipe);
  EXPECT_NE(text.error().message.find("nothing is written"), std::string::npos) << text.error().text();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(InputLimits, TextWithoutALineIsNoTable) {
  save("commas", std::string(50'000'000, ','));
  for (const char* verb :
       {"import commas", "import commas --from op-chain-csv", "import commas --from op-types-csv"}) {
    const CommandAnswer answer = runCommand(verb);
    EXPECT_EQ(answer.code, 3) << answer.err;
    EXPECT_NE(answer.err.find("commas"), std::string::npos) << answer.err;
  }
}

TEST_F(InputLimits, WhatMemoryCannotHoldIsNotCalledInvalid) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more address space";
#endif
  // A text of 100 MB needs several times as much in memory.
  save("large.json", "[" + std::string(100'000'000, ' ') + "]");
  save("run", "ulimit -v 400000; " ALLOT_COMMAND " import large.json");
  const int status = std::system(("cd '" + folder.string() + "' && sh run 2> err").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 3);
  const std::string error = readFile((folder / "err").string()).value_or("");
  EXPECT_NE(error.find("large.json: too large for the memory"), std::string::npos) << error;
}

TEST(DoubledKeys, AreRefusedWithTheirPath) {
  expectError(asProblem,
              with(kPlanned, "\"goal\": \"latency\"", "\"goal\": \"latency\", \"goal\": \"latency\""),
              {"goal: the key is there twice", "keep one"});
  expectError(asProblem, with(kPlanned, "\"name\": \"b\"", "\"name\": \"b\", \"time\": [2]"),
              {"ops[1].time: the key is there twice"});
  expectError(asCluster,
              with(data("cluster.json"), "\"links\": [{", "\"links\": [{\"from\": 1, \"from\": 2, "),
              {"links[0].from", "twice"});
  expectError(asProblem,
              with(data("problem.yaml"), "schema: allot.problem/1",
                   "schema: allot.problem/1\nschema: allot.problem/1"),
              {"schema", "twice"});
  // Escapes do not hide it.
  expectError(asProblem, with(kPlanned, "\"name\": \"b\"", "\"name\": \"b\", \"n\\u0061me\": \"z\""),
              {"ops[1].name", "twice"});
}

TEST(DoubledKeys, AreFoundInLargeObjects) {
  std::string text = "{";
  for (int i = 0; i < 5000; ++i) text += "\"key" + std::to_string(i) + "\": [{}], ";
  EXPECT_TRUE(JsonDocument::parse(text + "\"last\": 1}", "file", false));
  const auto bad = JsonDocument::parse(text + "\"key77\": 1}", "file", false);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().where, "key77");
  EXPECT_TRUE(JsonDocument::parse(text + "\"key77\": 1}", "file", false, JsonDocument::Keys::kAny));
}

TEST(DoubledKeys, DeepFilesAreRefusedOrRead) {
  const std::string deep(400, '['), end(400, ']');
  EXPECT_TRUE(JsonDocument::parse(deep + R"({"a": 1})" + end, "file", false));
  const auto bad = JsonDocument::parse(deep + R"({"a": 1, "a": 2})" + end, "file", false);
  ASSERT_FALSE(bad);
  EXPECT_TRUE(bad.error().where.ends_with("[0].a")) << bad.error().where;
  const std::string deeper = std::string(100'000, '[') + std::string(100'000, ']');
  const auto refused = JsonDocument::parse(deeper, "file", false);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("nested deeper"), std::string::npos) << refused.error().text();
}

}  // namespace
}  // namespace allot
