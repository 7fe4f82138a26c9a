#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/file_io.h"

namespace allot {

Result<MappedFile> MappedFile::open(const std::string& path) {
  MappedFile file;
  struct stat info {};
  // A pipe is not opened here: its writer would lose its reader when it is closed again.
  if (path != "-" && stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
      const auto size = static_cast<std::size_t>(info.st_size);
      void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
      if (address != MAP_FAILED) {
        file.address_ = static_cast<const char*>(address);
        file.size_ = size;
      }
    }
    if (fd >= 0) close(fd);
    if (file.address_ != nullptr) return file;
  }
  ALLOT_TRY(std::string text, readFile(path));
  file.read_ = std::make_unique<std::string>(std::move(text));
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      read_(std::move(other.read_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  std::swap(read_, other.read_);
  return *this;
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) munmap(const_cast<char*>(address_), size_);
}

}  // namespace allot
