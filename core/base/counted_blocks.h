// Blocks of which a part counts as memory in use: a storage's header is not its tensors'.
#pragma once
#include <cstddef>
#include <cstdint>

namespace rl {

void* allocate_block(size_t n, size_t counted);
void release_block(void* p, size_t n, size_t counted);
void count_bytes(int64_t more);         // of blocks that stay as they are

}  // namespace rl
