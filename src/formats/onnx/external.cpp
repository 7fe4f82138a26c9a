#include "formats/onnx/external.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unordered_map>
#include <vector>

namespace allot::onnx {
namespace {

class ExternalFiles {
 public:
  ExternalFiles(Model& model, const std::string& file)
      : model_(model), folder_(std::filesystem::path(file).parent_path()) {
    std::error_code failed;
    const auto here = std::filesystem::canonical(folder_.empty() ? "." : folder_, failed);
    if (!failed) inside_.push_back(here);
    // A model that is a link has its data beside what it leads to, as in caches that keep files by content.
    const auto real = std::filesystem::canonical(file, failed);
    if (!failed) inside_.push_back(real.parent_path());
  }
  ~ExternalFiles() {
    if (fd_ >= 0) close(fd_);
  }
  ExternalFiles(const ExternalFiles&) = delete;
  ExternalFiles& operator=(const ExternalFiles&) = delete;

  Result<void> resolve(Graph& graph) {
    for (Tensor& tensor : graph.initializers) ALLOT_CHECK(resolve(tensor));
    for (Node& node : graph.nodes) {
      for (Attribute& attribute : node.attributes) {
        if (attribute.tensor) ALLOT_CHECK(resolve(*attribute.tensor));
        if (attribute.graph) ALLOT_CHECK(resolve(*attribute.graph));
        for (const auto& body : attribute.graphs) ALLOT_CHECK(resolve(*body));
      }
    }
    return {};
  }

 private:
  Result<void> resolve(Tensor& tensor) {
    if (!tensor.external) return {};
    const auto bad = [&](std::string message, std::string remedy) {
      return badInput(fmt::format("tensor \"{}\"", tensor.name), std::move(message), std::move(remedy));
    };
    ALLOT_CHECK(checkLocation(tensor));
    ALLOT_TRY(const std::int64_t size, sizeOf(tensor));
    const std::int64_t needed =
        bytesOf(tensor.type, tensor.dims).value_or(tensor.length < 0 ? 0 : tensor.length);
    if (tensor.length >= 0 && tensor.length != needed)
      return bad(
          fmt::format("its external data has {} bytes where its dimensions need {}", tensor.length, needed),
          "export the model again");
    if (tensor.offset > size || needed > size - tensor.offset)
      return bad(fmt::format("its data ends at byte {} of \"{}\", which has {}",
                             saturatedSum(tensor.offset, needed), tensor.location, size),
                 "the file is cut off or belongs to another model; fetch it again");
    const bool wanted = isInteger(tensor.type) || needed <= 8;
    if (!wanted || needed == 0 || needed > kMaxKnownElements * 8 || needed > left_) return {};
    left_ -= needed;
    return readValue(tensor, needed);
  }

  static std::int64_t saturatedSum(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
  }

  static Result<void> checkLocation(const Tensor& tensor) {
    const auto where = fmt::format("tensor \"{}\"", tensor.name);
    if (tensor.location.empty() || tensor.location.find('\0') != std::string_view::npos)
      return badInput(where, "its data is in a file that is not named", "export the model again");
    const std::filesystem::path path(tensor.location);
    const auto normal = path.lexically_normal();
    if (path.is_absolute() || normal.empty() || *normal.begin() == "..")
      return badInput(where,
                      fmt::format("its data is in \"{}\", outside the model's folder", tensor.location),
                      "move the file into the folder and name it without / or .. in front");
    if (std::find(path.begin(), path.end(), "..") != path.end())
      return badInput(where, fmt::format("its data is in \"{}\", a path with ..", tensor.location),
                      "name the file by its way from the model's folder, without ..");
    return {};
  }

  std::string pathOf(const Tensor& tensor) const {
    return (folder_ / std::filesystem::path(tensor.location)).string();
  }

  // Links may not lead out of the folder.
  Result<void> checkTarget(const std::string& where, const std::string& path) const {
    std::error_code failed;
    const auto target = std::filesystem::canonical(path, failed);
    if (failed)
      return badInput(where, fmt::format("its data is in \"{}\": {}", path, failed.message()),
                      "check the file and its permissions");
    const auto holds = [&](const std::filesystem::path& folder) {
      return std::mismatch(folder.begin(), folder.end(), target.begin(), target.end()).first == folder.end();
    };
    if (std::any_of(inside_.begin(), inside_.end(), holds)) return {};
    return badInput(where,
                    fmt::format("its data is in \"{}\", which leads to \"{}\", outside the model's folder",
                                path, target.string()),
                    "copy the file into the folder");
  }

  Result<std::int64_t> sizeOf(const Tensor& tensor) {
    const auto found = sizes_.find(tensor.location);
    if (found != sizes_.end()) return found->second;
    const std::string path = pathOf(tensor);
    struct stat info {};
    const auto where = fmt::format("tensor \"{}\"", tensor.name);
    if (stat(path.c_str(), &info) != 0)
      return badInput(where, fmt::format("its data is in \"{}\": {}", path, std::strerror(errno)),
                      "put the file beside the model");
    if (!S_ISREG(info.st_mode))
      return badInput(where, fmt::format("its data is in \"{}\", which is no plain file", path),
                      "put the file of the weights there");
    ALLOT_CHECK(checkTarget(where, path));
    sizes_.emplace(tensor.location, info.st_size);
    return info.st_size;
  }

  Result<void> readValue(Tensor& tensor, std::int64_t bytes) {
    const std::string path = pathOf(tensor);
    if (fd_ < 0 || open_ != path) {
      if (fd_ >= 0) close(fd_);
      fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      open_ = path;
    }
    std::string value(static_cast<std::size_t>(bytes), '\0');
    const ssize_t got = fd_ < 0 ? -1 : pread(fd_, value.data(), value.size(), tensor.offset);
    if (got != static_cast<ssize_t>(value.size()))
      return badInput(fmt::format("tensor \"{}\"", tensor.name),
                      fmt::format("its data in \"{}\" cannot be read: {}", path,
                                  got < 0 ? std::strerror(errno) : "the file is shorter now"),
                      "check the file and its permissions");
    tensor.raw = model_.owned.emplace_back(std::move(value));
    tensor.external = false;
    return {};
  }

  Model& model_;
  const std::filesystem::path folder_;
  std::vector<std::filesystem::path> inside_;  // folders that may hold the data, without links
  std::unordered_map<std::string_view, std::int64_t> sizes_;
  std::int64_t left_ = kMaxExternalRead;
  std::string open_;
  int fd_ = -1;
};

}  // namespace

Result<void> resolveExternal(Model& model, const std::string& file) {
  return ExternalFiles(model, file).resolve(model.graph);
}

}  // namespace allot::onnx
