// Drives the built command from outside, in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/file_io.h"

namespace allot {

struct CommandAnswer {
  int code = -1;
  std::string out, err;
};

class CommandTest : public ::testing::Test {
 protected:
  std::filesystem::path folder;

  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "allot-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void save(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
  }

  // Runs `allot ARGUMENTS` in the folder.
  CommandAnswer runCommand(const std::string& arguments) const {
    const std::string command =
        "cd '" + folder.string() + "' && " ALLOT_COMMAND " " + arguments + " 2>.stderr";
    CommandAnswer answer;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return answer;
    char buffer[4096];
    for (std::size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
      answer.out.append(buffer, got);
    const int status = pclose(pipe);
    answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    answer.err = readFile((folder / ".stderr").string()).value_or("");
    return answer;
  }
};

}  // namespace allot
