#include <fmt/format.h>

#include <exception>
#include <new>

#include "arguments.h"
#include "common.h"

int main(int argc, char** argv) {
  using namespace allot;
  try {
    cli::Arguments arguments;
    if (const auto code = cli::parseArguments(argc, argv, arguments)) return *code;
    for (const cli::Verb& verb : cli::verbs()) {
      if (verb.name == arguments.verb) return verb.run(arguments);
    }
  } catch (const std::bad_alloc&) {
    cli::printError({ErrorCode::kInternal, "", "allot", "out of memory",
                     "use a machine with more memory or a smaller input"});
  } catch (const std::exception& error) {
    cli::printError({ErrorCode::kInternal, "", "allot", error.what(), "please report this"});
  }
  return cli::kExitInternal;
}
