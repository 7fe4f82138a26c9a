// Labels and states of a module's search, layer by layer.
//
// A state is what the rest of the module can see of the choices made (its key), with what follows from that
// alone; a label is one way to get there, with its times by frontier item.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace allot {

// Groups of closed calls whose units go on (calls_key.h) that a label keeps apart.
inline constexpr std::size_t kMostCallGroups = 2;

struct CallLabel {
  double least = 0;     // no exit of this label is earlier
  double end = 0;       // open call: its end if it closed now, sends not counted
  double duration = 0;  // open call: -infinity where its inputs cannot come too late any more
  double bytes = 0;     // open call, and what it shares its accelerator with
  std::array<double, kMostCallGroups> held{};  // bytes of groups
  double entry_bytes = 0;                      // what the entry's call took here before it closed
  std::uint64_t used = 0;
  std::uint32_t step = UINT32_MAX;
  std::uint32_t times = 0;  // offset into the layer's times
};

// A remaining item that waits for frontier item `of`, and all frontier items that it waits for.
struct CallWaiter {
  std::uint32_t of;
  std::uint64_t on;
};

// An item outside the ideal that reads what the open call makes: it takes at least `apart` from the end of
// the call so far to the end of the module, unless it joins the call.
struct CallOnward {
  double apart;
  std::uint32_t item;
};

struct CallState {
  std::uint32_t key = 0;
  std::int32_t pool = -1;
  bool entry_call = false;              // the open call is that of the entry
  bool ready = false;                   // the fields below are filled
  double bytes_left = 0;                // of items outside the ideal
  std::vector<std::uint32_t> frontier;  // items; entry 0 stands for everything before the module
  std::uint64_t in_call = 0;            // frontier items of the open call
  std::uint64_t only_call = 0;          // frontier items whose waiters all wait for the open call too
  std::vector<double> tails;            // by frontier item outside the open call, and for the entry
  std::vector<CallOnward> onward;
  std::vector<CallWaiter> waiters;
  // The module's last item, while it is not in the ideal: what a call that takes it must still spend at
  // least, and what the open call must spend on sending to it otherwise.
  double last_take = 0, last_send = 0;
  bool has_last = false;
  std::vector<CallLabel> labels;  // by rising `least`
};

// States of one size of ideal, found by their keys.
struct CallLayer {
  std::vector<std::uint64_t> keys;
  std::vector<CallState> states;
  std::vector<double> times;

  void clear() {
    keys.clear();
    states.clear();
    slots_.clear();
    times.clear();
  }

  // The state of a key of so many words, made when there is none yet; `made` says so.
  std::uint32_t find(const std::uint64_t* key, std::size_t words, bool& made) {
    if (slots_.size() < 2 * (states.size() + 1)) rehash(words);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hashOf(key, words) & mask;
    for (; slots_[at] != UINT32_MAX; at = (at + 1) & mask) {
      if (std::equal(key, key + words, &keys[states[slots_[at]].key])) {
        made = false;
        return slots_[at];
      }
    }
    made = true;
    const auto number = static_cast<std::uint32_t>(states.size());
    slots_[at] = number;
    states.emplace_back().key = static_cast<std::uint32_t>(keys.size());
    keys.insert(keys.end(), key, key + words);
    return number;
  }

 private:
  std::vector<std::uint32_t> slots_;

  void rehash(std::size_t words) {
    slots_.assign(std::max<std::size_t>(64, slots_.size() * 4), UINT32_MAX);
    const std::size_t mask = slots_.size() - 1;
    for (std::uint32_t s = 0; s < states.size(); ++s) {
      std::size_t at = hashOf(&keys[states[s].key], words) & mask;
      while (slots_[at] != UINT32_MAX) at = (at + 1) & mask;
      slots_[at] = s;
    }
  }

  static std::uint64_t hashOf(const std::uint64_t* key, std::size_t words) {
    std::uint64_t h = 0x9E3779B97F4A7C15ull;
    for (std::size_t w = 0; w < words; ++w) {
      h = (h ^ key[w]) * 0xD6E8FEB86659FD93ull;
      h ^= h >> 29;
    }
    return h * 0xBF58476D1CE4E5B9ull;
  }
};

}  // namespace allot
