#include "base/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace allot {
namespace {

Error ioError(const std::string& path, std::string_view doing, int code, std::string remedy) {
  return {ErrorCode::kBadInput, path, "", fmt::format("cannot {}: {}", doing, std::strerror(code)),
          std::move(remedy)};
}

Result<std::string> readAll(int fd, const std::string& path) {
  std::string text;
  struct stat info {};
  if (fstat(fd, &info) == 0 && info.st_size > 0) text.reserve(static_cast<std::size_t>(info.st_size) + 1);
  // Read straight into the string: files of hundreds of megabytes are normal.
  for (;;) {
    const std::size_t used = text.size();
    const std::size_t step = text.capacity() > used ? text.capacity() - used : std::size_t{1} << 16;
    text.resize(used + step);
    const ssize_t got = read(fd, text.data() + used, step);
    text.resize(used + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR)
      return fail(ioError(path, "read", errno, "check that it is a readable file"));
  }
}

bool writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    if (put < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace

Result<std::string> readFile(const std::string& path) {
  if (path == "-") return readAll(STDIN_FILENO, "standard input");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(ioError(path, "open", errno, "check the path and its permissions"));
  auto text = readAll(fd, path);
  close(fd);
  return text;
}

Result<void> writeFile(const std::string& path, std::string_view text) {
  if (path == "-") {
    if (!writeAll(STDOUT_FILENO, text)) {
      return fail(ioError("standard output", "write", errno, "check where it is redirected to"));
    }
    return {};
  }
  struct stat info {};
  // A device or pipe cannot be replaced by a rename; write into it.
  const bool special = stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  const std::string target = special ? path : fmt::format("{}.{}.tmp", path, getpid());
  const int fd = open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return fail(ioError(path, "write", errno, "choose a path in a writable folder"));
  bool good = writeAll(fd, text);
  int code = errno;
  if (close(fd) != 0 && good) {
    good = false;
    code = errno;
  }
  if (good && !special && std::rename(target.c_str(), path.c_str()) != 0) {
    good = false;
    code = errno;
  }
  if (good) return {};
  if (!special) unlink(target.c_str());
  return fail(ioError(path, "write", code, "free some space or choose another path"));
}

}  // namespace allot
