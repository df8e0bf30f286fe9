// Reductions over all element types: tiles of the accumulator's type, folded by vector code.
#include "kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "base/level.h"
#include "kernels/cast.h"
#include "kernels/load.h"
#include "kernels/reduce_level.h"
#include "kernels/vectorised.h"

namespace rl::kernels {
namespace {

const DenseFolds& folds() {
#if defined(__x86_64__)
  const Level level = cpu_level();
  if (level == Level::Avx512) return level2::dense_folds;
  if (level == Level::Avx2) return level1::dense_folds;
#endif
  return level0::dense_folds;
}

constexpr int64_t kTile = 1024;  // elements

// The accumulators without vector code of the levels: int64 and complex.
template <Fold fold, class T> inline __attribute__((always_inline)) T take(T sum, T x) {
  if constexpr (std::is_same_v<T, int64_t>) {
    const uint64_t s = uint64_t(sum), u = uint64_t(x);
    const int64_t a = int64_t(x < 0 ? 0 - u : u);
    switch (fold) {
      case Fold::Prod: return int64_t(s * u);
      case Fold::SumSquares: return int64_t(s + u * u);
      case Fold::SumAbs: return int64_t(s + uint64_t(a));
      case Fold::Max: return sum > x ? sum : x;
      case Fold::Min: return sum < x ? sum : x;
      case Fold::MaxAbs: return sum > a ? sum : a;
      case Fold::MinAbs: return sum < a ? sum : a;
      default: return int64_t(s + u);
    }
  } else {
    if (fold != Fold::Prod) return sum + x;
    return T(sum.real() * x.real() - sum.imag() * x.imag(),
             sum.real() * x.imag() + sum.imag() * x.real());
  }
}
template <class F> void by_fold(Fold fold, F&& f) {
  switch (fold) {
#define RL_FOLD(name) \
  case Fold::name: return f(std::integral_constant<Fold, Fold::name>());
    RL_FOLD(Prod) RL_FOLD(SumSquares) RL_FOLD(SumAbs) RL_FOLD(Max) RL_FOLD(Min) RL_FOLD(MaxAbs)
    RL_FOLD(MinAbs)
#undef RL_FOLD
    default: return f(std::integral_constant<Fold, Fold::Sum>());
  }
}

template <Fold fold> RL_WIDE int64_t fold_wide(int64_t sum, const int64_t* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum = take<fold>(sum, in[i]);
  return sum;
}
template <Fold fold>
RL_WIDE void fold_row_wide(int64_t* sums, const int64_t* in, int64_t n) {
  RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) sums[i] = take<fold>(sums[i], in[i]);
}
template <Fold fold>
RL_WIDE void fold_four_rows_wide(int64_t* sums, const int64_t* in, int64_t step, int64_t n) {
  const int64_t *b = in + step, *c = b + step, *d = c + step;
  RL_INDEPENDENT for (int64_t i = 0; i < n; ++i) {
    const int64_t two = take<fold>(take<fold>(sums[i], in[i]), b[i]);
    sums[i] = take<fold>(take<fold>(two, c[i]), d[i]);
  }
}

// Sums of eight elements apart, of the real and the imaginary parts, and then pairwise.
template <class T>
inline __attribute__((always_inline)) std::complex<T> sum_parts(const std::complex<T>* in,
                                                                int64_t n) {
  constexpr int kParts = 16;
  const T* const parts = reinterpret_cast<const T*>(in);
  T sums[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= 2 * n; i += kParts) {
    for (int k = 0; k < kParts; ++k) sums[k] += parts[i + k];
  }
  for (; i < 2 * n; ++i) sums[i % kParts] += parts[i];
  for (int half = kParts / 2; half > 1; half /= 2) {
    for (int k = 0; k < half; ++k) sums[k] += sums[k + half];
  }
  return {sums[0], sums[1]};
}
template <class T> RL_VECTORISED std::complex<T> sum_apart(const std::complex<T>* in, int64_t n) {
  return sum_parts(in, n);
}
template <class T> RL_WIDE std::complex<T> sum_apart_wide(const std::complex<T>* in, int64_t n) {
  return sum_parts(in, n);
}
template <class T> T sum_pairwise(const T* in, int64_t n) {
  if (n <= 256) return (cpu_level() >= kWideLevel ? sum_apart_wide<typename T::value_type>
                                                  : sum_apart<typename T::value_type>)(in, n);
  return sum_pairwise(in, n / 2) + sum_pairwise(in + n / 2, n - n / 2);
}

template <class T> T fold_plain(Fold fold, T sum, const T* in, int64_t n) {
  if constexpr (!std::is_same_v<T, int64_t>) {
    if (fold != Fold::Prod) return sum + sum_pairwise(in, n);
  }
  by_fold(fold, [&](auto chosen) {
    if constexpr (std::is_same_v<T, int64_t>) {
      if (cpu_level() >= kWideLevel) {
        sum = fold_wide<chosen()>(sum, in, n);
        return;
      }
    }
    for (int64_t i = 0; i < n; ++i) sum = take<chosen()>(sum, in[i]);
  });
  return sum;
}
template <class T>
void fold_rows_plain(Fold fold, T* sums, const char* in, int64_t rows, int64_t row_stride,
                     int64_t n) {
  by_fold(fold, [&](auto chosen) {
    int64_t r = 0;
    const auto row = [&] { return (const T*)(in + r * row_stride); };
    if constexpr (std::is_same_v<T, int64_t>) {
      if (cpu_level() >= kWideLevel) {
        const int64_t step = row_stride / int64_t(sizeof(T));
        for (; r + 4 <= rows; r += 4) fold_four_rows_wide<chosen()>(sums, row(), step, n);
        for (; r < rows; ++r) fold_row_wide<chosen()>(sums, row(), n);
      }
    }
    for (; r < rows; ++r) {
      for (int64_t i = 0; i < n; ++i) sums[i] = take<chosen()>(sums[i], row()[i]);
    }
  });
}
template <class T> void power_of(T* x, int64_t n, double p) {
  for (int64_t i = 0; i < n; ++i) x[i] = std::pow(std::abs(x[i]), T(p));
}

// Folds rows of n dense elements of the accumulator's type into an accumulator each.
void fold_dense(Fold fold, DType type, char* out, const char* in, int64_t rows, int64_t row_stride,
                int64_t n, double p) {
  switch (type) {
    case DType::Float:
      return folds().rows_float(fold, (float*)out, in, rows, row_stride, n, float(p));
    case DType::Double: return folds().rows_double(fold, (double*)out, in, rows, row_stride, n, p);
    default: break;
  }
  const auto plain = [&](auto* none) {
    using T = pointee<decltype(none)>;
    T* const sums = (T*)out;
    for (int64_t r = 0; r < rows; ++r) {
      sums[r] = fold_plain<T>(fold, sums[r], (const T*)(in + r * row_stride), n);
    }
  };
  if (type == DType::Int64) plain((int64_t*)nullptr);
  else if (type == DType::ComplexFloat) plain((std::complex<float>*)nullptr);
  else plain((std::complex<double>*)nullptr);
}

// Elements brought into the accumulator's type; counts take them as 0 and 1.
struct Loader {
  Fold fold;
  DType type;
  DType accumulator;
  double p;
  Cast to_bool, convert;
  Loader(Fold f, DType t, double power)
      : fold(f), type(t), accumulator(accumulator_of(f, t)), p(power),
        to_bool(f == Fold::CountNonzero ? cast(t, DType::Bool) : nullptr),
        convert(cast(to_bool ? DType::Bool : t, accumulator)) {}
  bool direct(int64_t stride) const {
    return type == accumulator && !to_bool && fold != Fold::SumPowers &&
           stride == item_size(type);
  }
  void load(char* tile, const char* in, int64_t n, int64_t stride) const {
    const int64_t size = item_size(accumulator);
    if (to_bool) {
      char bytes[kTile];
      to_bool(bytes, 1, in, stride, n);
      convert(tile, size, bytes, 1, n);
      return;
    }
    convert(tile, size, in, stride, n);
    if (fold == Fold::SumPowers) {
      if (accumulator == DType::Float) power_of((float*)tile, n, p);
      else if (accumulator == DType::Double) power_of((double*)tile, n, p);
    }
  }
  Fold folded() const { return fold == Fold::SumPowers ? Fold::Sum : fold; }
};

template <class T> T begin_of(Fold fold) {
  constexpr bool real = !std::is_same_v<T, std::complex<float>> &&
                        !std::is_same_v<T, std::complex<double>>;
  if (fold == Fold::Prod) return T(1);
  if constexpr (real) {
    using L = std::numeric_limits<T>;
    if (fold == Fold::Max) return L::has_infinity ? -L::infinity() : L::lowest();
    if (fold == Fold::Min || fold == Fold::MinAbs) {
      return L::has_infinity ? L::infinity() : L::max();
    }
  }
  return T(0);
}
template <class F> void by_accumulator(DType type, F&& f) {
  switch (type) {
    case DType::Float: return f((float*)nullptr);
    case DType::Double: return f((double*)nullptr);
    case DType::Int64: return f((int64_t*)nullptr);
    case DType::ComplexFloat: return f((std::complex<float>*)nullptr);
    default: return f((std::complex<double>*)nullptr);
  }
}
// The fold that joins accumulators: sums add, and extrema of absolutes are not taken twice.
Fold joining(Fold fold) {
  switch (fold) {
    case Fold::Prod: case Fold::Max: case Fold::Min: return fold;
    case Fold::MaxAbs: return Fold::Max;
    case Fold::MinAbs: return Fold::Min;
    default: return Fold::Sum;
  }
}

// Folds rows of the accumulator's type into a dense row of accumulators.
void fold_dense_columns(Fold fold, DType type, char* out, const char* in, int64_t rows,
                        int64_t row_stride, int64_t columns, double p) {
  if (type == DType::Float) {
    return folds().columns_float(fold, (float*)out, (const float*)in, rows, row_stride, columns,
                                 nullptr, float(p));
  }
  if (type == DType::Double) {
    return folds().columns_double(fold, (double*)out, (const double*)in, rows, row_stride,
                                  columns, nullptr, p);
  }
  by_accumulator(type, [&](auto* none) {
    using T = pointee<decltype(none)>;
    if constexpr (!std::is_floating_point_v<T>) {
      fold_rows_plain(fold, (T*)out, in, rows, row_stride, columns);
    }
  });
}

// How many of n bools are true: eight at a time, 255 rounds before a byte could overflow.
int64_t count_true(const char* in, int64_t n) {
  constexpr uint64_t kEven = 0x00ff00ff00ff00ffull;
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7full, kOnes = 0x0101010101010101ull;
  int64_t total = 0;
  while (n >= 8) {
    const int64_t rounds = std::min<int64_t>(n / 8, 255);
    uint64_t bytes = 0;
    for (int64_t i = 0; i < rounds; ++i) {
      uint64_t word;
      std::memcpy(&word, in + i * 8, 8);
      bytes += (((word & kLow) + kLow) | word) >> 7 & kOnes;  // 1 where a byte is not 0
    }
    const uint64_t pairs = (bytes & kEven) + ((bytes >> 8) & kEven);
    total += int64_t((pairs * 0x0001000100010001ull) >> 48);
    in += rounds * 8;
    n -= rounds * 8;
  }
  for (int64_t i = 0; i < n; ++i) total += in[i] != 0;
  return total;
}

// Sums of smaller whole numbers and counts of any elements, read where they lie.
template <class T> RL_WIDE int64_t sum_wide(const char* in, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += int64_t(load<T>(in + i * int64_t(sizeof(T))));
  return sum;
}
template <class T> RL_WIDE int64_t count_wide(const char* in, int64_t n) {
  int64_t count = 0;
  for (int64_t begin = 0; begin < n; begin += 64) {
    const int64_t width = std::min<int64_t>(64, n - begin);
    std::conditional_t<sizeof(T) == 8, int64_t, int32_t> some = 0;
    for (int64_t i = begin; i < begin + width; ++i) {
      some += load<T>(in + i * int64_t(sizeof(T))) != T(0);
    }
    count += some;
  }
  return count;
}
using Count = int64_t (*)(const char* in, int64_t n);
// The loop over dense elements of t that needs no tiles, or null.
Count count_of(Fold fold, DType t) {
  if (t == DType::Bool && (fold == Fold::Sum || fold == Fold::CountNonzero)) return count_true;
  if (cpu_level() < kWideLevel) return nullptr;
  const bool sums = fold == Fold::Sum;
  if (!sums && fold != Fold::CountNonzero) return nullptr;
  switch (t) {
    case DType::UInt8: return sums ? sum_wide<uint8_t> : count_wide<uint8_t>;
    case DType::Int8: return sums ? sum_wide<int8_t> : count_wide<int8_t>;
    case DType::Int16: return sums ? sum_wide<int16_t> : count_wide<int16_t>;
    case DType::Int32: return sums ? sum_wide<int32_t> : count_wide<int32_t>;
    case DType::Int64: return sums ? nullptr : count_wide<int64_t>;
    case DType::Float: return sums ? nullptr : count_wide<float>;
    case DType::Double: return sums ? nullptr : count_wide<double>;
    default: return nullptr;
  }
}

}  // namespace

