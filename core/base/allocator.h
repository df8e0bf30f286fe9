// The caching allocator: 64-byte aligned blocks by size class, with exact statistics.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rl {

constexpr int kSizeClasses = 160;

struct MemoryStats {
  int64_t allocated, peak;        // bytes in use, and the most there ever were since reset
  int64_t reserved;               // bytes held from the system, in use or cached
  int64_t allocations, releases;  // counts since the process began
};

// Throws Error(Runtime) when the system has no memory.
void* allocate_block(size_t n);
void release_block(void* p, size_t n);  // n as asked for

MemoryStats memory_stats();
void reset_peak_memory();
void empty_cache();                     // gives cached blocks back to the system

// Bytes of blocks beyond 4 KiB that are kept for reuse; what is released beyond goes back to the
// system. At first a quarter of the machine's memory.
int64_t cache_limit();
void set_cache_limit(int64_t bytes);

// Fixed-size objects (tensor bodies, nodes, small storages): a free list per thread, no statistics.
void* allocate_object(size_t n);
void release_object(void* p, size_t n);

}  // namespace rl
