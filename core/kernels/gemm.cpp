// Matrix products: division among threads, and the dtypes other than float and double.
#include "kernels/gemm.h"

#include <algorithm>
#include <complex>

#include "base/interrupt.h"
#include "base/level.h"
#include "base/parallel.h"
#include "kernels/gemm_bfloat16.h"
#include "kernels/gemm_integer.h"
#include "kernels/gemm_simple.h"
#include "kernels/levels/gemm_level.h"
#include "kernels/scratch.h"

namespace rl::kernels {
namespace {

constexpr double kChunkNs = 8000;  // least work that is worth a thread

// How a product is divided: every batch entry into rows x cols parts.
struct Division {
  int64_t entries, rows, cols, row_step, col_step, grain;
  int64_t parts() const { return entries * rows * cols; }
};

// Estimated nanoseconds of one batch entry on one thread.
double cost(const MatrixProduct& p, int64_t size, double flops_per_ns) {
  const double flops = 2.0 * double(p.m) * double(p.n) * double(p.k) / flops_per_ns;
  const double bytes = double(p.m * p.k + p.k * p.n + 2 * p.m * p.n) * double(size) / 16;
  return 30 + std::max(flops, bytes);
}

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

Division divide(const MatrixProduct& p, double ns, int64_t mr, int64_t nr) {
  Division d{p.batch[0] * p.batch[1], 1, 1, p.m, p.n, 1};
  const int threads = in_parallel_region() ? 1 : num_threads();
  const double total = ns * double(d.entries);
  if (threads > 1 && total > 2 * kChunkNs && d.entries % threads != 0 &&
      d.entries < 4 * threads) {
    const int64_t useful = std::min<int64_t>(threads, int64_t(total / kChunkNs));
    const int64_t wanted = (useful + d.entries - 1) / d.entries;
    double best = 1e300;  // least packing: the borders of all parts together
    for (int64_t r = 1; r <= wanted; ++r) {
      if (wanted % r) continue;
      const int64_t c = wanted / r;
      const int64_t rs = round_up((p.m + r - 1) / r, mr), cs = round_up((p.n + c - 1) / c, nr);
      const double area = double(rs) * double(cs), border = double(rs) + double(cs);
      const double score = area * (1 + 32 * border / std::max(area, 1.0));
      if (score < best) {
        best = score;
        d.row_step = rs;
        d.col_step = cs;
      }
    }
    d.rows = (p.m + d.row_step - 1) / d.row_step;
    d.cols = (p.n + d.col_step - 1) / d.col_step;
  }
  const double part_ns = total / double(d.parts());
  d.grain = std::max<int64_t>(1, int64_t(kChunkNs / part_ns));
  return d;
}

template <class T> const T* offset(const void* p, const int64_t (&strides)[2], int64_t outer,
                                   int64_t inner) {
  return static_cast<const T*>(p) + outer * strides[0] + inner * strides[1];
}
template <class T> T* offset(void* p, const int64_t (&strides)[2], int64_t outer, int64_t inner) {
  return static_cast<T*>(p) + outer * strides[0] + inner * strides[1];
}

template <class T> Tile<T> tile_of(const MatrixProduct& p) {
  return {p.m,     p.n,     p.k,
          static_cast<const T*>(p.a), p.a_row, p.a_col,
          static_cast<const T*>(p.b), p.b_row, p.b_col,
          static_cast<T*>(p.c),       p.c_row, p.c_col,
          p.alpha.to<T>(),            p.beta.to<T>(),
          static_cast<const T*>(p.bias), p.bias_per_row, p.relu};
}

// One tile of a division; a long one goes in blocks, so that Ctrl-C is answered between them.
template <class T>
void product(const GemmLevel<T>& level, const Tile<T>& t, double ns) {
  constexpr double kBlockNs = 3e7;
  constexpr int64_t kLeast = 512;  // rows or columns: packing the other side again costs little
  if (ns < 2 * kBlockNs || std::max(t.m, t.n) < 2 * kLeast) {
    return level.product(t);
  }
  const bool by_rows = t.m >= t.n;
  const int64_t size = by_rows ? t.m : t.n;
  const int64_t half = round_up(size / 2, by_rows ? level.mr : level.nr);
  Tile<T> first = t, second = t;
  (by_rows ? first.m : first.n) = half;
  (by_rows ? second.m : second.n) = size - half;
  if (by_rows) second.a += half * t.a_row;
  else second.b += half * t.b_col;
  second.c += half * (by_rows ? t.c_row : t.c_col);
  if (t.bias && t.bias_per_row == by_rows) second.bias += half;
  product(level, first, ns * double(half) / double(size));
  poll_interrupt();
  product(level, second, ns * double(size - half) / double(size));
}

template <class T> void gemm_real(const MatrixProduct& p) {
  const GemmLevel<T>& level = gemm_level<T>();
  const Tile<T> whole = tile_of<T>(p);
  const double ns = cost(p, sizeof(T), 256.0 / sizeof(T));
  if (p.batch[0] * p.batch[1] == 1 && ns < 2 * kChunkNs) {
    return level.product(whole);
  }
  const Division d = divide(p, ns, level.mr, level.nr);
  parallel_for(0, d.parts(), d.grain, [&](int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      const int64_t col = x % d.cols, row = x / d.cols % d.rows, entry = x / d.cols / d.rows;
      const int64_t outer = entry / p.batch[1], inner = entry % p.batch[1];
      const int64_t i = row * d.row_step, j = col * d.col_step;
      Tile<T> t = whole;
      t.m = std::min(d.row_step, p.m - i);
      t.n = std::min(d.col_step, p.n - j);
      t.a = offset<T>(p.a, p.a_batch, outer, inner) + i * p.a_row;
      t.b = offset<T>(p.b, p.b_batch, outer, inner) + j * p.b_col;
      t.c = offset<T>(p.c, p.c_batch, outer, inner) + i * p.c_row + j * p.c_col;
      if (t.bias) t.bias += p.bias_per_row ? i : j;
      product(level, t, ns / double(d.rows * d.cols));
    }
  });
}

// Calls f(product of one entry, its number) for each batch entry, entries in parallel if many.
template <class F> void for_entries(const MatrixProduct& p, int64_t size, double ns, F&& f) {
  const int64_t entries = p.batch[0] * p.batch[1];
  const auto body = [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const int64_t outer = e / p.batch[1], inner = e % p.batch[1];
      MatrixProduct one = p;
      one.batch[0] = one.batch[1] = 1;
      one.a = offset<char>(p.a, p.a_batch, outer * size, inner * size);
      one.b = offset<char>(p.b, p.b_batch, outer * size, inner * size);
      one.c = offset<char>(p.c, p.c_batch, outer * size, inner * size);
      f(one);
    }
  };
  if (entries < num_threads()) return body(0, entries);
  parallel_for(0, entries, std::max<int64_t>(1, int64_t(kChunkNs / ns)), body);
}

