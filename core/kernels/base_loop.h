// Baseline loops for the dtypes that have no vector code, and the objects of the table.
#pragma once
#include "kernels/functors/scalar.h"
#include "kernels/load.h"
#include "kernels/pointwise.h"
#include "kernels/pointwise_table.h"
#include "kernels/vectorised.h"

namespace rl::kernels {

template <class F> inline F functor_of(const Scalar* params) {
  if constexpr (std::is_constructible_v<F, const Scalar*>) return F(params);
  else return F{};
}

template <class T, Output output> struct ResultOf { using type = T; };
template <class T> struct ResultOf<T, Output::Bool> { using type = bool; };
template <class T> struct ResultOf<std::complex<T>, Output::Real> { using type = T; };

template <class F, class R, class A, class T, int arity>
inline void run_strided(const F& f, char* const* data, const int64_t* s, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    R r;
    if constexpr (arity == 1) r = R(f(load<A>(data[1] + i * s[1])));
    if constexpr (arity == 2) r = R(f(load<A>(data[1] + i * s[1]), load<T>(data[2] + i * s[2])));
    if constexpr (arity == 3) {
      r = R(f(load<A>(data[1] + i * s[1]), load<T>(data[2] + i * s[2]),
              load<T>(data[3] + i * s[3])));
    }
    if constexpr (arity == 4) {
      r = R(f(load<A>(data[1] + i * s[1]), load<T>(data[2] + i * s[2]),
              load<T>(data[3] + i * s[3]), load<T>(data[4] + i * s[4])));
    }
    store(data[0] + i * s[0], r);
  }
}

template <template <class> class F, class T, int arity, Output output, bool bool_first>
void base_loop(char* const* data, const int64_t* strides, int64_t n, const Scalar* params) {
  using R = typename ResultOf<T, output>::type;
  using A = std::conditional_t<bool_first, bool, T>;
  run_strided<F<T>, R, A, T, arity>(functor_of<F<T>>(params), data, strides, n);
}

// The same for numbers that lie side by side, one of a pair perhaps a single number: loops
// of known steps, in which the compiler uses vectors. A result is apart from its operands or in
// the very place of one, so there is nothing to wait for from one element to the next.
template <class F, class R, class T, int arity, bool first_one, bool second_one>
RL_WIDE void run_dense(F f, char* const* data, int64_t n) {
  char* const out = data[0];
  const char* const a = data[1];
  if constexpr (arity == 1) {
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
      store(out + i * sizeof(R), R(f(load_parts<T>(a + i * sizeof(T)))));
    }
  } else {
    const char* const b = data[2];
    const T x = load_parts<T>(a), y = load_parts<T>(b);
    RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
      store(out + i * sizeof(R), R(f(first_one ? x : load_parts<T>(a + i * sizeof(T)),
                                     second_one ? y : load_parts<T>(b + i * sizeof(T)))));
    }
  }
}

template <template <class> class F, class T, int arity, Output output>
void wide_loop(char* const* data, const int64_t* s, int64_t n, const Scalar* params) {
  using R = typename ResultOf<T, output>::type;
  constexpr int64_t item = sizeof(T);
  const auto dense = [&](auto first_one, auto second_one) {
    run_dense<F<T>, R, T, arity, first_one, second_one>(functor_of<F<T>>(params), data, n);
  };
  constexpr std::false_type many;
  constexpr std::true_type one;
  if (s[0] != int64_t(sizeof(R)) || n < 8) {
  } else if (arity == 1) {
    if (s[1] == item) return dense(many, many);
  } else if (s[1] == item && s[2] == item) {
    return dense(many, many);
  } else if (s[1] == item && s[2] == 0) {
    return dense(many, one);
  } else if (s[1] == 0 && s[2] == item) {
    return dense(one, many);
  }
  base_loop<F, T, arity, output, false>(data, s, n, params);
}

template <template <class> class F, class T, int arity, Output output, bool bool_first,
          uint64_t types>
constexpr Loop base_loop_if() {
  if constexpr (types & bit(DTypeOf<T>::value)) {
    return &base_loop<F, T, arity, output, bool_first>;
  } else {
    return nullptr;
  }
}

