// Moves and sums of elements at places read from an array of indices.
#include "kernels/indexing.h"

#include "kernels/copy.h"
#include "kernels/load.h"
#include "kernels/vectorised.h"

namespace rl::kernels {
namespace {

struct Pair { uint64_t low, high; };  // an item of 16 bytes

template <class F> void by_size(int64_t size, F&& f) {
  switch (size) {
    case 1: return f(static_cast<uint8_t*>(nullptr));
    case 2: return f(static_cast<uint16_t*>(nullptr));
    case 4: return f(static_cast<uint32_t*>(nullptr));
    case 8: return f(static_cast<uint64_t*>(nullptr));
    default: return f(static_cast<Pair*>(nullptr));
  }
}

int64_t place(const char* places, int64_t stride, int64_t i) {
  return *reinterpret_cast<const int64_t*>(places + i * stride);
}

template <class T> auto wide(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return to_float(v);
  else return v;
}
template <class T, class V> T narrow(V v) {
  if constexpr (std::is_same_v<T, Half>) return to_half(v);
  else if constexpr (std::is_same_v<T, BFloat16>) return to_bfloat16(v);
  else return T(v);
}

template <class T> constexpr bool is_complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

struct Add {
  template <class V> static V apply(V a, V b) {
    if constexpr (std::is_same_v<V, bool>) return a || b;
    else return V(a + b);
  }
};
struct Multiply {
  template <class V> static V apply(V a, V b) {
    if constexpr (std::is_same_v<V, bool>) return a && b;
    else return V(a * b);
  }
};
struct Max {
  template <class V> static V apply(V a, V b) { return a != a || a > b ? a : b; }
};
struct Min {
  template <class V> static V apply(V a, V b) { return a != a || a < b ? a : b; }
};

template <class T, class Op> RL_VECTORISED void combine_dense(T* to, const T* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] = narrow<T>(Op::apply(wide(element(to[i])), wide(element(from[i]))));
  }
}

template <class T, class Op>
void combine_run(char* out, int64_t out_stride, const char* in, int64_t in_stride,
                 const char* places, int64_t places_stride, int64_t step, int64_t n) {
  const auto one = [](char* to, const char* from) {
    store(to, narrow<T>(Op::apply(wide(load<T>(to)), wide(load<T>(from)))));
  };
  if (places_stride == 0) {
    out += place(places, 0, 0) * step;
    if (out_stride == int64_t(sizeof(T)) && in_stride == out_stride) {
      combine_dense<T, Op>(reinterpret_cast<T*>(out), reinterpret_cast<const T*>(in), n);
      return;
    }
    for (int64_t i = 0; i < n; ++i) one(out + i * out_stride, in + i * in_stride);
    return;
  }
  if (out_stride == 0 && step == int64_t(sizeof(T)) && in_stride == step &&
      places_stride == int64_t(sizeof(int64_t))) {
    const int64_t* at = reinterpret_cast<const int64_t*>(places);
    for (int64_t i = 0; i < n; ++i) one(out + at[i] * step, in + i * in_stride);
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    one(out + i * out_stride + place(places, places_stride, i) * step, in + i * in_stride);
}

template <class T> bool is_nonzero(T v) {
  if constexpr (is_complex_type<T>) return v.real() != 0 || v.imag() != 0;
  else return wide(v) != 0;
}

}  // namespace

namespace {

// Its sign bit gathers that of every difference: negative where some index is outside.
RL_VECTORISED int64_t outside_bits(const int64_t* p, int64_t n, int64_t low, int64_t high) {
  uint64_t bad = 0;
  for (int64_t i = 0; i < n; ++i)
    bad |= (uint64_t(p[i]) - uint64_t(low)) | (uint64_t(high - 1) - uint64_t(p[i]));
  return int64_t(bad);
}

}  // namespace

int64_t first_outside(const char* index, int64_t stride, int64_t n, int64_t low, int64_t high) {
  constexpr int64_t kBlock = 1024;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    int64_t bad = 0;  // its sign bit gathers that of every difference
    if (stride == int64_t(sizeof(int64_t))) {
      bad = outside_bits(reinterpret_cast<const int64_t*>(index) + begin, end - begin, low, high);
    } else {
      for (int64_t i = begin; i < end; ++i) {
        const uint64_t v = uint64_t(place(index, stride, i));
        bad |= int64_t(v - uint64_t(low)) | int64_t(uint64_t(high - 1) - v);
      }
    }
    if (bad >= 0) continue;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t v = place(index, stride, i);
      if (v < low || v >= high) return i;
    }
  }
  return -1;
}