// A complex product is a real one of twice the depth and width: A as it lies in memory, its parts
// side by side, times B with each value b as the block {{re, im}, {-im, re}}; alpha goes into B.
template <class T> void gemm_complex_entry(const MatrixProduct& p) {
  using C = std::complex<T>;
  if (p.c_col != 1) {
    if (p.c_row == 1 && p.n != 1) return gemm_complex_entry<T>(turned(p));
    return through_dense_result<C>(p, gemm_complex_entry<T>);
  }
  MatrixProduct real = p;
  const C alpha = C(p.alpha.to_complex()), beta = C(p.beta.to_complex());
  if (beta.imag() != T(0)) {
    C* c = static_cast<C*>(p.c);
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) c[i * p.c_row + j] *= beta;
    }
    real.beta = 1;
  } else {
    real.beta = beta.real();
  }
  T* blocks = static_cast<T*>(scratch(Scratch::Planes, size_t(p.k * p.n) * 4 * sizeof(T)));
  const C* b = static_cast<const C*>(p.b);
  parallel_for(0, p.k, 1 + 8192 / (p.n + 1), [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      T* even = blocks + q * 4 * p.n;
      T* odd = even + 2 * p.n;
      for (int64_t j = 0; j < p.n; ++j) {
        const C v = alpha * b[q * p.b_row + j * p.b_col];
        even[2 * j] = v.real();
        even[2 * j + 1] = v.imag();
        odd[2 * j] = -v.imag();
        odd[2 * j + 1] = v.real();
      }
    }
  });
  if (p.a_col != 1) {
    C* dense = static_cast<C*>(scratch(Scratch::Convert, size_t(p.m * p.k) * sizeof(C)));
    copy_dense(dense, static_cast<const C*>(p.a), p.m, p.k, p.a_row, p.a_col);
    real.a = dense;
    real.a_row = p.k;
  }
  real.alpha = 1;
  real.n = 2 * p.n;
  real.k = 2 * p.k;
  real.a_row *= 2;
  real.a_col = 1;
  real.b = blocks;
  real.b_row = 2 * p.n;
  real.b_col = 1;
  real.c_row *= 2;
  if (p.bias && p.bias_per_row) {  // a bias of the row cannot be told by parts: added afterwards
    real.bias = nullptr;
  }
  gemm_real<T>(real);
  if (p.bias && p.bias_per_row) add_row_bias<C>(p);
}

