#include "base/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

namespace allot {
namespace {

// No reader takes a longer text from a file; a stream may have no end at all.
constexpr std::int64_t kMostOfFile = std::int64_t{4} << 30;
constexpr std::int64_t kMostOfStream = std::int64_t{1} << 30;
constexpr std::string_view kTooLong = "check that it ends; what is so long must be a file, given by its name";
constexpr std::size_t kLeastStep = std::size_t{1} << 16, kMostStep = std::size_t{1} << 20;
// How long a named pipe may be without anyone who writes into it.
constexpr auto kWaitForWriter = std::chrono::seconds(10);
constexpr int kLookForWriterMs = 20;

Error ioError(const std::string& path, std::string_view doing, int code, std::string remedy) {
  return {ErrorCode::kBadInput, path, "", fmt::format("cannot {}: {}", doing, std::strerror(code)),
          std::move(remedy)};
}

Error badFile(const std::string& path, std::string message, std::string remedy) {
  return {ErrorCode::kBadInput, path, "", std::move(message), std::move(remedy)};
}

// Reads to the end. A pipe that `path` names may have no writer yet, for which it waits a while; its
// descriptor does not block.
Result<std::string> readAll(int fd, const std::string& path, bool named, std::int64_t most) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  bool has_writer = !named;
  std::string text;
  struct stat info {};
  if (fstat(fd, &info) == 0 && info.st_size > 0) text.reserve(static_cast<std::size_t>(info.st_size) + 1);
  has_writer = has_writer || !S_ISFIFO(info.st_mode);
  // Read straight into the string: files of hundreds of megabytes are normal.
  for (;;) {
    const std::size_t used = text.size();
    if (used > static_cast<std::size_t>(most))
      return fail(badFile(path, fmt::format("more than {} bytes", most), std::string(kTooLong)));
    const std::size_t room = text.capacity() > used ? text.capacity() - used : kLeastStep;
    const std::size_t step = std::min(room, kMostStep);  // what is not filled would be cleared time and again
    text.resize(used + step);
    const ssize_t got = read(fd, text.data() + used, step);
    const int code = errno;
    text.resize(used + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got > 0) has_writer = true;
    if (got == 0 && has_writer) return text;
    if (got > 0 || (got < 0 && code == EINTR)) continue;
    if (got < 0 && code != EAGAIN)
      return fail(ioError(path, "read", code, "check that it is a readable file"));
    // Without a writer a pipe is at its end, with one that is silent it asks to come again.
    has_writer = has_writer || got < 0;
    if (!has_writer && Clock::now() - begin > kWaitForWriter)
      return fail(badFile(path, "a pipe into which nothing is written", "start the writer, or give a file"));
    struct pollfd wait {};
    wait.fd = fd;
    wait.events = POLLIN;
    if (poll(&wait, 1, has_writer ? -1 : kLookForWriterMs) > 0) has_writer = true;
  }
}

// Reads what has an end: a file, a pipe or a terminal.
Result<std::string> readBounded(int fd, const std::string& path, bool named) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return fail(ioError(path, "read", errno, "check that it is a readable file"));
  const bool is_file = S_ISREG(info.st_mode);
  if (is_file && info.st_size > kMostOfFile)
    return fail(badFile(path, fmt::format("{} bytes, more than {}", info.st_size, kMostOfFile),
                        "check that it is the right file"));
  char byte = 0;
  const bool device = S_ISBLK(info.st_mode) || (S_ISCHR(info.st_mode) && isatty(fd) == 0);
  if (device && read(fd, &byte, 1) != 0)  // /dev/null has an end
    return fail(badFile(path, "a device, which has no end", "give a file"));
  try {
    return readAll(fd, path, named, is_file ? kMostOfFile : kMostOfStream);
  } catch (const std::bad_alloc&) {
    return fail(badFile(path, "too large for the memory there is", "use a machine with more memory"));
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
  if (path == "-") return readBounded(STDIN_FILENO, "standard input", false);
  // A pipe without a writer would block.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(ioError(path, "open", errno, "check the path and its permissions"));
  auto text = readBounded(fd, path, true);
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