void fold_begin(Fold fold, DType accumulator, char* out, int64_t n) {
  by_accumulator(accumulator, [&](auto* none) {
    using T = pointee<decltype(none)>;
    std::fill_n((T*)out, n, begin_of<T>(fold));
  });
}

void fold_rows(Fold fold, DType t, char* out, const char* in, int64_t rows, int64_t row_stride,
               int64_t n, int64_t stride, double p) {
  const Loader loader(fold, t, p);
  const int64_t size = item_size(loader.accumulator);
  const Count count_dense = stride == item_size(t) ? count_of(fold, t) : nullptr;
  if (!count_dense && loader.direct(stride)) {
    return fold_dense(fold, t, out, in, rows, row_stride, n, p);
  }
  alignas(64) char tile[kTile * 16];
  for (int64_t i = 0; i < rows; ++i, in += row_stride, out += size) {
    if (count_dense) {
      *(int64_t*)out += count_dense(in, n);
      continue;
    }
    for (int64_t k = 0; k < n; k += kTile) {
      const int64_t count = std::min(kTile, n - k);
      if (loader.to_bool) {
        loader.to_bool(tile, 1, in + k * stride, stride, count);
        *(int64_t*)out += count_true(tile, count);
        continue;
      }
      loader.load(tile, in + k * stride, count, stride);
      fold_dense(loader.folded(), loader.accumulator, out, tile, 1, 0, count, p);
    }
  }
}

