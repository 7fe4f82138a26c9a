// The list of violations a check collects, bounded so that a plan with a million faults costs no million
// sentences.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace allot {

class Findings {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    if (listed_.size() < kMostListed)
      listed_.push_back(fmt::format(text, std::forward<Args>(args)...));
    else
      ++unlisted_;
  }
  std::size_t count() const { return listed_.size() + unlisted_; }
  std::vector<std::string> take() {
    if (unlisted_ > 0) listed_.push_back(fmt::format("and {} more violations", unlisted_));
    return std::move(listed_);
  }

 private:
  static constexpr std::size_t kMostListed = 100;

  std::vector<std::string> listed_;
  std::size_t unlisted_ = 0;
};

}  // namespace allot
