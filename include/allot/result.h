// Errors as values. Every error says what is wrong, where, and what to do about it; no exception leaves the
// library.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace allot {

enum class ErrorCode {
  kUsage,       // the call itself is wrong
  kBadInput,    // a file cannot be read or means nothing
  kInfeasible,  // no plan can exist
  kNoPlan,      // none was found within the limit
  kMismatch,    // a check, run or export disagrees with the plan
  kInternal,    // a contradiction inside Allot
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string file;     // name of the input, empty when the error belongs to none
  std::string where;    // JSON path, line, op or option
  std::string message;  // what is wrong
  std::string remedy;   // what to do next

  // One line: "file: where: message; remedy".
  std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

inline tl::unexpected<Error> badInput(std::string where, std::string message, std::string remedy) {
  return fail({ErrorCode::kBadInput, {}, std::move(where), std::move(message), std::move(remedy)});
}

}  // namespace allot

#define ALLOT_CONCAT_(a, b) a##b
#define ALLOT_CONCAT(a, b) ALLOT_CONCAT_(a, b)

// Returns the error of `expr`, or declares `lhs` with its value.
#define ALLOT_TRY(lhs, expr) ALLOT_TRY_(ALLOT_CONCAT(result_, __LINE__), lhs, expr)
#define ALLOT_TRY_(tmp, lhs, expr)                        \
  auto tmp = (expr);                                      \
  if (!tmp) return ::allot::fail(std::move(tmp).error()); \
  lhs = std::move(*tmp)

// Returns the error of `expr`, whose value is not needed.
#define ALLOT_CHECK(expr) ALLOT_CHECK_(ALLOT_CONCAT(result_, __LINE__), expr)
#define ALLOT_CHECK_(tmp, expr) \
  if (auto tmp = (expr); !tmp) return ::allot::fail(std::move(tmp).error())
