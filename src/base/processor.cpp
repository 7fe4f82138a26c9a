#include "base/processor.h"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace allot {

void sendElsewhere([[maybe_unused]] std::jthread& thread) {
#if defined(__linux__)
  const int here = sched_getcpu();
  cpu_set_t allowed;
  if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<unsigned>(here), &others);
  if (CPU_COUNT(&others) == 0) return;
  const pthread_t handle = thread.native_handle();
  if (pthread_setaffinity_np(handle, sizeof others, &others) == 0)
    pthread_setaffinity_np(handle, sizeof allowed, &allowed);
#endif
}

}  // namespace allot
