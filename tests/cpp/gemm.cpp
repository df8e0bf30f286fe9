// Matrix products against naive loops: odd sizes, strides, batches, bias, every dtype.
#include "kernels/gemm.h"

#include <cmath>
#include <complex>
#include <cstdio>
#include <random>
#include <vector>

#include "base/parallel.h"

namespace {

using namespace rl;
using kernels::MatrixProduct;
std::mt19937 rng(7);
int failures = 0, cases = 0;

int64_t below(int64_t n) { return int64_t(rng() % uint64_t(n)); }

template <class T> std::complex<double> wide(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return to_float(v);
  else if constexpr (std::is_integral_v<T>) return double(v);
  else return v;
}
template <class T> void set_random(T& v) {
  const int r = int(below(17)) - 8, s = int(below(17)) - 8;
  if constexpr (std::is_same_v<T, Half>) v = to_half(float(r) / 8);
  else if constexpr (std::is_same_v<T, BFloat16>) v = to_bfloat16(float(r) / 8);
  else if constexpr (std::is_same_v<T, bool>) v = r > 4;
  else if constexpr (std::is_integral_v<T>) v = T(r);
  else if constexpr (std::is_floating_point_v<T>) v = T(r) / 8;
  else v = T(float(r) / 8, float(s) / 8);
}

// A matrix in a buffer with room around it: layout 0 rows dense, 1 columns dense, 2 neither.
struct Strides { int64_t row, col, total; };
Strides strides_of(int layout, int64_t m, int64_t n) {
  const int64_t pad = below(3);
  if (layout == 0) return {n + pad, 1, (n + pad) * m + 1};
  if (layout == 1) return {1, m + pad, (m + pad) * n + 1};
  return {2 * n + pad, 2, (2 * n + pad) * m + 1};
}

template <class T> double tolerance(int64_t k) {
  if constexpr (std::is_same_v<T, Half>) return 2e-3 * (1 + double(k) / 64);
  else if constexpr (std::is_same_v<T, BFloat16>) return 2e-2 * (1 + double(k) / 64);
  else if constexpr (std::is_integral_v<T>) return 0;
  else if constexpr (sizeof(T) == 4 || std::is_same_v<T, std::complex<float>>)
    return 1e-5 * (1 + double(k) / 32);
  else return 1e-13 * (1 + double(k) / 32);
}

template <class T>
std::complex<double> expected(const MatrixProduct& p, const T* a, const T* b, T before,
                              std::complex<double> bias, int64_t i, int64_t j) {
  std::complex<double> sum = 0;
  for (int64_t q = 0; q < p.k; ++q) {
    sum += wide(a[i * p.a_row + q * p.a_col]) * wide(b[q * p.b_row + j * p.b_col]);
  }
  if constexpr (std::is_same_v<T, bool>) sum = sum.real() != 0;
  sum = sum * p.alpha.to_complex() + bias;
  if (!p.beta.equal(0)) sum += p.beta.to_complex() * wide(before);
  if (p.relu && sum.real() < 0) sum = 0;
  return sum;
}

template <class T> void check(int64_t m, int64_t n, int64_t k, int la, int lb, int lc, int mode) {
  constexpr bool complex = is_complex(DTypeOf<T>::value);
  constexpr bool logical = std::is_same_v<T, bool>;
  MatrixProduct p;
  p.m = m, p.n = n, p.k = k;
  const Strides sa = strides_of(la, m, k), sb = strides_of(lb, k, n), sc = strides_of(lc, m, n);
  p.a_row = sa.row, p.a_col = sa.col, p.b_row = sb.row, p.b_col = sb.col;
  p.c_row = sc.row, p.c_col = sc.col;
  p.batch[0] = mode % 3 == 2 ? 2 : 1, p.batch[1] = mode % 5 == 4 ? 3 : 1;
  p.a_batch[0] = sa.total * p.batch[1], p.a_batch[1] = sa.total;
  p.b_batch[0] = 0, p.b_batch[1] = sb.total;  // broadcast in the outer dimension
  p.c_batch[0] = sc.total * p.batch[1], p.c_batch[1] = sc.total;
  const int64_t entries = p.batch[0] * p.batch[1];
  // Plain arrays: std::vector<bool> has no data().
  T* const a = new T[size_t(sa.total * entries)];
  T* const b = new T[size_t(sb.total * entries)];
  T* const c = new T[size_t(sc.total * entries)];
  T* const before = new T[size_t(sc.total * entries)];
  T* const bias = new T[size_t(m + n)];
  for (int64_t i = 0; i < sa.total * entries; ++i) set_random(a[i]);
  for (int64_t i = 0; i < sb.total * entries; ++i) set_random(b[i]);
  for (int64_t i = 0; i < sc.total * entries; ++i) set_random(c[i]), before[i] = c[i];
  for (int64_t i = 0; i < m + n; ++i) set_random(bias[i]);
  p.a = a, p.b = b, p.c = c;
  if (!logical) {
    if (mode & 1) p.beta = mode & 8 ? Scalar(1) : Scalar(2);
    if (mode & 2) p.bias = bias, p.bias_per_row = mode & 16;
    if (mode & 4) p.alpha = complex ? Scalar(std::complex<double>(2, -1)) : Scalar(3);
    if (!complex && (mode & 32)) p.relu = true;
  }
  kernels::gemm(DTypeOf<T>::value, p);
  ++cases;
  double worst = 0;
  for (int64_t e = 0; e < entries; ++e) {
    const int64_t outer = e / p.batch[1], inner = e % p.batch[1];
    const int64_t at = outer * p.c_batch[0] + inner * p.c_batch[1];
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const int64_t x = at + i * p.c_row + j * p.c_col;
        const std::complex<double> add = p.bias ? wide(bias[p.bias_per_row ? i : j]) : 0.0;
        const auto want = expected<T>(p, a + outer * p.a_batch[0] + inner * p.a_batch[1],
                                      b + inner * p.b_batch[1], before[x], add, i, j);
        const double error = std::abs(wide(c[x]) - want) / (1 + std::abs(want));
        if (!(error <= worst)) worst = error;
        before[x] = c[x];
      }
    }
  }
  bool spilled = false;
  for (int64_t i = 0; i < sc.total * entries; ++i) {
    spilled |= std::abs(wide(c[i]) - wide(before[i])) != 0;
  }
  if (worst > tolerance<T>(k) || worst != worst || spilled) {
    ++failures;
    std::printf("FAIL %s m %ld n %ld k %ld layouts %d %d %d mode %d: error %g%s\n",
                typeid(T).name(), long(m), long(n), long(k), la, lb, lc, mode, worst,
                spilled ? ", wrote outside C" : "");
  }
  delete[] a, delete[] b, delete[] c, delete[] before, delete[] bias;
}

template <class T> void check_all(int rounds, int64_t most) {
  for (int r = 0; r < rounds; ++r) {
    const auto size = [&] {
      return below(8) == 0 ? 1 + below(4) : 1 + below(below(3) == 0 ? most : 40);
    };
    const int64_t k = below(20) == 0 ? 0 : size();
    check<T>(size(), size(), k, int(below(3)), int(below(3)), int(below(3)), int(below(64)));
  }
}

}  // namespace

int main() {
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    check_all<float>(600, 300);
    check_all<double>(300, 200);
    check_all<Half>(100, 80);
    check_all<BFloat16>(100, 80);
    check_all<std::complex<float>>(200, 90);
    check_all<std::complex<double>>(200, 90);
    check_all<int64_t>(100, 90);
    check_all<int32_t>(60, 60);
    check_all<bool>(60, 60);
    check<float>(500, 700, 900, 0, 0, 0, 0);
    check<float>(130, 3100, 350, 1, 1, 0, 1);
    check<double>(300, 200, 700, 0, 1, 0, 9);
  }
  std::printf("gemm: %d cases, %d failures\n", cases, failures);
  return failures != 0;
}
