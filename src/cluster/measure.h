// What this machine's CPUs reach, measured in about a second.
//
// Method: bandwidth by the streaming triad a = b + s * c over arrays that no cache holds, three streams
// counted. Arithmetic by a single-precision matrix product from packed panels with blocks in registers. Every
// thread works on data of its own through several windows of time; rates of a window are added and the best
// window counts.
// Guarantee: the products are real ones (`multiply` is what is timed, and tested against a plain loop). The
// figures are lower bounds of what the machine can do; other load makes them smaller.
#pragma once

#include <cstddef>
#include <span>

#include "cluster/detect.h"

namespace allot {

// c (m x n) += a (m x k) * b (k x n), all row by row, of any size.
void multiply(std::size_t m, std::size_t n, std::size_t k, std::span<const float> a, std::span<const float> b,
              std::span<float> c);

// On `threads` threads, about `seconds` for each of the two figures. Takes 48 MiB a thread.
Measured measureCpu(unsigned threads, double seconds);

}  // namespace allot
