// Units in strings: "24GiB", "12.5GB/s", "312TFLOPS", "3us", "5%". Plain numbers are SI: seconds, bytes,
// bytes or operations per second.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "allot/result.h"

namespace allot {

Result<double> parseSeconds(std::string_view text);
Result<std::int64_t> parseBytes(std::string_view text);
Result<double> parseBytesPerSecond(std::string_view text);
// "312TFLOPS", "624 TOPS" or a plain number of operations per second.
Result<double> parseOperationsPerSecond(std::string_view text);
// "5%" or "0.05"; 0 <= share <= 1.
Result<double> parseShare(std::string_view text);
// The whole text as a finite number.
Result<double> parseNumber(std::string_view text);
Result<std::uint64_t> parseCount(std::string_view text);

// For people: "3.2 ms", "1.5 GiB".
std::string secondsText(double seconds);
std::string bytesText(double bytes);
// "312 TFLOPS", "936.2 GB/s".
std::string operationsPerSecondText(double rate);
std::string bytesPerSecondText(double rate);

}  // namespace allot
