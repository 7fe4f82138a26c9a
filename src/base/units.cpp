#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace allot {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Small units divide: 40 / 1e6 is the double nearest to 40 us, 40 * 1e-6 is not.
constexpr std::array<Unit, 4> kPerSecond{{{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}}};
constexpr double kSecondsPerMinute = 60;
constexpr std::array<Unit, 10> kBytes{{{"B", 1},
                                       {"kB", 1e3},
                                       {"KB", 1e3},
                                       {"MB", 1e6},
                                       {"GB", 1e9},
                                       {"TB", 1e12},
                                       {"KiB", 1024.0},
                                       {"MiB", 1048576.0},
                                       {"GiB", 1073741824.0},
                                       {"TiB", 1099511627776.0}}};

constexpr std::array<Unit, 4> kPrefixes{{{"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}}};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits "12.5 GB" into 12.5 and "GB".
Result<std::pair<double, std::string_view>> split(std::string_view text, std::string_view example) {
  text = trim(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) {
    return badInput("", fmt::format("\"{}\" is not a number with a unit", text),
                    fmt::format("write it as {}", example));
  }
  return std::pair{number, trim(text.substr(static_cast<std::size_t>(end - text.data())))};
}

Result<double> bytesFactor(std::string_view unit, std::string_view text) {
  if (unit.empty()) return 1.0;
  for (const Unit& known : kBytes) {
    if (unit == known.name) return known.factor;
  }
  return badInput("", fmt::format("unknown unit \"{}\" in \"{}\"", unit, text),
                  "use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB");
}

}  // namespace

Result<double> parseSeconds(std::string_view text) {
  ALLOT_TRY(const auto parts, split(text, "3us, 1.5ms or 0.2s"));
  if (parts.second.empty()) return parts.first;
  if (parts.second == "min") return parts.first * kSecondsPerMinute;
  for (const Unit& unit : kPerSecond) {
    if (parts.second == unit.name) return parts.first / unit.factor;
  }
  return badInput("", fmt::format("unknown unit \"{}\" in \"{}\"", parts.second, text),
                  "use ns, us, ms, s or min");
}

Result<std::int64_t> parseBytes(std::string_view text) {
  ALLOT_TRY(const auto parts, split(text, "24GiB or 512MB"));
  ALLOT_TRY(const double factor, bytesFactor(parts.second, text));
  const double bytes = parts.first * factor;
  if (!(bytes >= 0) || bytes > 1152921504606846976.0) {
    return badInput("", fmt::format("\"{}\" is not a size between 0 and 1 EiB", text), "check the unit");
  }
  return static_cast<std::int64_t>(std::llround(bytes));
}

Result<double> parseBytesPerSecond(std::string_view text) {
  ALLOT_TRY(const auto parts, split(text, "12.5GB/s"));
  std::string_view unit = parts.second;
  if (unit.empty()) return parts.first;
  if (!unit.ends_with("/s")) {
    return badInput("", fmt::format("\"{}\" is not a rate", text), "write it as 12.5GB/s");
  }
  unit.remove_suffix(2);
  ALLOT_TRY(const double factor, bytesFactor(unit, text));
  return parts.first * factor;
}

Result<double> parseOperationsPerSecond(std::string_view text) {
  ALLOT_TRY(const auto parts, split(text, "312TFLOPS"));
  std::string_view unit = parts.second;
  if (unit.empty()) return parts.first;
  const std::string_view whole = unit;
  double factor = 1;
  for (const Unit& prefix : kPrefixes) {
    if (!unit.starts_with(prefix.name)) continue;
    factor = prefix.factor;
    unit.remove_prefix(prefix.name.size());
    break;
  }
  if (unit != "FLOPS" && unit != "FLOP/s" && unit != "OPS" && unit != "OP/s") {
    return badInput("", fmt::format("unknown unit \"{}\" in \"{}\"", whole, text),
                    "write it as 312TFLOPS, 19.5 TFLOP/s or 624TOPS");
  }
  return parts.first * factor;
}

Result<double> parseShare(std::string_view text) {
  ALLOT_TRY(const auto parts, split(text, "5% or 0.05"));
  double share = parts.first;
  if (parts.second == "%") {
    share /= 100;
  } else if (!parts.second.empty()) {
    return badInput("", fmt::format("unknown unit \"{}\" in \"{}\"", parts.second, text),
                    "write it as 5% or 0.05");
  }
  if (!(share >= 0 && share <= 1)) {
    return badInput("", fmt::format("\"{}\" is not between 0% and 100%", text), "write it as 5% or 0.05");
  }
  return share;
}

Result<double> parseNumber(std::string_view text) {
  ALLOT_TRY(const auto parts, split(text, "a plain number"));
  if (!parts.second.empty())
    return badInput("", fmt::format("\"{}\" is not a number", text), "write a plain number");
  return parts.first;
}

Result<std::uint64_t> parseCount(std::string_view text) {
  text = trim(text);
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return badInput("", fmt::format("\"{}\" is not a whole number", text),
                    "write a whole number of 0 or more");
  }
  return count;
}

std::string secondsText(double seconds) {
  const double size = std::fabs(seconds);
  if (size == 0) return "0 s";
  if (size < 1e-6) return fmt::format("{:.4g} ns", seconds * 1e9);
  if (size < 1e-3) return fmt::format("{:.4g} us", seconds * 1e6);
  if (size < 1) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} s", seconds);
}

std::string operationsPerSecondText(double rate) {
  std::size_t step = 0;
  while (step + 1 < kPrefixes.size() && rate >= kPrefixes[step + 1].factor) ++step;
  return fmt::format("{:.4g} {}FLOPS", rate / kPrefixes[step].factor, kPrefixes[step].name);
}

std::string bytesPerSecondText(double rate) {
  return fmt::format("{:.4g} GB/s", rate / 1e9);
}

std::string bytesText(double bytes) {
  constexpr std::array<std::string_view, 7> kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t step = 0;
  while (std::fabs(bytes) >= 1024 && step + 1 < kNames.size()) {
    bytes /= 1024;
    ++step;
  }
  return step == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.4g} {}", bytes, kNames[step]);
}

}  // namespace allot
