// PyTorch's CPU generator: the Mersenne Twister, its seeding, its saved state and its default.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace rl {

// MT19937 (Matsumoto and Nishimura 1998) seeded as PyTorch seeds it
// (ATen/core/MT19937RNGEngine.h), so equal seeds give equal draws. Every draw needs the caller to
// hold mutex(): one lock per tensor.
class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr size_t kStateSize = 5056;

  explicit Generator(uint64_t seed = kDefaultSeed) { manual_seed(seed); }
  Generator(const Generator& other);
  Generator& operator=(const Generator&) = delete;

  uint64_t initial_seed() const { return seed_; }
  void manual_seed(uint64_t seed);  // also forgets the cached normal values
  uint64_t seed();                  // manual_seed with 64 bits of the system's; returns them

  uint32_t random() {
    if (--left_ == 0) next_block();
    return temper(state_[next_++]);
  }
  uint64_t random64() {  // high word first
    const uint64_t high = random();
    return high << 32 | random();
  }
  void random(uint32_t* out, int64_t n);  // the next n draws

  // Box-Muller makes two values; the second waits here. Only doubles are ever left by PyTorch's
  // kernels; a float may come with a saved state and goes out with it.
  std::optional<double> next_normal;
  std::optional<float> next_float_normal;

  // The layout of torch.get_rng_state(): kStateSize bytes, little endian, padding zero.
  void get_state(void* out) const;
  bool set_state(const void* from);  // false, and nothing changed, where the state is invalid

  std::mutex& mutex() { return mutex_; }

 private:
  static constexpr int kWords = 624, kShift = 397;
  static uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  void next_block();

  uint64_t seed_;
  int32_t left_;   // draws until the next block, plus one
  uint32_t next_;  // position in state_
  uint32_t state_[kWords];
  std::mutex mutex_;
};

// The one used where none is given: seeded by the system when first asked for.
Generator& default_generator();

}  // namespace rl
