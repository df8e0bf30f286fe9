// Storage: allocation in one block with its data, adopted memory, resizing.
#include "tensor/storage.h"

#include <cstring>

#include "observe/events.h"

namespace rl {
namespace {
constexpr size_t kHeader = (sizeof(Storage) + 63) / 64 * 64;
}

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
  char* fresh = nbytes ? static_cast<char*>(allocate_block(nbytes)) : nullptr;
  const size_t kept = nbytes < nbytes_ ? nbytes : nbytes_;
  if (kept) std::memcpy(fresh, data_, kept);
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
