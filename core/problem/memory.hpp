// Memory for packed columns and for what is known of each column: on cache lines, and large blocks
// on huge pages where the system has them. An engine visits columns in any order, and small pages
// cost it a table walk each time; and a fit of many columns would spend more time on asking for
// small pages, one by one, than on filling them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace shotgun {

// In how many parts a matrix of so many bytes may be gone through if each has `own` bytes of its
// own: all of them shall not need more than a quarter of the matrix, and a little.
inline std::int64_t affordable_parts(std::int64_t bytes, std::int64_t own) {
  constexpr std::int64_t little = 1 << 20;
  return std::max<std::int64_t>(1, (bytes / 4 + little) / (own + 1));
}

class Pages {
 public:
  static void* allocate(std::size_t bytes) {
    if (!large(bytes)) return ::operator new(bytes, line);
    bytes = (bytes + page - 1) / page * page;
    void* data = ::operator new(bytes, std::align_val_t{page});
    prefer_huge(data, bytes);
    return data;
  }
  // Huge pages for those of a block that are whole.
  static void prefer_huge([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const auto begin = reinterpret_cast<std::uintptr_t>(data), first = (begin + page - 1) / page,
               last = (begin + bytes) / page;
    if (first < last)
      madvise(reinterpret_cast<void*>(first * page), (last - first) * page, MADV_HUGEPAGE);
#endif
  }
  static void release(void* data, std::size_t bytes) {
    ::operator delete(data, large(bytes) ? std::align_val_t{page} : line);
  }

 private:
  static constexpr std::size_t page = std::size_t{1} << 21;
  static constexpr std::align_val_t line{64};
  static bool large(std::size_t bytes) { return bytes >= page / 2; }
};

// Uninitialised.
template <class T>
class Memory {
 public:
  explicit Memory(std::size_t count)
      : count_(count), data_(static_cast<T*>(Pages::allocate(count * sizeof(T)))) {}
  ~Memory() { Pages::release(data_, count_ * sizeof(T)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  T* data() { return data_; }

 private:
  std::size_t count_;
  T* data_;
};

template <class T>
struct PagesAllocator {
  using value_type = T;
  PagesAllocator() = default;
  template <class U>
  PagesAllocator(const PagesAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(Pages::allocate(count * sizeof(T))); }
  // What is not given a value has none: pages are first touched by the thread that fills them.
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
  void deallocate(T* data, std::size_t count) { Pages::release(data, count * sizeof(T)); }
  bool operator==(const PagesAllocator&) const { return true; }
};

// A number for every column; uninitialised unless a value is given.
template <class T>
using PerColumn = std::vector<T, PagesAllocator<T>>;

}  // namespace shotgun
