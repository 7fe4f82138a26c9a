// docs/options.md, written from the option table so that the two cannot disagree.
#pragma once

#include <string>

namespace allot {

std::string optionsMarkdown();

}  // namespace allot
