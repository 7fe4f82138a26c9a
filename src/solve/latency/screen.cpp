#include "solve/latency/screen.h"

namespace allot {

bool Screen::propose(Random& random, const std::function<double()>& drawLimit) {
  lanes_.clear();
  for (std::uint32_t i = 0; i < lanes_.room(); ++i) {
    neighbourhood_.propose(random);
    if (neighbourhood_.changedFrom() >= neighbourhood_.changedUntil()) continue;
    const std::uint32_t lane = lanes_.count();
    limit_[lane] = drawLimit();
    if (limit_[lane] >= 0) {
      neighbourhood_.describe(moves_[lane]);
      lanes_.add(moves_[lane]);
    }
    neighbourhood_.undo();
  }
  if (lanes_.count() == 0) return false;
  lanes_.run(neighbourhood_.sequence());
  // What ports do to the estimate they do to that of the accepted sequence as well.
  const double off = decoder_.value() - lanes_.base();
  double least = 0;
  chosen_ = Lanes::kLanes;
  for (std::uint32_t lane = 0; lane < lanes_.count(); ++lane) {
    const double above = lanes_.value(lane) + off - limit_[lane];
    if (above > least || (above == least && chosen_ != Lanes::kLanes)) continue;
    least = above;
    chosen_ = lane;
  }
  if (chosen_ == Lanes::kLanes) return false;
  neighbourhood_.redo(moves_[chosen_]);
  return true;
}

}  // namespace allot
