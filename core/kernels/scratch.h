// Working memory of kernels: per thread, aligned to 64 bytes, kept between calls.
#pragma once
#include <cstddef>

namespace rl::kernels {

// One buffer per use, so that a kernel may hold several at once.
enum class Scratch : int { PackA, PackB, Image, Column, Planes, Result, Convert, Count };
void* scratch(Scratch use, size_t bytes);  // contents undefined; valid until the next such call

}  // namespace rl::kernels
