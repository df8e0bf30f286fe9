// Storage: allocation in one block with its data, adopted memory, resizing.
#include "tensor/storage.h"

#include <sys/mman.h>

#include <cstring>

#include "base/counted_blocks.h"
#include "observe/events.h"

namespace rl {
namespace {
constexpr size_t kHeader = (sizeof(Storage) + 63) / 64 * 64;

// Gives the whole pages of a range back to the system; whoever reads there again finds zeros.
void forget(char* begin, char* end) {
  constexpr uintptr_t kPage = 4096, kWorthIt = 1 << 16;
  const uintptr_t first = (uintptr_t(begin) + kPage - 1) & ~(kPage - 1);
  const uintptr_t last = uintptr_t(end) & ~(kPage - 1);
  if (first + kWorthIt > last) return;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}
void tell(Storage* s, int64_t bytes) {
  if (__builtin_expect(observed(kObserveMemory), 0) && bytes) observe_memory(s, bytes);
}
}  // namespace

Ref<Storage> Storage::make(size_t nbytes, Device device) {
  const size_t block = kHeader + (device.is_meta() ? 0 : nbytes);
  const size_t counted = device.is_meta() ? 0 : nbytes;
  void* p = allocate_block(block, counted);
  Storage* s = new (p) Storage;
  s->data_ = device.is_meta() ? nullptr : static_cast<char*>(p) + kHeader;
  s->nbytes_ = nbytes;
  s->block_ = block;
  s->device_ = device;
  tell(s, int64_t(counted));
  return Ref<Storage>::take(s);
}

Ref<Storage> Storage::wrap(void* data, size_t nbytes, Free free, void* context) {
  void* p = allocate_block(kHeader, 0);
  Storage* s = new (p) Storage;
  s->data_ = static_cast<char*>(data);
  s->nbytes_ = nbytes;
  s->block_ = kHeader;
  s->free_ = free;
  s->context_ = context;
  return Ref<Storage>::take(s);
}

void Storage::drop_data() {
  if (free_) free_(context_);
  if (separate_) release_block(data_, separate_, 0);
  free_ = nullptr;
  separate_ = 0;
  data_ = nullptr;
}

void Storage::destroy(Storage* s) {
  const size_t counted = s->free_ || s->device_.is_meta() ? 0 : s->nbytes_;
  tell(s, -int64_t(counted));
  s->drop_data();
  const size_t block = s->block_;
  s->~Storage();
  release_block(s, block, counted);
}

void Storage::resize(size_t nbytes) {
  check(resizable(), "Trying to resize storage that is not resizable");
  if (device_.is_meta() || nbytes == nbytes_) {
    nbytes_ = nbytes;
    return;
  }
  const size_t room = separate_ ? separate_ : block_ - kHeader;
  if (nbytes <= room) {
    // The block stays: views may reach beyond the new size, and must not read what others own.
    if (nbytes < nbytes_) forget(data_ + nbytes, data_ + room);
  } else {
    char* fresh = static_cast<char*>(allocate_block(nbytes, 0));
    if (nbytes_) std::memcpy(fresh, data_, nbytes_);
    drop_data();
    data_ = fresh;
    separate_ = nbytes;
  }
  const int64_t more = int64_t(nbytes) - int64_t(nbytes_);
  nbytes_ = nbytes;
  count_bytes(more);
  tell(this, more);
}

void Storage::replace(Ref<Storage> other) {
  const int64_t own = free_ || device_.is_meta() ? 0 : int64_t(nbytes_);
  count_bytes(-own);
  tell(this, -own);
  drop_data();
  data_ = other->data_;
  nbytes_ = other->nbytes_;
  context_ = other.leave();
  free_ = [](void* c) { release(static_cast<Storage*>(c)); };
}

}  // namespace rl
