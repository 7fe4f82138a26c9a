// What every fuzz target asks of a reader: it never crashes; an error names the file, what is wrong and what
// to do, on one line; whatever is read can be written, and reading that again gives the same text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "allot/formats.h"

namespace allot::fuzz {

inline std::string_view textOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the process with a message unless the condition holds.
void require(bool condition, const char* what);
void requireGoodError(const Error& error);

void readProblemTwice(std::string_view text, Format format);
// The same, with its ops packed.
void readPackedTwice(std::string_view text, Format format);
// The trace of a cpu run and that of a gpu run, with a line of one % between them.
void readTracesTwice(std::string_view text);
void readGraphTwice(std::string_view text, Format format);
void readClusterTwice(std::string_view text);
// The plan belongs to a small fixed problem.
void readPlanTwice(std::string_view text);
// The events belong to a small fixed problem, on which they are replayed.
void replayEvents(std::string_view text);

}  // namespace allot::fuzz
