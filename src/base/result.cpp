#include "allot/result.h"

namespace allot {

std::string Error::text() const {
  std::string line;
  const auto part = [&](const std::string& piece, std::string_view separator) {
    if (piece.empty()) return;
    if (!line.empty()) line += separator;
    line += piece;
  };
  part(file, "");
  part(where, ": ");
  part(message, ": ");
  part(remedy, "; ");
  // Names from hostile files must not break the promise of one line.
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return line;
}

}  // namespace allot
