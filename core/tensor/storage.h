// Storage: the bytes that tensors view, with the version counter that all views share.
#pragma once
#include "base/allocator.h"
#include "base/device.h"
#include "base/error.h"
#include "base/ref.h"

namespace rl {

// Counts the in-place changes of one storage (or of one `.data` alias), and who made the last.
struct Version {
  std::atomic<uint32_t> count{0};
  uint64_t writer = 0;  // origin of the last writer
};
// A counter apart from the storage's: `.data` and its views have one.
struct OwnVersion : Counted, Version {
  static void release(OwnVersion* v) { if (v->let_go()) delete v; }
};

class Storage : public Counted {
 public:
  using Free = void (*)(void* context);

  // Bytes and header in one block; the data is 64-byte aligned and not initialised.
  static Ref<Storage> make(size_t nbytes, Device device);
  // Memory that somebody else owns; `free(context)` runs when the last view is gone.
  static Ref<Storage> wrap(void* data, size_t nbytes, Free free, void* context);
  static void release(Storage* s) { if (s->let_go()) destroy(s); }

  char* data() const { return data_; }
  size_t nbytes() const { return nbytes_; }
  Device device() const { return device_; }
  bool resizable() const { return !free_ && !pins_.load(std::memory_order_relaxed); }
  // While somebody outside has its address, the memory stays where it is.
  void pin() { pins_.fetch_add(1, std::memory_order_relaxed); }
  void unpin() { pins_.fetch_sub(1, std::memory_order_relaxed); }
  void resize(size_t nbytes);  // keeps the bytes that fit
  // Puts other memory under the same storage: shared memory, a swapped parameter.
  void replace(Ref<Storage> other);

  Version version;
  void* owner = nullptr;       // the Python object, if one is alive; set by bind

 private:
  static void destroy(Storage* s);
  void drop_data();

  char* data_ = nullptr;
  size_t nbytes_ = 0;
  size_t block_ = 0;           // bytes of the block that holds the header, and data if it fits
  size_t separate_ = 0;        // bytes of a block of its own that holds the data
  Device device_;
  std::atomic<int> pins_{0};
  Free free_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace rl