void fold_columns(Fold fold, DType t, char* out, const char* in, int64_t rows, int64_t row_stride,
                  int64_t columns, int64_t stride, double p) {
  const Loader loader(fold, t, p);
  if (loader.direct(stride)) {
    return fold_dense_columns(fold, t, out, in, rows, row_stride, columns, p);
  }
  const int64_t size = item_size(loader.accumulator);
  constexpr int64_t kHeight = 64, kWidth = 256;  // a tile of rows, so that sums stay pairwise
  alignas(64) char tile[kHeight * kWidth * 16];
  for (int64_t j = 0; j < columns; j += kWidth) {
    const int64_t width = std::min(kWidth, columns - j);
    for (int64_t r = 0; r < rows; r += kHeight) {
      const int64_t height = std::min(kHeight, rows - r);
      for (int64_t k = 0; k < height; ++k) {
        loader.load(tile + k * width * size, in + (r + k) * row_stride + j * stride, width, stride);
      }
      fold_dense_columns(loader.folded(), loader.accumulator, out + j * size, tile, height,
                         width * size, width, p);
    }
  }
}

void fold_merge(Fold fold, DType accumulator, char* out, const char* other, int64_t n) {
  fold_dense_columns(joining(fold), accumulator, out, other, 1, 0, n, 0);
}

