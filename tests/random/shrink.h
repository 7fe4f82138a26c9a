// Makes a problem that is answered wrongly as small as it gets while it still is, and in the same way.
#pragma once

#include <functional>

#include "random/tiny.h"

namespace allot::tiny {

// `still` says whether a smaller problem shows the same. Ends after `seconds` at the latest.
Tiny shrink(Tiny tiny, const std::function<bool(const Tiny&)>& still, double seconds);

}  // namespace allot::tiny
