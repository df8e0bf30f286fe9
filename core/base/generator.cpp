// The Mersenne Twister's blocks, the saved state's layout and the default generator.
#include "base/generator.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <random>
#include <thread>

namespace rl {

namespace {

// What torch.get_rng_state() holds: the record of Torch7's generator, then what was added later
// (aten/src/ATen/CPUGeneratorImpl.cpp).
struct SavedState {
  uint64_t seed;
  int32_t left, seeded;
  uint64_t next;
  uint64_t words[624];
  double normal_x, normal_y, normal_rho;
  int32_t normal_is_valid, padding;
  float float_normal;
  uint8_t float_normal_is_valid, more_padding[3];
};
static_assert(sizeof(SavedState) == Generator::kStateSize);

// Four words at a time: the recurrence reaches 397 words ahead or 227 back, never closer.
typedef uint32_t Four __attribute__((vector_size(16)));

template <class V> V load(const uint32_t* p) {
  V v;
  std::memcpy(&v, p, sizeof(V));
  return v;
}

template <class V> inline void twist(uint32_t* p, const uint32_t* far) {
  const V u = load<V>(p), v = load<V>(p + 1);
  const V mixed = (u & 0x80000000u) | (v & 0x7fffffffu);
  const V next = load<V>(far) ^ (mixed >> 1) ^ ((V{} - (v & 1u)) & 0x9908b0dfu);
  std::memcpy(p, &next, sizeof(V));
}

}  // namespace

Generator::Generator(const Generator& other)
    : next_normal(other.next_normal), next_float_normal(other.next_float_normal),
      seed_(other.seed_), left_(other.left_), next_(other.next_) {
  std::memcpy(state_, other.state_, sizeof(state_));
}

void Generator::manual_seed(uint64_t seed) {
  seed_ = seed;
  state_[0] = uint32_t(seed);
  for (uint32_t j = 1; j < kWords; ++j) {
    state_[j] = 1812433253u * (state_[j - 1] ^ (state_[j - 1] >> 30)) + j;
  }
  left_ = 1;
  next_ = 0;
  next_normal.reset();
  next_float_normal.reset();
}

uint64_t Generator::seed() {
  std::random_device device;
  const uint64_t high = device();
  const uint64_t seed = high << 32 | device();
  manual_seed(seed);
  return seed;
}

void Generator::next_block() {
  constexpr int kAhead = kWords - kShift;  // 227 words look ahead, the others back
  int j = 0;
  for (; j + 4 <= kAhead; j += 4) twist<Four>(state_ + j, state_ + j + kShift);
  for (; j < kAhead; ++j) twist<uint32_t>(state_ + j, state_ + j + kShift);
  for (; j + 4 <= kWords - 1; j += 4) twist<Four>(state_ + j, state_ + j - kAhead);
  for (; j < kWords - 1; ++j) twist<uint32_t>(state_ + j, state_ + j - kAhead);
  uint32_t last[2] = {state_[j], state_[0]};
  twist<uint32_t>(last, state_ + j - kAhead);
  state_[j] = last[0];
  left_ = kWords;
  next_ = 0;
}

void Generator::random(uint32_t* out, int64_t n) {
  while (n > 0) {
    if (left_ == 1) {
      next_block();
      ++left_;  // next_block leaves one draw taken
    }
    const int64_t take = std::min<int64_t>(n, left_ - 1);
    const uint32_t* from = state_ + next_;
    int64_t i = 0;
    for (; i + 4 <= take; i += 4) {
      Four y = load<Four>(from + i);
      y ^= y >> 11;
      y ^= (y << 7) & 0x9d2c5680u;
      y ^= (y << 15) & 0xefc60000u;
      y ^= y >> 18;
      std::memcpy(out + i, &y, 16);
    }
    for (; i < take; ++i) out[i] = temper(from[i]);
    left_ -= int32_t(take);
    next_ += uint32_t(take);
    out += take;
    n -= take;
  }
}

void Generator::get_state(void* out) const {
  SavedState s{};
  s.seed = seed_;
  s.left = left_;
  s.seeded = 1;
  s.next = next_;
  std::copy(state_, state_ + kWords, s.words);
  s.normal_is_valid = next_normal.has_value();
  s.normal_y = next_normal.value_or(0);
  s.float_normal_is_valid = next_float_normal.has_value();
  s.float_normal = next_float_normal.value_or(0);
  std::memcpy(out, &s, sizeof(s));
}

bool Generator::set_state(const void* from) {
  SavedState s;
  std::memcpy(&s, from, sizeof(s));
  if (!s.seeded || s.left <= 0 || s.left > kWords || uint32_t(s.next) > kWords) return false;
  // The two positions move together; a state where they do not would be read past its end.
  if (s.left > 1 && uint32_t(s.next) + uint32_t(s.left) - 1 > kWords) return false;
  seed_ = s.seed;
  left_ = s.left;
  next_ = uint32_t(s.next);
  std::copy(s.words, s.words + kWords, state_);
  next_normal = s.normal_is_valid ? std::optional<double>(s.normal_y) : std::nullopt;
  next_float_normal =
      s.float_normal_is_valid ? std::optional<float>(s.float_normal) : std::nullopt;
  return true;
}

namespace {

// A thread that draws while another forks is gone in the child, with the lock and with the state
// half changed: the fork waits for it, but not for long. What could not be waited for begins anew.
Generator* drawn_from = nullptr;
constinit thread_local bool held_for_fork = false;

void before_fork() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  while (!(held_for_fork = drawn_from->mutex().try_lock()) &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}
void after_fork_in_parent() {
  if (held_for_fork) drawn_from->mutex().unlock();
}
void after_fork_in_child() {
  new (&drawn_from->mutex()) std::mutex;
  if (!held_for_fork) drawn_from->manual_seed(drawn_from->initial_seed());
}

}  // namespace

Generator& default_generator() {
  static Generator* generator = [] {  // never destroyed: threads may draw while the process ends
    drawn_from = new Generator;
    drawn_from->seed();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return drawn_from;
  }();
  return *generator;
}

}  // namespace rl