namespace {

template <class T> auto comparable(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return to_float(v);
  else return v;
}
template <class T> bool beats(bool largest, T a, T b) {  // a over an earlier b
  if (b != b) return false;
  return a != a || (largest ? a > b : a < b);
}
template <class F> void by_real_type(DType t, F&& f) {
  dispatch(t, [&](auto* none) {
    using T = pointee<decltype(none)>;
    if constexpr (!std::is_same_v<T, std::complex<float>> &&
                  !std::is_same_v<T, std::complex<double>>) {
      f(none);
    }
  });
}

}  // namespace

int64_t arg_extreme(DType t, bool largest, const char* in, int64_t n, int64_t stride) {
  if ((t == DType::Float || t == DType::Double) && stride == item_size(t) && n >= 16) {
    const Fold fold = largest ? Fold::Max : Fold::Min;
    double value;  // or a float
    fold_begin(fold, t, (char*)&value, 1);
    fold_dense(fold, t, (char*)&value, in, 1, 0, n, 0);
    if (t == DType::Float) {
      return folds().find_float((const float*)in, n, load<float>((char*)&value));
    }
    return folds().find_double((const double*)in, n, value);
  }
  int64_t best = 0;
  by_real_type(t, [&](auto* none) {
    using T = pointee<decltype(none)>;
    auto value = comparable(load<T>(in));
    for (int64_t i = 1; i < n; ++i) {
      const auto x = comparable(load<T>(in + i * stride));
      if (beats(largest, x, value)) {
        value = x;
        best = i;
      }
    }
  });
  return best;
}

