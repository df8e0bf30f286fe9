// The loop over one functor at one vector level, for float and double.
#pragma once
#include "kernels/pointwise.h"
#include "kernels/vec.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {

template <class F> RL_INLINE F functor_of(const Scalar* params) {
  if constexpr (__is_constructible(F, const Scalar*)) return F(params);
  else return F{};
}

// An operand: its next register; a broadcast one is read from a register-sized buffer instead,
// which lies outside so that the pointer stays in a register.
template <class V> struct Operand {
  const char* p;
  int64_t step;
  RL_INLINE void open(const char* data, int64_t stride, char* buffer) {
    p = data;
    step = kVectorBytes;
    if (stride == 0) {
      typename V::Element v;
      __builtin_memcpy(&v, data, sizeof v);
      V(v).store(buffer);
      p = buffer;
      step = 0;
    }
  }
  RL_INLINE V next() {
    const V v = V::load(p);
    p += step;
    return v;
  }
  RL_INLINE V rest(int64_t n) const { return V::load_part(p, n); }
};

template <class V> struct Condition {
  const char* p;
  int64_t step;
  RL_INLINE void open(const char* data, int64_t stride, char* buffer) {
    p = data;
    step = V::size;
    if (stride == 0) {
      __builtin_memset(buffer, *data, V::size);
      p = buffer;
      step = 0;
    }
  }
  RL_INLINE typename V::Mask next() {
    const auto m = load_mask<typename V::Element>(p);
    p += step;
    return m;
  }
  RL_INLINE typename V::Mask rest(int64_t n) const {
    return load_mask_part<typename V::Element>(p, n);
  }
};

template <bool yes, class A, class B> struct Either { using type = A; };
template <class A, class B> struct Either<false, A, B> { using type = B; };

template <class T, bool to_bool> struct Result {
  static constexpr int item = to_bool ? 1 : int(sizeof(T));
  template <class R> static RL_INLINE void put(char* p, R r) {
    if constexpr (to_bool) store_mask(p, r);
    else r.store(p);
  }
  template <class R> static RL_INLINE void put_part(char* p, R r, int64_t n) {
    if constexpr (to_bool) store_mask_part<T>(p, r, n);
    else r.store_part(p, n);
  }
};

// The loop itself. `self` is the function that holds it: what tiles come back to.
template <class F, class T, int arity, Output output, bool bool_first, Loop self>
RL_INLINE void pointwise_loop(char* const* data, const int64_t* strides, int64_t n,
                              const Scalar* params) {
  using V = Vec<T>;
  using R = Result<T, output == Output::Bool>;
  if (n > 1) {
    bool dense = strides[0] == R::item;
    for (int k = 1; k <= arity; ++k) {
      dense &= strides[k] == 0 || strides[k] == (bool_first && k == 1 ? 1 : int64_t(sizeof(T)));
    }
    if (__builtin_expect(!dense, 0)) {
      const uint8_t t = sizeof(T);
      const uint8_t sizes[5] = {R::item, bool_first ? uint8_t(1) : t, t, t, t};
      run_in_tiles(self, arity, sizes, data, strides, n, params);
      return;
    }
  }
  const F f = functor_of<F>(params);
  char* out = data[0];
  typename Either<bool_first, Condition<V>, Operand<V>>::type a;
  Operand<V> b, c, d;
  char buffers[arity][kVectorBytes];
  a.open(data[1], strides[1], buffers[0]);
  if constexpr (arity > 1) b.open(data[2], strides[2], buffers[1]);
  if constexpr (arity > 2) c.open(data[3], strides[3], buffers[2]);
  if constexpr (arity > 3) d.open(data[4], strides[4], buffers[3]);
  for (; n >= V::size; n -= V::size, out += V::size * R::item) {
    if constexpr (arity == 1) R::put(out, f(a.next()));
    if constexpr (arity == 2) R::put(out, f(a.next(), b.next()));
    if constexpr (arity == 3) R::put(out, f(a.next(), b.next(), c.next()));
    if constexpr (arity == 4) R::put(out, f(a.next(), b.next(), c.next(), d.next()));
  }
  if (n == 0) return;
  if constexpr (arity == 1) R::put_part(out, f(a.rest(n)), n);
  if constexpr (arity == 2) R::put_part(out, f(a.rest(n), b.rest(n)), n);
  if constexpr (arity == 3) R::put_part(out, f(a.rest(n), b.rest(n), c.rest(n)), n);
  if constexpr (arity == 4) R::put_part(out, f(a.rest(n), b.rest(n), c.rest(n), d.rest(n)), n);
}

// For a row of the pointwise table: mul -> mul_float, mul_double in this level's namespace.
#define RL_LEVEL_LOOP(function, functor, T, arity, output, bool_first)                          \
  void function(char* const* data, const int64_t* strides, int64_t n, const Scalar* params) {   \
    pointwise_loop<fn::functor<Vec<T>>, T, arity, Output::output, bool_first, &function>(       \
        data, strides, n, params);                                                              \
  }
#define RL_LEVEL_LOOPS(object, functor, name, arity, output, flops, types)    \
  RL_LEVEL_LOOP(object##_float, functor, float, arity, output, false)         \
  RL_LEVEL_LOOP(object##_double, functor, double, arity, output, false)

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
