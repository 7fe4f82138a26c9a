// Which processor a thread begins on.
//
// A new thread often begins on the processor of its maker, and the kernel may take some 15 ms to see that
// another one is idle: as long as many a search takes. So threads that help their maker leave its processor
// as soon as they run. They are free to move afterwards.
#pragma once

namespace allot {

// The one that the calling thread runs on; negative where that is not known.
int currentProcessor();

// Moves the calling thread off this processor, if it may run on another one.
void leaveProcessor(int processor);

}  // namespace allot
