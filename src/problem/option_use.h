// Whether an option means anything for a problem: the scope of the options table says it by goal, and a few
// options need more than their goal.
#pragma once

#include <string>

#include "allot/options.h"
#include "allot/problem.h"

namespace allot {

// Why the option changes nothing for this finished problem under these modes, as the end of a sentence that
// begins with its name; empty where it counts, and where the modes name no goal.
std::string whyMoot(const OptionSpec& option, const Problem& problem, const Modes& modes);

}  // namespace allot
