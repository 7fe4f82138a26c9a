// Where op times come from, as one line: "given", "measured (source)", "estimated (source)", or "mixed (...)"
// of several such parts. Free text of a file's own is a kind of its own.
#pragma once

#include <span>
#include <string>

namespace allot {

// What a file says of its times as one line that a terminal can show: control characters become blanks.
std::string provenanceLine(std::string text);

// The line for times of several origins, each itself such a line: one kind with the sources of all, or mixed.
// Counts of the same thing ("3 times measured (a.csv)") add up.
std::string joinProvenance(std::span<const std::string> lines);

}  // namespace allot
