// Small op chains, tables of types and traces made by the project, and how tests read them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "formats_support.h"

namespace allot::talos_test {

inline const std::string kChain =
    "seq,operator,phase,cpu_ts_us,cpu_dur_us,gpu_ts_us,gpu_dur_us\n"
    "0,empty,load,0,5,0,10\n"
    "1,conv2d,train,10,4000,20,500\n"
    "2,\"relu, in place\",train,4010,100,520,40\n"
    "3,conv2d,train,4200,6000,600,700\n";

inline const std::string kTypes =
    "operator,speedup,cpu_total_us,gpu_total_us,cpu_avg_us,gpu_avg_us\n"
    "conv2d,8,80000,10000,8000,1000\n"
    "relu,0.5,100,400,10,20\n";

// The old form: conv2d holds a nested convolution; `to` runs on the gpu run alone.
inline const std::string kOldCpu = R"([
{"name": "conv2d", "ph": "X", "ts": 100.0, "dur": 40.0, "tid": 1, "pid": "CPU functions", "args": {}},
{"name": "convolution", "ph": "X", "ts": 102.0, "dur": 37.0, "tid": 1, "pid": "CPU functions", "args": {}},
{"name": "relu_", "ph": "X", "ts": 141.0, "dur": 5.0, "tid": 1, "pid": "CPU functions", "args": {}},
{"name": "MkldnnConvolutionBackward", "ph": "X", "ts": 150.0, "dur": 90.0, "tid": 2, "pid": "CPU functions", "args": {}}])";
inline const std::string kOldGpu = R"([
{"name": "to", "ph": "X", "ts": 5, "dur": 2, "tid": 1, "pid": "CPU functions", "args": {}},
{"name": "to", "ph": "s", "ts": 5, "tid": 1, "pid": "CPU functions", "id": 0, "cat": "cpu_to_cuda", "args": {}},
{"name": "to", "ph": "f", "ts": 7, "tid": 0, "pid": "CUDA functions", "id": 0, "cat": "cpu_to_cuda", "args": {}},
{"name": "to", "ph": "X", "ts": 7, "dur": 3, "tid": 0, "pid": "CUDA functions", "args": {}},
{"name": "conv2d", "ph": "X", "ts": 10, "dur": 8, "tid": 0, "pid": "CUDA functions", "args": {}},
{"name": "convolution", "ph": "X", "ts": 11, "dur": 6, "tid": 0, "pid": "CUDA functions", "args": {}},
{"name": "relu_", "ph": "X", "ts": 18, "dur": 2.5, "tid": 0, "pid": "CUDA functions", "args": {}},
{"name": "CudnnConvolutionBackward", "ph": "X", "ts": 22, "dur": 11, "tid": 0, "pid": "CUDA functions", "args": {}}])";

inline const std::string kKinetoCpu = R"({"schemaVersion": 1, "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 7, "tid": 7, "ts": 0, "dur": 1000},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 7, "tid": 7, "ts": 1000, "dur": 500},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 7, "tid": 7, "ts": 1500, "dur": 100},
{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 7, "tid": 7, "ts": 10, "dur": 900},
{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 7, "tid": 7, "ts": 1010, "dur": 300},
{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 7, "tid": 7, "ts": 1020, "dur": 200},
{"ph": "X", "cat": "cpu_op", "name": "aten::view", "pid": 7, "tid": 7, "ts": 1320, "dur": 2},
{"ph": "X", "cat": "python_function", "name": "forward", "pid": 7, "tid": 7, "ts": 1000, "dur": 499}]})";
// Step 8 is the median. linear launches two kernels: one by its nested op's id, one by correlation and
// thread.
inline const std::string kKinetoGpu = R"({"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#8", "pid": 7, "tid": 7, "ts": 100, "dur": 100},
{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 7, "tid": 7, "ts": 110, "dur": 30, "args": {"External id": 5}},
{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 7, "tid": 7, "ts": 112, "dur": 25, "args": {"External id": 6}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 115, "dur": 5, "args": {"External id": 6, "correlation": 31}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 138, "dur": 1, "args": {"correlation": 32}},
{"ph": "X", "cat": "cpu_op", "name": "aten::view", "pid": 7, "tid": 7, "ts": 150, "dur": 2, "args": {"External id": 9}},
{"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 140, "dur": 20, "args": {"correlation": 31, "device": 0, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "bias", "pid": 0, "tid": 7, "ts": 170, "dur": 4, "args": {"correlation": 32}},
{"ph": "X", "cat": "gpu_memset", "name": "Memset", "pid": 0, "tid": 7, "ts": 175, "dur": 1, "args": {"correlation": 99}},
{"ph": "X", "cat": "gpu_user_annotation", "name": "x", "pid": 0, "tid": 7, "ts": 100, "dur": 100}]})";

inline std::string errorOf(const std::string& text, const ReadOptions& options = {}) {
  Warnings warnings;
  const auto problem = readProblem(text, "file", options, nullptr, warnings);
  EXPECT_FALSE(problem) << text;
  return problem ? std::string() : problem.error().text();
}

inline std::string partsError(std::vector<InputText> files, const ReadOptions& options = {}) {
  Warnings warnings;
  const auto problem = readModelParts(files, options, nullptr, warnings);
  EXPECT_FALSE(problem);
  return problem ? std::string() : problem.error().text();
}

inline Problem partsOf(std::vector<InputText> files, const ReadOptions& options = {},
                       Warnings* said = nullptr) {
  Warnings warnings;
  auto problem = readModelParts(files, options, nullptr, warnings);
  EXPECT_TRUE(problem) << problem.error().text();
  if (said != nullptr) *said = warnings;
  return problem ? std::move(*problem) : Problem();
}

inline void expectMention(const std::string& error, const std::string& what) {
  EXPECT_NE(error.find(what), std::string::npos) << error;
}

}  // namespace allot::talos_test
