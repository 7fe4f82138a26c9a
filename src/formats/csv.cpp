#include "formats/csv.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "formats/foreign_parts.h"

namespace allot {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kMaxColumns = 256;
constexpr std::size_t kMaxFieldShown = 40;
// Beyond these a text is no table, and need not be held as one.
constexpr std::size_t kMaxFields = std::size_t{1} << 16;
constexpr std::size_t kMaxHeader = std::size_t{1} << 16;

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

std::string normalised(std::string_view text) {
  std::string name = trimmed(text);
  for (char& c : name) {
    if (c == ' ' || c == '-') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

// Takes records off a text, one after another.
class Records {
 public:
  explicit Records(std::string_view text) : text_(text) {
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  bool atEnd() const { return at_ >= text_.size(); }
  std::size_t line() const { return line_; }

  // Fields of the next record; fails on a quote that has no end.
  Result<void> next(std::vector<std::string>& fields) {
    fields.clear();
    for (;;) {
      ALLOT_TRY(std::string field, nextField());
      fields.push_back(std::move(field));
      if (fields.size() > kMaxFields)
        return badInput(fmt::format("line {}", line_), fmt::format("more than {} fields", kMaxFields),
                        "check that it is a table");
      if (atEnd()) return {};
      const char end = text_[at_++];
      if (end == '\n') {
        ++line_;
        return {};
      }
    }
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0, line_ = 1;

  // Up to the comma or line break, which stays.
  Result<std::string> nextField() {
    const std::size_t begin = text_.find_first_not_of(" \t", at_);
    if (begin == std::string_view::npos || text_[begin] != '"') {
      const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
      std::string field = trimmed(text_.substr(at_, end - at_));
      at_ = end;
      return field;
    }
    const std::size_t first_line = line_;
    std::string field;
    at_ = begin + 1;
    for (;; ++at_) {
      if (atEnd()) {
        return badInput(fmt::format("line {}", first_line), "a quoted field has no end",
                        "close the quote, or double quotes inside the field");
      }
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        field += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        field += '"';
        ++at_;
      } else {
        break;
      }
    }
    ++at_;
    const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    if (!trimmed(text_.substr(at_, end - at_)).empty()) {
      return badInput(fmt::format("line {}", line_), "text behind a quoted field",
                      "put a comma behind the closing quote");
    }
    at_ = end;
    return field;
  }
};

bool blank(const std::vector<std::string>& fields) {
  return fields.size() == 1 && fields.front().empty();
}

std::string shown(std::string_view text) {
  if (text.size() <= kMaxFieldShown) return std::string(text);
  std::size_t end = kMaxFieldShown;
  // A character of several bytes stays whole.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace

Result<CsvTable> CsvTable::parse(std::string_view text) {
  if (!simdjson::validate_utf8(text.data(), text.size()))
    return badInput("", "not UTF-8 text", "re-export the file");
  CsvTable table;
  Records records(text);
  std::vector<std::string> fields;
  while (!records.atEnd()) {
    const std::size_t line = records.line();
    ALLOT_CHECK(records.next(fields));
    if (blank(fields)) continue;
    if (table.header_.empty()) {
      if (fields.size() > kMaxColumns) {
        return badInput(fmt::format("line {}", line), fmt::format("{} columns are absurd", fields.size()),
                        fmt::format("give at most {}", kMaxColumns));
      }
      for (const std::string& field : fields) {
        std::string name = normalised(field);
        if (std::find(table.header_.begin(), table.header_.end(), name) != table.header_.end()) {
          return badInput(fmt::format("line {}", line),
                          fmt::format("column \"{}\" is there twice", shown(name)),
                          "give each column its own name");
        }
        table.header_.push_back(std::move(name));
      }
      continue;
    }
    if (fields.size() != table.header_.size()) {
      return badInput(fmt::format("line {}", line),
                      fmt::format("{} fields for {} columns", fields.size(), table.header_.size()),
                      "give one field per column; the file may be cut off here");
    }
    for (std::string& field : fields) table.fields_.push_back(std::move(field));
    table.lines_.push_back(line);
  }
  if (table.header_.empty()) return badInput("line 1", "there is no header", "name the columns in line 1");
  return table;
}

std::vector<std::string> CsvTable::headerOf(std::string_view text) {
  const std::size_t begin = text.find_first_not_of("\r\n");
  if (begin == std::string_view::npos) return {};
  text = text.substr(begin, kMaxHeader);
  const std::size_t end = text.find('\n');
  // No header is so long; the text may be without a line for gigabytes.
  if (end == std::string_view::npos && text.size() == kMaxHeader) return {};
  text = text.substr(0, end);
  Records records(text);
  std::vector<std::string> fields;
  if (!records.next(fields) || fields.size() < 2) return {};
  for (std::string& field : fields) field = normalised(field);
  return fields;
}

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header_.begin());
}

tl::unexpected<Error> CsvTable::failAt(std::size_t row, std::size_t column, std::string message,
                                       std::string remedy) const {
  return badInput(fmt::format("line {}, column {}", lines_[row], shown(header_[column])), std::move(message),
                  std::move(remedy));
}

Result<double> CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string& text = field(row, column);
  const auto value = parseNumber(text);
  if (!value) {
    return failAt(row, column, fmt::format("\"{}\" is not a finite number", shown(text)),
                  "write a number of 0 or more");
  }
  if (*value < 0)
    return failAt(row, column, fmt::format("{} is negative", *value), "write a number of 0 or more");
  return *value + 0.0;  // -0 becomes 0
}

Result<double> CsvTable::seconds(std::size_t row, std::size_t column, double factor) const {
  ALLOT_TRY(const double value, number(row, column));
  const double seconds = toSeconds(value, factor);
  if (seconds > kMaxSeconds) {
    return failAt(row, column, fmt::format("time {} s is absurd", seconds),
                  "check the number, or the unit with --time-unit");
  }
  return seconds;
}

Result<std::optional<CsvTable::TimeColumn>> CsvTable::timeColumn(
    std::initializer_list<std::string_view> names, const ReadOptions& options, double standard) const {
  struct Suffix {
    std::string_view text;
    double factor;
  };
  const std::array<Suffix, 4> suffixes{{{"_us", 1e-6}, {"_ms", 1e-3}, {"_s", 1}, {"", standard}}};
  for (const std::string_view name : names) {
    for (const Suffix& suffix : suffixes) {
      const auto found = column(fmt::format("{}{}", name, suffix.text));
      if (!found) continue;
      ALLOT_TRY(const double factor, timeUnitFactor(options, suffix.factor));
      return TimeColumn{*found, factor};
    }
  }
  return std::nullopt;
}

}  // namespace allot
