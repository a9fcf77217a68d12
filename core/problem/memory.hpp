// Memory for packed columns: uninitialised, on cache lines, and on huge pages where the system has
// them (an engine visits columns in any order, and small pages cost it a table walk each time).
#pragma once

#include <cstddef>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace shotgun {

template <class T>
class Memory {
 public:
  explicit Memory(std::size_t count) : alignment_(alignment_of(count * sizeof(T))) {
    if (count == 0) return;
    data_ = static_cast<T*>(::operator new(count * sizeof(T), alignment_));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (alignment_ == huge) madvise(data_, count * sizeof(T), MADV_HUGEPAGE);
#endif
  }
  ~Memory() { ::operator delete(data_, alignment_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  T* data() { return data_; }

 private:
  static constexpr std::align_val_t line{64}, huge{1 << 21};
  static std::align_val_t alignment_of(std::size_t bytes) {
    return bytes >= static_cast<std::size_t>(huge) ? huge : line;
  }
  std::align_val_t alignment_;
  T* data_ = nullptr;
};

}  // namespace shotgun
