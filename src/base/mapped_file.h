// A whole file as read-only text, mapped where the system can, so that only the pages that are looked at take
// memory. "-" and what cannot be mapped (pipes, devices) are read into memory.
//
// The file must not be cut short while it is mapped: a page beyond its end cannot be read.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "allot/result.h"

namespace allot {

class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Valid as long as this object, wherever it is moved to.
  std::string_view text() const { return address_ != nullptr ? std::string_view(address_, size_) : *read_; }

 private:
  MappedFile() = default;

  const char* address_ = nullptr;
  std::size_t size_ = 0;
  std::unique_ptr<std::string> read_;  // where nothing is mapped
};

}  // namespace allot
