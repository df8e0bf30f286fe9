// Dense folds of float and double, once per vector level.
#include "kernels/functors/vector_math.h"
#include "kernels/reduce_level.h"

namespace rl::kernels::RL_LEVEL_NAMESPACE {
namespace {

template <class V> RL_INLINE V larger(V a, V b) { return select((a > b) | isnan(a), a, b); }
template <class V> RL_INLINE V smaller(V a, V b) { return select((a < b) | isnan(a), a, b); }

// How a fold takes an element in, and joins two accumulators.
template <Fold fold, class V> RL_INLINE V take(V sum, V x, V p) {
  if constexpr (fold == Fold::Sum) return sum + x;
  if constexpr (fold == Fold::SumSquares) return fma(x, x, sum);
  if constexpr (fold == Fold::SumAbs) return sum + abs(x);
  if constexpr (fold == Fold::Prod) return sum * x;
  if constexpr (fold == Fold::Max) return larger(sum, x);
  if constexpr (fold == Fold::Min) return smaller(sum, x);
  if constexpr (fold == Fold::MaxAbs) return larger(sum, abs(x));
  if constexpr (fold == Fold::MinAbs) return smaller(sum, abs(x));
  if constexpr (fold == Fold::SumExp) return sum + exp(x - p);
  if constexpr (fold == Fold::SquaredDeviation) return fma(x - p, x - p, sum);
}
template <Fold fold, class V> RL_INLINE V join(V a, V b) {
  if constexpr (fold == Fold::Prod) return a * b;
  else if constexpr (fold == Fold::Max || fold == Fold::MaxAbs) return larger(a, b);
  else if constexpr (fold == Fold::Min || fold == Fold::MinAbs) return smaller(a, b);
  else return a + b;
}
template <Fold fold, class T> RL_INLINE T neutral() {
  if constexpr (fold == Fold::Prod) return T(1);
  else if constexpr (fold == Fold::Max) return -T(__builtin_inf());
  else if constexpr (fold == Fold::Min || fold == Fold::MinAbs) return T(__builtin_inf());
  else return T(0);
}
template <Fold fold, class T> RL_INLINE Vec<T> across(Vec<T> v) {  // into lane 0
  return across_lanes(v, [](Vec<T> a, Vec<T> b) RL_INLINE_LAMBDA { return join<fold>(a, b); });
}

// Up to kBlock elements go into four registers; larger inputs are halved, which keeps the error
// of sums small.
constexpr int64_t kBlock = 2048;

template <Fold fold, class T> Vec<T> fold_block(const T* in, int64_t n, Vec<T> p) {
  using V = Vec<T>;
  V a(neutral<fold, T>()), b = a, c = a, d = a;
  for (; n >= 4 * V::size; n -= 4 * V::size, in += 4 * V::size) {
    a = take<fold>(a, V::load((const char*)in), p);
    b = take<fold>(b, V::load((const char*)(in + V::size)), p);
    c = take<fold>(c, V::load((const char*)(in + 2 * V::size)), p);
    d = take<fold>(d, V::load((const char*)(in + 3 * V::size)), p);
  }
  for (; n >= V::size; n -= V::size, in += V::size) {
    a = take<fold>(a, V::load((const char*)in), p);
  }
  if (n > 0) {
    const V taken = take<fold>(b, V::load_part((const char*)in, n), p);
    b = select(first_lanes<V>(n), taken, b);
  }
  return join<fold>(join<fold>(a, b), join<fold>(c, d));
}
template <Fold fold, class T> Vec<T> fold_pairwise(const T* in, int64_t n, Vec<T> p) {
  if (n <= kBlock) return fold_block<fold, T>(in, n, p);
  const int64_t half = (n / 2 + kBlock - 1) / kBlock * kBlock;
  return join<fold>(fold_pairwise<fold, T>(in, half, p),
                    fold_pairwise<fold, T>(in + half, n - half, p));
}
// Rows of a few registers: what is alike for all of them is worked out once.
template <Fold fold, class T>
void fold_short_rows(T* out, const char* in, int64_t rows, int64_t row_stride, int64_t n, T p) {
  using V = Vec<T>;
  const V shift(p), none(neutral<fold, T>());
  const int64_t whole = n / V::size, rest = n % V::size;
  const auto valid = first_lanes<V>(rest);
  for (int64_t r = 0; r < rows; ++r, in += row_stride) {
    V a = none;
    const char* x = in;
    for (int64_t k = 0; k < whole; ++k, x += kVectorBytes) a = take<fold>(a, V::load(x), shift);
    if (rest) a = select(valid, take<fold>(a, V::load_part(x, rest), shift), a);
    out[r] = join<fold>(V(out[r]), across<fold, T>(a)).raw[0];
  }
}
template <Fold fold, class T>
void fold_rows(T* out, const char* in, int64_t rows, int64_t row_stride, int64_t n, T p) {
  if (n <= 4 * Vec<T>::size) return fold_short_rows<fold, T>(out, in, rows, row_stride, n, p);
  for (int64_t r = 0; r < rows; ++r, in += row_stride) {
    const Vec<T> row = across<fold, T>(fold_pairwise<fold, T>((const T*)in, n, Vec<T>(p)));
    out[r] = join<fold>(Vec<T>(out[r]), row).raw[0];
  }
}

// Columns: four rows at a time go into a buffer of sums, whose blocks are joined to the result.
constexpr int64_t kColumns = 1024;
constexpr int64_t kRows = 256;

template <Fold fold, class T>
void fold_column_block(T* sums, const char* in, int64_t rows, int64_t row_stride, int64_t columns,
                       const T* shifts, T p) {
  using V = Vec<T>;
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const char* x = in + r * row_stride;
    for (int64_t j = 0; j < columns; j += V::size) {
      const int64_t left = columns - j, at = j * int64_t(sizeof(T));
      const auto load = [&](const char* q) {
        return left >= V::size ? V::load(q) : V::load_part(q, left);
      };
      const V shift = shifts ? load((const char*)(shifts + j)) : V(p);
      V a = V::load((const char*)(sums + j));
      a = take<fold>(a, load(x + at), shift);
      a = take<fold>(a, load(x + row_stride + at), shift);
      a = take<fold>(a, load(x + 2 * row_stride + at), shift);
      a = take<fold>(a, load(x + 3 * row_stride + at), shift);
      a.store((char*)(sums + j));
    }
  }
  for (; r < rows; ++r) {
    const char* x = in + r * row_stride;
    for (int64_t j = 0; j < columns; j += V::size) {
      const int64_t left = columns - j < V::size ? columns - j : V::size;
      const V shift = shifts ? V::load_part((const char*)(shifts + j), left) : V(p);
      const V v = V::load_part(x + j * int64_t(sizeof(T)), left);
      take<fold>(V::load((const char*)(sums + j)), v, shift).store((char*)(sums + j));
    }
  }
}
template <Fold fold, class T>
void fold_columns(T* out, const T* in, int64_t rows, int64_t row_stride, int64_t columns,
                  const T* shifts, T p) {
  using V = Vec<T>;
  alignas(64) T sums[kColumns + V::size];
  for (int64_t j = 0; j < columns; j += kColumns) {
    const int64_t width = columns - j < kColumns ? columns - j : kColumns;
    for (int64_t r = 0; r < rows; r += kRows) {
      const int64_t height = rows - r < kRows ? rows - r : kRows;
      for (int64_t k = 0; k < width; k += V::size) V(neutral<fold, T>()).store((char*)(sums + k));
      fold_column_block<fold, T>(sums, (const char*)(in + j) + r * row_stride, height, row_stride,
                                 width, shifts ? shifts + j : nullptr, p);
      for (int64_t k = 0; k < width; k += V::size) {
        const int64_t left = width - k < V::size ? width - k : V::size;
        char* to = (char*)(out + j + k);
        const V more = V::load((const char*)(sums + k));
        if (left == V::size) join<fold>(V::load(to), more).store(to);
        else join<fold>(V::load_part(to, left), more).store_part(to, left);
      }
    }
  }
}

// Rows of fewer columns than a register has, one after the other in memory: kTogether of them go
// as one, and the sums that belong together are joined at the end.
constexpr int64_t kTogether = 16;
template <Fold fold, class T>
void fold_narrow_columns(T* out, const T* in, int64_t rows, int64_t columns, T p) {
  const int64_t width = columns * kTogether, whole = rows / kTogether;
  T sums[kTogether * Vec<T>::size];
  for (int64_t k = 0; k < width; ++k) sums[k] = neutral<fold, T>();
  fold_columns<fold, T>(sums, in, whole, width * int64_t(sizeof(T)), width, nullptr, p);
  const auto joined = [&](T a, T b) { return join<fold>(Vec<T>(a), Vec<T>(b)).raw[0]; };
  for (int64_t half = kTogether / 2 * columns; half >= columns; half /= 2) {
    for (int64_t k = 0; k < half; ++k) sums[k] = joined(sums[k], sums[k + half]);
  }
  for (int64_t k = 0; k < columns; ++k) out[k] = joined(out[k], sums[k]);
  const int64_t done = whole * kTogether;
  fold_columns<fold, T>(out, in + done * columns, rows - done, columns * int64_t(sizeof(T)),
                        columns, nullptr, p);
}
template <Fold fold, class T>
void fold_any_columns(T* out, const T* in, int64_t rows, int64_t row_stride, int64_t columns,
                      const T* shifts, T p) {
  const bool dense = row_stride == columns * int64_t(sizeof(T));
  if (dense && !shifts && columns < Vec<T>::size && rows >= 4 * kTogether) {
    return fold_narrow_columns<fold, T>(out, in, rows, columns, p);
  }
  fold_columns<fold, T>(out, in, rows, row_stride, columns, shifts, p);
}

#define RL_FOLDS(_)                                                                      \
  _(Sum) _(SumSquares) _(SumAbs) _(Prod) _(Max) _(Min) _(MaxAbs) _(MinAbs) _(SumExp)     \
  _(SquaredDeviation)

template <class T>
void rows(Fold fold, T* out, const char* in, int64_t rows, int64_t row_stride, int64_t n, T p) {
  switch (fold) {
#define RL_CASE(F) case Fold::F: return fold_rows<Fold::F, T>(out, in, rows, row_stride, n, p);
    RL_FOLDS(RL_CASE)
#undef RL_CASE
    default: __builtin_unreachable();
  }
}
template <class T>
void columns(Fold fold, T* out, const T* in, int64_t rows, int64_t row_stride, int64_t columns,
             const T* shifts, T p) {
  switch (fold) {
#define RL_CASE(F) \
  case Fold::F: return fold_any_columns<Fold::F, T>(out, in, rows, row_stride, columns, shifts, p);
    RL_FOLDS(RL_CASE)
#undef RL_CASE
    default: __builtin_unreachable();
  }
}

template <class T> int64_t find(const T* in, int64_t n, T value) {
  using V = Vec<T>;
  const bool nan = value != value;
  const V v(value);
  int64_t i = 0;
  for (; i + V::size <= n; i += V::size) {
    const V x = V::load((const char*)(in + i));
    if (any(nan ? isnan(x) : x == v)) break;
  }
  while (i < n && !(nan ? in[i] != in[i] : in[i] == value)) ++i;
  return i;
}

}  // namespace

extern const DenseFolds dense_folds;
constinit const DenseFolds dense_folds = {&rows<float>,     &rows<double>, &columns<float>,
                                          &columns<double>, &find<float>, &find<double>};

}  // namespace rl::kernels::RL_LEVEL_NAMESPACE
