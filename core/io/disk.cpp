#include "io/disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace shotgun::disk {
namespace {

constexpr int most_kept = 256;  // a process may have 1024, by default
std::atomic<int> kept{0};

int opened(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), path);
#ifdef POSIX_FADV_SEQUENTIAL
  // Scans read further ahead. Of reads here and there nothing more is read: docs/decisions/disk.md.
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
  return descriptor;
}

// Closed at the end of a scope.
struct Briefly {
  int descriptor;
  ~Briefly() {
    if (descriptor >= 0) close(descriptor);
  }
};

}  // namespace

File::File(std::string path, std::int64_t offset)
    : path_(std::move(path)), descriptor_(-1), offset_(offset) {
  Briefly file{opened(path_)};
  if (kept.fetch_add(1) < most_kept)
    descriptor_ = std::exchange(file.descriptor, -1);
  else
    kept.fetch_sub(1);
}

File::~File() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  kept.fetch_sub(1);
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      offset_(other.offset_) {}

void File::read(std::int64_t at, void* to, std::size_t count) const {
  const Briefly file{descriptor_ < 0 && count > 0 ? opened(path_) : -1};
  const int descriptor = descriptor_ < 0 ? file.descriptor : descriptor_;
  auto* out = static_cast<char*>(to);
  while (count > 0) {
    const ssize_t got = pread(descriptor, out, count, offset_ + at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category(), path_);
    if (got == 0) throw Damaged(path_ + " is damaged: it ends too early");
    out += got;
    at += got;
    count -= static_cast<std::size_t>(got);
  }
}

}  // namespace shotgun::disk