// Fills the baseline of the dtypes in `types`; Float and Double are given: from level 0, or from
// here where a kernel has no vector code.
template <template <class> class F, int arity, Output output, bool bool_first, uint64_t types>
constexpr Pointwise describe(const char* name, float flops, Loop for_float, Loop for_double) {
  Pointwise p{name, arity, output, bool_first, flops, types, {}, {}, {}, {}};
#define RL_FILL(T, N) \
  p.baseline[loop_place(DType::N)] = base_loop_if<F, T, arity, output, bool_first, types>();
  RL_FILL(uint8_t, UInt8) RL_FILL(int8_t, Int8) RL_FILL(int16_t, Int16) RL_FILL(int32_t, Int32)
  RL_FILL(int64_t, Int64) RL_FILL(bool, Bool) RL_FILL(std::complex<float>, ComplexFloat)
  RL_FILL(std::complex<double>, ComplexDouble) RL_FILL(uint64_t, UInt64)
#undef RL_FILL
  if (types & kComplexHalf) {  // computed as complex floats
    p.baseline[int(DType::ComplexHalf)] = p.baseline[int(DType::ComplexFloat)];
  }
  p.baseline[int(DType::Float)] = for_float;
  p.baseline[int(DType::Double)] = for_double;
  return p;
}
// Adds the loops over whole and complex numbers that lie side by side.
template <template <class> class F, int arity, Output output, uint64_t types>
constexpr Pointwise with_wide(Pointwise p) {
#define RL_FILL(T, N)                                         \
  if constexpr ((types & bit(DType::N)) != 0 && arity <= 2) { \
    p.wide[wide_place(DType::N)] = &wide_loop<F, T, arity, output>; \
  }
  RL_FILL(uint8_t, UInt8) RL_FILL(int8_t, Int8) RL_FILL(int16_t, Int16) RL_FILL(int32_t, Int32)
  RL_FILL(int64_t, Int64) RL_FILL(bool, Bool)
  if constexpr (output == Output::Same) {  // magnitudes and angles are calls
    RL_FILL(std::complex<float>, ComplexFloat) RL_FILL(std::complex<double>, ComplexDouble)
  }
#undef RL_FILL
  return p;
}
constexpr Pointwise with_levels(Pointwise p, Loop avx2_float, Loop avx2_double, Loop avx512_float,
                                Loop avx512_double) {
  p.avx2[0] = avx2_float;
  p.avx2[1] = avx2_double;
  p.avx512[0] = avx512_float;
  p.avx512[1] = avx512_double;
  return p;
}

#define RL_DECLARE_LEVEL(level, object)                                                       \
  namespace level {                                                                           \
  void object##_float(char* const*, const int64_t*, int64_t, const Scalar*);                  \
  void object##_double(char* const*, const int64_t*, int64_t, const Scalar*);                 \
  }
#if defined(__x86_64__)
#define RL_LEVELS_OF(object) level1::object##_float, level1::object##_double, \
                             level2::object##_float, level2::object##_double
#define RL_DECLARE_LEVELS(object) \
  RL_DECLARE_LEVEL(level0, object) RL_DECLARE_LEVEL(level1, object) RL_DECLARE_LEVEL(level2, object)
#else
#define RL_LEVELS_OF(object) nullptr, nullptr, nullptr, nullptr
#define RL_DECLARE_LEVELS(object) RL_DECLARE_LEVEL(level0, object)
#endif

#define RL_DEFINE_KERNEL(object, functor, name, arity, output, flops, types, bool_first)       \
  RL_DECLARE_LEVELS(object)                                                                    \
  constinit const Pointwise object = with_levels(                                              \
      describe<fn::functor, arity, Output::output, bool_first, (types) & ~kFloats>(            \
          name, flops, level0::object##_float, level0::object##_double),                       \
      RL_LEVELS_OF(object));
// The same, with wide loops.
#define RL_DEFINE_WIDE_POINTWISE(object, functor, name, arity, output, flops, types)            \
  RL_DECLARE_LEVELS(object)                                                                    \
  constinit const Pointwise object = with_wide<fn::functor, arity, Output::output, (types)>(    \
      with_levels(describe<fn::functor, arity, Output::output, false, (types) & ~kFloats>(      \
                      name, flops, level0::object##_float, level0::object##_double),           \
                  RL_LEVELS_OF(object)));
// A row of the table whose float and double loops are compiled per level, or here only.
#define RL_DEFINE_POINTWISE(object, functor, name, arity, output, flops, types) \
  RL_DEFINE_KERNEL(object, functor, name, arity, output, flops, types, false)
#define RL_DEFINE_SCALAR_POINTWISE(object, functor, name, arity, output, flops, types)             \
  constinit const Pointwise object = describe<fn::functor, arity, Output::output, false, (types)>( \
      name, flops,                                                                                 \
      base_loop_if<fn::functor, float, arity, Output::output, false, (types)>(),                   \
      base_loop_if<fn::functor, double, arity, Output::output, false, (types)>());

}  // namespace rl::kernels