void gather_items(char* out, int64_t out_stride, const char* in, int64_t in_stride,
                  const char* places, int64_t places_stride, int64_t step, int64_t n,
                  int64_t size) {
  if (places_stride == 0) {
    copy_items(out, out_stride, in + place(places, 0, 0) * step, in_stride, n, size);
    return;
  }
  by_size(size, [&](auto* p) {
    using T = pointee<decltype(p)>;
    if (out_stride == int64_t(sizeof(T)) && places_stride == int64_t(sizeof(int64_t))) {
      const int64_t* at = reinterpret_cast<const int64_t*>(places);
      T* to = reinterpret_cast<T*>(out);
      if (in_stride == 0 && step == int64_t(sizeof(T))) {
        const T* from = reinterpret_cast<const T*>(in);
        for (int64_t i = 0; i < n; ++i) to[i] = from[at[i]];
        return;
      }
      for (int64_t i = 0; i < n; ++i) to[i] = load<T>(in + i * in_stride + at[i] * step);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = place(places, places_stride, i) * step;
      store(out + i * out_stride, load<T>(in + i * in_stride + at));
    }
  });
}

bool gather_row(char* out, const char* row, int64_t length, const int64_t* places, int64_t n,
                int64_t size) {
  bool outside = false;
  by_size(size, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for (int64_t i = 0; i < n; ++i) {
      const bool inside = uint64_t(places[i]) < uint64_t(length);
      reinterpret_cast<T*>(out)[i] = reinterpret_cast<const T*>(row)[inside ? places[i] : 0];
      outside |= !inside;
    }
  });
  return !outside;
}

void scatter_items(char* out, int64_t out_stride, const char* in, int64_t in_stride,
                   const char* places, int64_t places_stride, int64_t step, int64_t n,
                   int64_t size) {
  if (places_stride == 0) {
    copy_items(out + place(places, 0, 0) * step, out_stride, in, in_stride, n, size);
    return;
  }
  by_size(size, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = place(places, places_stride, i) * step;
      store(out + i * out_stride + at, load<T>(in + i * in_stride));
    }
  });
}

void combine_items(Combine how, DType dtype, char* out, int64_t out_stride, const char* in,
                   int64_t in_stride, const char* places, int64_t places_stride, int64_t step,
                   int64_t n) {
  dispatch(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    const auto run = [&](auto op) {
      combine_run<T, decltype(op)>(out, out_stride, in, in_stride, places, places_stride, step, n);
    };
    if (how == Combine::Add) return run(Add());
    if (how == Combine::Multiply) return run(Multiply());
    if constexpr (!is_complex_type<T>) {
      if (how == Combine::Max) run(Max());
      else run(Min());
    }
  });
}

int64_t count_nonzero(DType dtype, const char* in, int64_t stride, int64_t n) {
  int64_t count = 0;
  if (dtype == DType::Bool && stride == 1) {
    for (int64_t begin = 0; begin < n; begin += 128) {  // sums of a byte that cannot overflow
      uint8_t some = 0;
      for (int64_t i = begin; i < (begin + 128 < n ? begin + 128 : n); ++i) some += in[i] != 0;
      count += some;
    }
    return count;
  }
  dispatch(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for (int64_t i = 0; i < n; ++i) count += is_nonzero(load<T>(in + i * stride));
  });
  return count;
}

// Writes each candidate and moves on only past the right ones: no branch to foresee.
void list_nonzero(DType dtype, const char* in, int64_t stride, int64_t count, int64_t first,
                  int64_t* out) {
  dispatch(dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    for (int64_t i = 0, k = 0; k < count; ++i) {
      out[k] = first + i;
      k += is_nonzero(load<T>(in + i * stride));
    }
  });
}

void select_items(char* out, const char* in, const char* mask, int64_t count, int64_t size) {
  by_size(size, [&](auto* p) {
    using T = pointee<decltype(p)>;
    T* to = reinterpret_cast<T*>(out);
    const T* from = reinterpret_cast<const T*>(in);
    for (int64_t i = 0, k = 0; k < count; ++i) {
      to[k] = from[i];
      k += mask[i] != 0;
    }
  });
}

}  // namespace rl::kernels
