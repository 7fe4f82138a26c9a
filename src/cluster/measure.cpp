#include "cluster/measure.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

namespace allot {
namespace {

using Clock = std::chrono::steady_clock;

// A block of kRows x kColumns values of c stays in registers for the whole depth of a panel.
constexpr std::size_t kRows = 6, kColumns = 16, kDepth = 256, kPanelRows = 96;
constexpr std::size_t kLanes = 8;
using Vector [[gnu::vector_size(kLanes * sizeof(float))]] = float;

// `block` = product of packed panels: a with kRows values by step, b with kColumns.
[[gnu::always_inline]] inline void blockProduct(std::size_t depth, const float* a, const float* b,
                                                float* block) {
  Vector sum[kRows][2];
  std::memset(sum, 0, sizeof sum);
  for (std::size_t p = 0; p < depth; ++p) {
    Vector right[2];
    std::memcpy(&right[0], b + p * kColumns, sizeof(Vector));
    std::memcpy(&right[1], b + p * kColumns + kLanes, sizeof(Vector));
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kRows; ++i) {
      const float left = a[p * kRows + i];
      sum[i][0] += right[0] * left;
      sum[i][1] += right[1] * left;
    }
  }
  std::memcpy(block, sum, sizeof sum);
}

using Block = void (*)(std::size_t, const float*, const float*, float*);

void plainBlock(std::size_t depth, const float* a, const float* b, float* block) {
  blockProduct(depth, a, b, block);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void avx2Block(std::size_t depth, const float* a, const float* b, float* block) {
  blockProduct(depth, a, b, block);
}
#endif

Block bestBlock() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2Block;
#endif
  return plainBlock;
}

// Buffers that a product packs its operands into.
struct Panels {
  std::vector<float> a = std::vector<float>(kPanelRows * kDepth);
  std::vector<float> b;
};

void multiplyWith(Panels& panels, std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b,
                  float* c) {
  const Block block_product = bestBlock();
  const std::size_t column_blocks = (n + kColumns - 1) / kColumns;
  panels.b.resize(column_blocks * kColumns * kDepth);
  for (std::size_t p0 = 0; p0 < k; p0 += kDepth) {
    const std::size_t depth = std::min(kDepth, k - p0);
    for (std::size_t jb = 0; jb < column_blocks; ++jb) {
      float* panel = panels.b.data() + jb * kColumns * depth;
      const std::size_t columns = std::min(kColumns, n - jb * kColumns);
      for (std::size_t p = 0; p < depth; ++p, panel += kColumns) {
        const float* row = b + (p0 + p) * n + jb * kColumns;
        std::copy(row, row + columns, panel);
        std::fill(panel + columns, panel + kColumns, 0.0F);
      }
    }
    for (std::size_t i0 = 0; i0 < m; i0 += kPanelRows) {
      const std::size_t rows = std::min(kPanelRows, m - i0);
      const std::size_t row_blocks = (rows + kRows - 1) / kRows;
      for (std::size_t i = 0; i < row_blocks * kRows; ++i) {
        float* panel = panels.a.data() + (i / kRows) * kRows * depth + i % kRows;
        for (std::size_t p = 0; p < depth; ++p) panel[p * kRows] = i < rows ? a[(i0 + i) * k + p0 + p] : 0;
      }
      for (std::size_t jb = 0; jb < column_blocks; ++jb) {
        for (std::size_t ib = 0; ib < row_blocks; ++ib) {
          float block[kRows * kColumns];
          block_product(depth, panels.a.data() + ib * kRows * depth, panels.b.data() + jb * kColumns * depth,
                        block);
          for (std::size_t i = 0; i < std::min(kRows, rows - ib * kRows); ++i) {
            float* row = c + (i0 + ib * kRows + i) * n + jb * kColumns;
            for (std::size_t j = 0; j < std::min(kColumns, n - jb * kColumns); ++j)
              row[j] += block[i * kColumns + j];
          }
        }
      }
    }
  }
}

// The best sum over threads of units a second, over kWindows windows. `make(thread)` gives a callable that
// does a portion of work and returns its units.
template <class Make>
double bestRate(unsigned threads, double seconds, Make&& make) {
  constexpr int kWindows = 3;
  std::vector<double> rate(static_cast<std::size_t>(threads) * kWindows, 0);
  std::atomic<unsigned> ready{0};
  std::vector<std::jthread> crew;
  const auto work = [&](unsigned thread) {
    auto portion = make(thread);
    portion();  // touches the memory, fills the caches
    ready.fetch_add(1);
    while (ready.load() < threads) std::this_thread::yield();
    for (int window = 0; window < kWindows; ++window) {
      const auto begin = Clock::now();
      double units = 0, passed = 0;
      do {
        units += portion();
        passed = std::chrono::duration<double>(Clock::now() - begin).count();
      } while (passed < seconds / kWindows);
      rate[static_cast<std::size_t>(window) * threads + thread] = units / passed;
    }
  };
  for (unsigned thread = 1; thread < threads; ++thread) crew.emplace_back(work, thread);
  work(0);
  crew.clear();
  double best = 0;
  for (int window = 0; window < kWindows; ++window) {
    double sum = 0;
    for (unsigned thread = 0; thread < threads; ++thread)
      sum += rate[static_cast<std::size_t>(window) * threads + thread];
    best = std::max(best, sum);
  }
  return best;
}

class Triad {
 public:
  double operator()() {
    const double scale = 1.5 + static_cast<double>(passes_++ % 2);
    double* a = a_.data();
    const double *b = b_.data(), *c = c_.data();
    for (std::size_t i = 0; i < kSize; ++i) a[i] = b[i] + scale * c[i];
    // The result counts as used.
    asm volatile("" : : "r"(a) : "memory");
    return 3.0 * sizeof(double) * kSize;
  }

 private:
  static constexpr std::size_t kSize = std::size_t{2} << 20;  // 16 MiB: three of them exceed a core's caches
  std::vector<double> a_ = std::vector<double>(kSize, 0.5), b_ = std::vector<double>(kSize, 1),
                      c_ = std::vector<double>(kSize, 2);
  std::size_t passes_ = 0;
};

class Product {
 public:
  double operator()() {
    multiplyWith(panels_, kSize, kSize, kDepth, a_.data(), b_.data(), c_.data());
    asm volatile("" : : "r"(c_.data()) : "memory");
    return 2.0 * kSize * kSize * kDepth;
  }

 private:
  static constexpr std::size_t kSize = 768;
  std::vector<float> a_ = std::vector<float>(kSize * kDepth, 0.5F),
                     b_ = std::vector<float>(kDepth * kSize, 0.25F),
                     c_ = std::vector<float>(kSize * kSize, 0);
  Panels panels_;
};

// Four digits: more than a measurement has.
double rounded(double value) {
  const double step = std::pow(10, std::floor(std::log10(value)) - 3);
  return std::isfinite(step) && step > 0 ? std::round(value / step) * step : value;
}

}  // namespace

void multiply(std::size_t m, std::size_t n, std::size_t k, std::span<const float> a, std::span<const float> b,
              std::span<float> c) {
  Panels panels;
  multiplyWith(panels, m, n, k, a.data(), b.data(), c.data());
}

Measured measureCpu(unsigned threads, double seconds) {
  threads = std::max(1U, threads);
  Measured measured;
  measured.bytes_per_second = rounded(bestRate(threads, seconds, [](unsigned) { return Triad(); }));
  measured.fp32_per_second = rounded(bestRate(threads, seconds, [](unsigned) { return Product(); }));
  return measured;
}

}  // namespace allot
