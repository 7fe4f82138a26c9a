// Which processor a thread begins on.
//
// A new thread often begins on the processor of its maker and waits there for milliseconds until the maker
// is interrupted: as long as many a search takes. So who makes threads to share its work with sends them to
// other processors. They are free to move afterwards.
#pragma once

#include <thread>

namespace allot {

// Moves a new thread off the processor of the caller, if it may run on another one.
void sendElsewhere(std::jthread& thread);

}  // namespace allot
