#include "cost/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
namespace {

constexpr std::string_view kGiven = "given";
constexpr std::string_view kSeparator = "; ";

// What stands in the brackets that end a text; empty where there are none.
std::string_view inBrackets(std::string_view text) {
  const std::size_t open = text.find(" (");
  if (open == std::string_view::npos || !text.ends_with(')')) return "";
  return text.substr(open + 2, text.size() - open - 3);
}

// The items of a list, whose brackets may hold lists of their own.
std::vector<std::string_view> itemsOf(std::string_view list) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    depth += list[i] == '(' ? 1 : list[i] == ')' ? -1 : 0;
    if (depth > 0 || !list.substr(i).starts_with(kSeparator)) continue;
    items.push_back(list.substr(begin, i - begin));
    begin = i + kSeparator.size();
  }
  if (begin < list.size()) items.push_back(list.substr(begin));
  return items;
}

// "3 times measured" is a count of "times measured".
struct Item {
  std::uint64_t count = 0;  // 0 = not counted
  std::string_view what;
};

Item itemOf(std::string_view text) {
  Item item{0, text};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), item.count);
  const auto digits = static_cast<std::size_t>(read.ptr - text.data());
  if (read.ec != std::errc() || item.count == 0 || !text.substr(digits).starts_with(' ')) return {0, text};
  item.what = text.substr(digits + 1);
  return item;
}

// Each thing once, counts added up.
std::string joined(const std::vector<std::string_view>& texts) {
  std::vector<Item> items;
  std::map<std::pair<std::string_view, bool>, std::size_t> places;  // files may list what they like
  for (const std::string_view text : texts) {
    const Item item = itemOf(text);
    const auto [known, fresh] = places.try_emplace({item.what, item.count == 0}, items.size());
    if (fresh)
      items.push_back(item);
    else
      items[known->second].count += item.count;
  }
  std::string text;
  for (const Item& item : items) {
    if (!text.empty()) text += kSeparator;
    text += item.count > 0 ? fmt::format("{} {}", item.count, item.what) : std::string(item.what);
  }
  return text;
}

// "measured" of "3 times measured (a.csv)".
std::string_view kindOf(std::string_view part) {
  std::string_view kind = itemOf(part).what;
  if (kind.size() < part.size() && kind.starts_with("times ")) kind.remove_prefix(6);
  kind = kind.substr(0, kind.find(" ("));
  const bool known = kind == kGiven || kind == "measured" || kind == "estimated";
  return known ? kind : part;
}

}  // namespace

std::string provenanceLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return text;
}

std::string joinProvenance(std::span<const std::string> lines) {
  std::vector<std::string_view> parts;
  for (const std::string& line : lines) {
    const std::size_t before = parts.size();
    if (line.starts_with("mixed (")) {
      const std::vector<std::string_view> own = itemsOf(inBrackets(line));
      parts.insert(parts.end(), own.begin(), own.end());
    }
    if (parts.size() == before) parts.push_back(line.empty() ? kGiven : std::string_view(line));
  }
  if (parts.empty()) return std::string(kGiven);
  if (lines.size() == 1 && parts.size() == 1) return std::string(parts.front());
  const std::string_view kind = kindOf(parts.front());
  const auto same = [&](std::string_view part) { return kindOf(part) == kind; };
  if (!std::all_of(parts.begin(), parts.end(), same)) return fmt::format("mixed ({})", joined(parts));
  if (kind == parts.front() && inBrackets(kind).size() > 0) return std::string(kind);  // free text
  std::vector<std::string_view> sources;
  for (const std::string_view part : parts) {
    const std::vector<std::string_view> own = itemsOf(inBrackets(part));
    sources.insert(sources.end(), own.begin(), own.end());
  }
  return sources.empty() ? std::string(kind) : fmt::format("{} ({})", kind, joined(sources));
}

}  // namespace allot
