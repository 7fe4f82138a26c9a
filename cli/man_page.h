// The manual page, made from the same tables as the parser and the help texts.
#pragma once

#include <string>

namespace allot::cli {

std::string manPage();

}  // namespace allot::cli
