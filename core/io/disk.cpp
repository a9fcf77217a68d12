#include "io/disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace shotgun::disk {

File::File(std::string path, std::int64_t offset)
    : path_(std::move(path)),
      descriptor_(open(path_.c_str(), O_RDONLY | O_CLOEXEC)),
      offset_(offset) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), path_);
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      offset_(other.offset_) {}

void File::read(std::int64_t at, void* to, std::size_t count) const {
  auto* out = static_cast<char*>(to);
  while (count > 0) {
    const ssize_t got = pread(descriptor_, out, count, offset_ + at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category(), path_);
    if (got == 0) throw Damaged(path_ + " is damaged: it ends too early");
    out += got;
    at += got;
    count -= static_cast<std::size_t>(got);
  }
}

}  // namespace shotgun::disk