namespace {

// A row of elements against the best so far, without branches: vector code.
template <bool largest, class C, class I>
RL_WIDE void keep_best(C* best, I* index, const C* x, int64_t width, I row) {
  RL_INDEPENDENT for (int64_t j = 0; j < width; ++j) {
    const C v = x[j], b = best[j];
    const bool beyond = largest ? v > b : v < b;
    const bool wins = beyond | ((v != v) & (b == b));  // the first NaN stays
    best[j] = wins ? v : b;
    index[j] = wins ? row : index[j];
  }
}

template <class T, class I>
void best_of_columns(bool largest, int64_t* indices, const char* in, int64_t rows,
                     int64_t row_stride, int64_t columns, int64_t stride) {
  using C = decltype(comparable(T()));
  constexpr int64_t kWidth = 256;
  C best[kWidth], row[kWidth];
  I index[kWidth];
  const auto load_row = [&](C* to, const char* x, int64_t width) {
    for (int64_t j = 0; j < width; ++j) to[j] = comparable(load<T>(x + j * stride));
  };
  for (int64_t begin = 0; begin < columns; begin += kWidth) {
    const int64_t width = std::min(kWidth, columns - begin);
    const char* const x = in + begin * stride;
    load_row(best, x, width);
    std::fill_n(index, width, I(0));
    for (int64_t r = 1; r < rows; ++r) {
      load_row(row, x + r * row_stride, width);
      if (cpu_level() < kWideLevel) {
        for (int64_t j = 0; j < width; ++j) {
          if (!beats(largest, row[j], best[j])) continue;
          best[j] = row[j];
          index[j] = I(r);
        }
      } else if (largest) {
        keep_best<true>(best, index, row, width, I(r));
      } else {
        keep_best<false>(best, index, row, width, I(r));
      }
    }
    std::copy_n(index, width, indices + begin);
  }
}

}  // namespace

void arg_extreme_columns(DType t, bool largest, int64_t* indices, const char* in, int64_t rows,
                         int64_t row_stride, int64_t columns, int64_t stride) {
  by_real_type(t, [&](auto* none) {
    using T = pointee<decltype(none)>;
    if (sizeof(comparable(T())) <= 4 && rows <= std::numeric_limits<int32_t>::max()) {
      best_of_columns<T, int32_t>(largest, indices, in, rows, row_stride, columns, stride);
    } else {
      best_of_columns<T, int64_t>(largest, indices, in, rows, row_stride, columns, stride);
    }
  });
}

void row_moments(DType t, double* mean, double* deviation, const char* in, int64_t rows,
                 int64_t row_stride, int64_t n, int64_t stride) {
  const DType type = compute_of(t);
  const auto fold = [&](Fold f, const char* row, double p) {
    double out = 0;  // or a float
    fold_rows(f, t, (char*)&out, row, 1, 0, n, stride, p);
    return type == DType::Float ? double(load<float>((char*)&out)) : out;
  };
  for (int64_t i = 0; i < rows; ++i, in += row_stride) {
    mean[i] = fold(Fold::Sum, in, 0) / double(n);
    deviation[i] = fold(Fold::SquaredDeviation, in, mean[i]);
  }
}

namespace {

// Columns of a width that fits the buffers: a sum, then squared deviations from the mean.
template <class C>
void moments_of_columns(const Loader& loader, double* mean, double* deviation, const char* in,
                        int64_t rows, int64_t row_stride, int64_t width, int64_t stride) {
  C sums[kTile] = {}, shifts[kTile], tile[kTile];
  fold_columns(Fold::Sum, loader.type, (char*)sums, in, rows, row_stride, width, stride);
  for (int64_t j = 0; j < width; ++j) {
    mean[j] = double(sums[j]) / double(rows);
    shifts[j] = C(mean[j]);
    sums[j] = 0;
  }
  const auto fold = [&](const C* x, int64_t count, int64_t x_stride) {
    if constexpr (std::is_same_v<C, float>) {
      folds().columns_float(Fold::SquaredDeviation, sums, x, count, x_stride, width, shifts, 0);
    } else {
      folds().columns_double(Fold::SquaredDeviation, sums, x, count, x_stride, width, shifts, 0);
    }
  };
  if (loader.direct(stride)) {
    fold((const C*)in, rows, row_stride);
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      loader.load((char*)tile, in + r * row_stride, width, stride);
      fold(tile, 1, 0);
    }
  }
  for (int64_t j = 0; j < width; ++j) deviation[j] = double(sums[j]);
}

}  // namespace

void column_moments(DType t, double* mean, double* deviation, const char* in, int64_t rows,
                    int64_t row_stride, int64_t columns, int64_t stride) {
  const Loader loader(Fold::Sum, t, 0);
  for (int64_t j = 0; j < columns; j += kTile) {
    const int64_t width = std::min(kTile, columns - j);
    if (loader.accumulator == DType::Float) {
      moments_of_columns<float>(loader, mean + j, deviation + j, in + j * stride, rows, row_stride,
                                width, stride);
    } else {
      moments_of_columns<double>(loader, mean + j, deviation + j, in + j * stride, rows,
                                 row_stride, width, stride);
    }
  }
}

}  // namespace rl::kernels