// Halves: operands as dense floats in the same orientation, the result through a float matrix.
template <class H> void gemm_half_entry(const MatrixProduct& p) {
  MatrixProduct f = p;
  float* floats = static_cast<float*>(scratch(
      Scratch::Planes,
      size_t(p.m * p.k + p.k * p.n + p.m * p.n + p.m + p.n) * sizeof(float)));
  f.a = floats_of<H>(floats, p.a, p.m, p.k, p.a_row, p.a_col, f.a_row, f.a_col);
  floats += p.m * p.k;
  f.b = floats_of<H>(floats, p.b, p.k, p.n, p.b_row, p.b_col, f.b_row, f.b_col);
  floats += p.k * p.n;
  f.c = floats;
  f.c_row = p.n;
  f.c_col = 1;
  if (!p.beta.equal(0)) {
    int64_t row, col;
    floats_of<H>(floats, p.c, p.m, p.n, p.c_row, p.c_col, row, col);
    f.c_row = row;
    f.c_col = col;
  }
  floats += p.m * p.n;
  if (p.bias) {
    int64_t row, col;
    const int64_t n = p.bias_per_row ? p.m : p.n;
    f.bias = floats_of<H>(floats, p.bias, 1, n, n, 1, row, col);
  }
  gemm_real<float>(f);
  store_halves<H>(p, static_cast<const float*>(f.c), f.c_row, f.c_col);
}

}  // namespace

void gemm(DType dtype, const MatrixProduct& p) {
  if (p.m <= 0 || p.n <= 0 || p.batch[0] <= 0 || p.batch[1] <= 0) return;
  dispatch(dtype, [&](auto* null) {
    using T = pointee<decltype(null)>;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      gemm_real<T>(p);
    } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                         std::is_same_v<T, std::complex<double>>) {
      const double ns = cost(p, sizeof(T), 128.0 / sizeof(T));
      for_entries(p, sizeof(T), ns, gemm_complex_entry<typename T::value_type>);
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      if (std::is_same_v<T, BFloat16> && cpu_has_bf16()) {
        return for_entries(p, sizeof(T), cost(p, sizeof(T), 200), gemm_bfloat16);
      }
      for_entries(p, sizeof(T), cost(p, 8, 64), gemm_half_entry<T>);
    } else {
      for_entries(p, sizeof(T), cost(p, sizeof(T), 2), gemm_integer<T>);
    }
  });
}

}  // namespace rl::kernels
