// Storage: allocation in one block with its data, adopted memory, resizing.
#include "tensor/storage.h"

#include <sys/mman.h>

#include <cstring>

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
}  // namespace

Ref<Storage> Storage::make(size_t nbytes, Device device) {
  const size_t block = kHeader + (device.is_meta() ? 0 : nbytes);
  void* p = allocate_block(block);
  Storage* s = new (p) Storage;
  s->data_ = device.is_meta() ? nullptr : static_cast<char*>(p) + kHeader;
  s->nbytes_ = nbytes;
  s->block_ = block;
  s->device_ = device;
  if (__builtin_expect(observed(kObserveMemory), 0)) observe_memory(s, int64_t(nbytes));
  return Ref<Storage>::take(s);
}

Ref<Storage> Storage::wrap(void* data, size_t nbytes, Free free, void* context) {
  void* p = allocate_block(kHeader);
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
  if (separate_) release_block(data_, separate_);
  free_ = nullptr;
  separate_ = 0;
  data_ = nullptr;
}

void Storage::destroy(Storage* s) {
  if (__builtin_expect(observed(kObserveMemory), 0)) observe_memory(s, -int64_t(s->nbytes_));
  s->drop_data();
  const size_t block = s->block_;
  s->~Storage();
  release_block(s, block);
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
    nbytes_ = nbytes;
    return;
  }
  char* fresh = static_cast<char*>(allocate_block(nbytes));
  if (nbytes_) std::memcpy(fresh, data_, nbytes_);
  drop_data();
  data_ = fresh;
  separate_ = nbytes;
  nbytes_ = nbytes;
}

void Storage::replace(Ref<Storage> other) {
  drop_data();
  data_ = other->data_;
  nbytes_ = other->nbytes_;
  context_ = other.leave();
  free_ = [](void* c) { release(static_cast<Storage*>(c)); };
}

}  // namespace rl
