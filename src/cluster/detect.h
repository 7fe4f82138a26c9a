// What this machine is made of.
//
// Problem: write a cluster of the machine Allot runs on, so that nobody types what the system knows.
// Method: CPUs, caches, memory and NUMA nodes from /proc and /sys; NVIDIA GPUs from nvidia-smi, which gets a
// few seconds and is then ended. GPUs that the catalogue knows get its figures.
// Guarantee: nothing that is missing or malformed there is an error; it is left out and said in `notes`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allot/catalogue.h"

namespace allot {

struct DetectedCache {
  unsigned level = 0;
  std::string type;  // "Data", "Instruction", "Unified"
  std::int64_t bytes = 0;
};

struct DetectedNode {
  std::string name;    // "node0"
  unsigned cores = 0;  // physical
  std::int64_t memory_bytes = 0;
};

struct DetectedGpu {
  std::string name;
  std::int64_t memory_bytes = 0;  // 0 = not said
  unsigned pcie_generation = 0, pcie_lanes = 0;
};

// What a short measurement found; 0 = not measured.
struct Measured {
  double fp32_per_second = 0, bytes_per_second = 0;
};

struct Machine {
  std::string cpu_model;
  std::string vector;  // "avx512", "avx2", "avx", "sse", "neon"; "" = not known
  unsigned sockets = 0, cores = 0, threads = 0;
  double gigahertz = 0;  // 0 = not known
  std::int64_t memory_bytes = 0;
  std::vector<DetectedCache> caches;  // of the first core
  std::vector<DetectedNode> nodes;    // at least one, with cores
  std::vector<DetectedGpu> gpus;
  Measured measured;
  std::vector<std::string> notes;
};

struct DetectOptions {
  std::string root;                       // before /proc and /sys
  std::string nvidia_smi = "nvidia-smi";  // looked up in PATH
  double time_limit_seconds = 5;
};

Machine detectMachine(const DetectOptions& options);
// One device by NUMA node and one by GPU, on one host, with links. Notes say what is assumed.
Cluster clusterOfMachine(const Machine& machine, std::vector<std::string>& notes);

// Standard output of a program looked up in PATH, or nothing where it cannot be started, fails, writes more
// than 1 MiB or takes longer than the limit (it is ended then).
std::optional<std::string> outputOf(const std::vector<std::string>& command, double limit_seconds);

}  // namespace allot
