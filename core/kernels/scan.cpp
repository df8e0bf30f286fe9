// Scans: neighbouring columns together, or several rows at once where there are no columns.
#include "kernels/scan.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "base/parallel.h"
#include "kernels/sort_keys.h"

namespace rl::kernels {
namespace {

constexpr int64_t kColumns = 1024;  // columns that go together: their sums stay in the cache
constexpr int kRows = 4;            // rows that go together: additions wait for each other in one
constexpr int64_t kGrain = 32768;

template <class T> struct Accumulator { using type = T; };
template <> struct Accumulator<Half> { using type = float; };
template <> struct Accumulator<BFloat16> { using type = float; };
template <> struct Accumulator<float> { using type = double; };
template <> struct Accumulator<std::complex<float>> { using type = std::complex<double>; };

template <class T> inline typename Accumulator<T>::type widen(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return to_float(v);
  else return typename Accumulator<T>::type(v);
}
template <class T> inline T narrow(typename Accumulator<T>::type v) {
  if constexpr (std::is_same_v<T, Half>) return to_half(v);
  else if constexpr (std::is_same_v<T, BFloat16>) return to_bfloat16(v);
  else return T(v);
}

struct Add {
  static constexpr int kStart = 0;
  template <class A> static A combine(A sum, A v) {
    if constexpr (std::is_integral_v<A>) return A(uint64_t(sum) + uint64_t(v));
    else return sum + v;
  }
};
struct Multiply {
  static constexpr int kStart = 1;
  template <class A> static A combine(A product, A v) {
    if constexpr (std::is_integral_v<A>) return A(uint64_t(product) * uint64_t(v));
    else return product * v;
  }
};
struct LogAdd {
  template <class A> static A combine(A sum, A v) {
    const A low = std::isnan(sum) ? sum : std::min(v, sum);
    const A high = std::isnan(sum) ? sum : std::max(v, sum);
    if (low == high && !std::isfinite(low)) return v;
    return std::log1p(std::exp(low - high)) + high;
  }
  template <class R> static std::complex<R> combine(std::complex<R> sum, std::complex<R> v) {
    if (std::isnan(sum.real()) || std::isnan(sum.imag()) || std::isnan(v.real()) ||
        std::isnan(v.imag())) {
      const R nan = std::numeric_limits<R>::quiet_NaN();
      return {nan, nan};
    }
    const bool ordered = v.real() < sum.real();
    const std::complex<R> low = ordered ? v : sum, high = ordered ? sum : v;
    if (std::isinf(low.real()) && low.real() == high.real()) {
      return low.real() > 0 ? std::log(std::exp(low) + std::exp(high)) : v;
    }
    return std::log(R(1) + std::exp(low - high)) + high;
  }
};

template <class T, class Op> typename Accumulator<T>::type start() {
  using A = typename Accumulator<T>::type;
  if constexpr (!std::is_same_v<Op, LogAdd>) {
    return A(Op::kStart);
  } else if constexpr (std::is_floating_point_v<A>) {
    return -std::numeric_limits<A>::infinity();
  } else {
    return A(-std::numeric_limits<typename A::value_type>::infinity(), 0);
  }
}

// `width` columns of one block, rows `inner` apart.
template <class T, class Op>
RL_VECTORISED void scan_columns(const T* x, T* y, int64_t size, int64_t inner, int64_t width) {
  typename Accumulator<T>::type sums[kColumns];
  for (int64_t j = 0; j < width; ++j) sums[j] = start<T, Op>();
  for (int64_t i = 0; i < size; ++i, x += inner, y += inner) {
    for (int64_t j = 0; j < width; ++j) {
      sums[j] = Op::combine(sums[j], widen(x[j]));
      y[j] = narrow<T>(sums[j]);
    }
  }
}

template <class T, class Op, int kCount> void scan_rows(const T* x, T* y, int64_t size) {
  typename Accumulator<T>::type sums[kCount];
#pragma GCC unroll 4
  for (int r = 0; r < kCount; ++r) sums[r] = start<T, Op>();
  for (int64_t i = 0; i < size; ++i) {
#pragma GCC unroll 4
    for (int r = 0; r < kCount; ++r) {
      sums[r] = Op::combine(sums[r], widen(x[r * size + i]));
      y[r * size + i] = narrow<T>(sums[r]);
    }
  }
}

// Calls f(begin, end) over ranges of rows (inner == 1), or f(outer, first column, columns).
template <class F> void for_row_ranges(const Scan& s, F&& f) {
  parallel_for(0, s.outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.size)), f);
}
template <class F> void for_column_blocks(const Scan& s, F&& f) {
  const int64_t blocks = (s.inner + kColumns - 1) / kColumns;
  const int64_t work = s.size * std::min(kColumns, s.inner);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work));
  parallel_for(0, s.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t column = b % blocks * kColumns;
      f(b / blocks, column, std::min(kColumns, s.inner - column));
    }
  });
}

