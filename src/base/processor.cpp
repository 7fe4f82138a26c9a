#include "base/processor.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace allot {

#if defined(__linux__)

int currentProcessor() {
  return sched_getcpu();
}

void leaveProcessor(int processor) {
  cpu_set_t allowed;
  if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<unsigned>(processor), &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  sched_setaffinity(0, sizeof allowed, &allowed);
}

#else

int currentProcessor() {
  return -1;
}

void leaveProcessor(int) {}

#endif

}  // namespace allot
