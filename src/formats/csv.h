// Tables of comma-separated values: a header line, then rows.
//
// Fields may be quoted; a quoted field may hold commas, doubled quotes and line breaks. Column names are
// compared in lower case with blanks as underscores, so that "CPU total" is cpu_total. Errors name the line
// and the column. The text must outlive the table.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allot/formats.h"

namespace allot {

class CsvTable {
 public:
  static Result<CsvTable> parse(std::string_view text);
  // The names in the header, or nothing where the text has no header of at least two columns.
  static std::vector<std::string> headerOf(std::string_view text);

  std::size_t rows() const { return lines_.size(); }
  std::size_t columns() const { return header_.size(); }
  std::optional<std::size_t> column(std::string_view name) const;
  const std::string& columnName(std::size_t column) const { return header_[column]; }
  const std::string& field(std::size_t row, std::size_t column) const {
    return fields_[row * header_.size() + column];
  }

  tl::unexpected<Error> failAt(std::size_t row, std::size_t column, std::string message,
                               std::string remedy) const;
  // A finite number of 0 or more.
  Result<double> number(std::size_t row, std::size_t column) const;
  // A time in the unit of `factor` seconds; never negative, never absurd.
  Result<double> seconds(std::size_t row, std::size_t column, double factor) const;

  // A column of times: one of `names`, alone or with the unit behind it (_us, _ms, _s), and the factor to
  // seconds. `standard` is the factor of a name without unit; a unit in `options` overrides both.
  struct TimeColumn {
    std::size_t column;
    double factor;
  };
  Result<std::optional<TimeColumn>> timeColumn(std::initializer_list<std::string_view> names,
                                               const ReadOptions& options, double standard) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::string> fields_;  // row by row
  std::vector<std::size_t> lines_;   // by row: line of its first field
};

}  // namespace allot