template <class T, class Op> void scan(const Scan& s, const void* from, void* to) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  if (s.inner != 1) {
    return for_column_blocks(s, [&](int64_t outer, int64_t column, int64_t width) {
      const int64_t at = outer * s.size * s.inner + column;
      scan_columns<T, Op>(x + at, y + at, s.size, s.inner, width);
    });
  }
  for_row_ranges(s, [&](int64_t begin, int64_t end) {
    int64_t r = begin;
    for (; r + kRows <= end; r += kRows) {
      scan_rows<T, Op, kRows>(x + r * s.size, y + r * s.size, s.size);
    }
    for (; r < end; ++r) scan_rows<T, Op, 1>(x + r * s.size, y + r * s.size, s.size);
  });
}

// kFlip -1 turns the order of keys, so that the smallest is looked for; NaN stays on top.
template <class T, int kFlip> struct Extreme {
  static KeyOf<T> key(const T& v) {
    const KeyOf<T> k = key_of(v);
    if constexpr (kFlip == 0 || std::is_integral_v<T>) return k ^ kFlip;
    else return k == kNanKey<T> ? k : k ^ kFlip;
  }
};

template <class T, int kFlip>
void extreme_columns(const T* x, T* y, int64_t* index, int64_t size, int64_t inner,
                     int64_t width) {
  KeyOf<T> best[kColumns];
  int64_t place[kColumns];
  T value[kColumns];
  for (int64_t i = 0; i < size; ++i, x += inner, y += inner, index += inner) {
    for (int64_t j = 0; j < width; ++j) {
      const KeyOf<T> key = Extreme<T, kFlip>::key(x[j]);
      if (i == 0 || key >= best[j]) {
        best[j] = key;
        place[j] = i;
        value[j] = element(x[j]);
      }
      y[j] = value[j];
      index[j] = place[j];
    }
  }
}

template <int kFlip>
void extreme(const Scan& s, const void* from, void* to, int64_t* indices) {
  dispatch_sortable(s.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    const T* x = static_cast<const T*>(from);
    T* y = static_cast<T*>(to);
    const auto block = [&](int64_t outer, int64_t column, int64_t width) {
      const int64_t at = outer * s.size * s.inner + column;
      extreme_columns<T, kFlip>(x + at, y + at, indices + at, s.size, s.inner, width);
    };
    if (s.inner != 1) return for_column_blocks(s, block);
    for_row_ranges(s, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) block(r, 0, 1);
    });
  });
}

}  // namespace

void cumsum(const Scan& s, const void* x, void* y) {
  dispatch(s.dtype, [&](auto* p) { scan<pointee<decltype(p)>, Add>(s, x, y); });
}

void cumprod(const Scan& s, const void* x, void* y) {
  dispatch(s.dtype, [&](auto* p) { scan<pointee<decltype(p)>, Multiply>(s, x, y); });
}

void logcumsumexp(const Scan& s, const void* x, void* y) {
  dispatch(s.dtype, [&](auto* p) {
    using T = pointee<decltype(p)>;
    if constexpr (!std::is_integral_v<T>) scan<T, LogAdd>(s, x, y);
  });
}

void cummax(const Scan& s, const void* x, void* y, int64_t* indices) {
  extreme<0>(s, x, y, indices);
}

void cummin(const Scan& s, const void* x, void* y, int64_t* indices) {
  extreme<-1>(s, x, y, indices);
}

}  // namespace rl::kernels
