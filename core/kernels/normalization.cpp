// Layer, RMS and group normalisation over rows; batch normalisation is in batch_norm.cpp.
#include "kernels/normalization.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "kernels/levels/normalization.h"
#include "kernels/levels/rows.h"
#include "kernels/parameters.h"
#include "kernels/row_buffers.h"

namespace rl::kernels {
namespace {

constexpr int64_t kGrain = 8192;  // elements: less is not worth another thread

int64_t grain_of(int64_t row) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(row, 1)); }

// How rows are shared out when each share sums its own gradient of gamma and beta.
int64_t shares_of(int64_t rows, int64_t n) {
  return std::clamp<int64_t>(rows / grain_of(n), 1, num_threads());
}

// sums[share][n] -> out[n], always in the order of the shares.
template <class C>
void gather_shares(const C* sums, int64_t shares, int64_t n, DType pt, void* out) {
  if (!out) return;
  std::vector<C> acc(size_t(n), C(0));
  if (shares > 0) std::copy(sums, sums + n, acc.begin());
  for (int64_t s = 1; s < shares; ++s)
    row_loops<C>().add(sums + s * n, acc.data(), n);
  store_parameter(pt, out, acc.data(), n);
}

template <class T> struct RowsBackward {
  const T *grad, *x;
  const ComputeOf<T> *gamma, *mean, *rstd;  // mean is null for RMS
  T* dx;
  int64_t n;

  void operator()(int64_t begin, int64_t end, ComputeOf<T>* dgamma, ComputeOf<T>* dbeta) const {
    const auto& loops = normalization_loops<ComputeOf<T>>();
    RowIn<T> in_grad(n), in_x(n);
    RowOut<T> out(dx ? n : 0);
    for (int64_t r = begin; r < end; ++r) {
      T* const row = dx ? dx + r * n : nullptr;
      const auto* g = in_grad(grad + r * n, n);
      const auto* v = in_x(x + r * n, n);
      auto* target = dx ? out.target(row) : nullptr;
      if (mean) loops.layer_backward(g, v, gamma, mean[r], rstd[r], target, dgamma, dbeta, n);
      else loops.rms_backward(g, v, gamma, rstd[r], target, dgamma, n);
      if (dx) out.commit(row, n);
    }
  }
};

template <class T>
void rows_backward(DType pt, const void* grad, const void* x, const void* gamma, const void* mean,
                   const void* rstd, void* dx, void* dgamma, void* dbeta, int64_t rows,
                   int64_t n) {
  using C = ComputeOf<T>;
  Parameter<C> scale(pt, gamma, n);
  const RowsBackward<T> work{static_cast<const T*>(grad), static_cast<const T*>(x), scale.data(),
                             static_cast<const C*>(mean), static_cast<const C*>(rstd),
                             static_cast<T*>(dx), n};
  if (!dgamma && !dbeta) {
    parallel_for(0, rows, grain_of(n),
                 [&](int64_t begin, int64_t end) { work(begin, end, nullptr, nullptr); });
    return;
  }
  const int64_t shares = shares_of(rows, n);
  std::vector<C> sums(size_t(2 * shares * n), C(0));
  parallel_for(0, shares, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s)
      work(rows * s / shares, rows * (s + 1) / shares, dgamma ? sums.data() + s * n : nullptr,
           dbeta ? sums.data() + (shares + s) * n : nullptr);
  });
  gather_shares(sums.data(), shares, n, pt, dgamma);
  gather_shares(sums.data() + shares * n, shares, n, pt, dbeta);
}

}  // namespace

void layer_norm(DType t, DType pt, const void* x, const void* gamma, const void* beta, void* y,
                void* mean, void* rstd, int64_t rows, int64_t n, double eps) {
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using C = ComputeOf<T>;
    const auto& loops = normalization_loops<C>();
    const Parameter<C> scale(pt, gamma, n), shift(pt, beta, n);
    parallel_for(0, rows, grain_of(n), [&](int64_t begin, int64_t end) {
      RowIn<T> in(n);
      RowOut<T> out(n);
      for (int64_t r = begin; r < end; ++r) {
        const C* const row = in(static_cast<const T*>(x) + r * n, n);
        T* const result = static_cast<T*>(y) + r * n;
        C m, squares;
        loops.moments(row, n, &m, &squares);
        const C inverse = C(1) / std::sqrt(squares / C(n) + C(eps));
        loops.normalize(row, out.target(result), n, m, inverse, scale.data(), shift.data());
        out.commit(result, n);
        if (mean) static_cast<C*>(mean)[r] = m;
        if (rstd) static_cast<C*>(rstd)[r] = inverse;
      }
    });
  });
}

void layer_norm_backward(DType t, DType pt, const void* grad, const void* x, const void* gamma,
                         const void* mean, const void* rstd, void* dx, void* dgamma, void* dbeta,
                         int64_t rows, int64_t n) {
  dispatch_floating(t, [&](auto* p) {
    rows_backward<pointee<decltype(p)>>(pt, grad, x, gamma, mean, rstd, dx, dgamma, dbeta, rows,
                                        n);
  });
}

void rms_norm(DType t, DType pt, const void* x, const void* gamma, void* y, void* rstd,
              int64_t rows, int64_t n, double eps) {
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using C = ComputeOf<T>;
    const auto& loops = normalization_loops<C>();
    const Parameter<C> scale(pt, gamma, n);
    parallel_for(0, rows, grain_of(n), [&](int64_t begin, int64_t end) {
      RowIn<T> in(n);
      RowOut<T> out(n);
      for (int64_t r = begin; r < end; ++r) {
        const C* const row = in(static_cast<const T*>(x) + r * n, n);
        T* const result = static_cast<T*>(y) + r * n;
        const C inverse = C(1) / std::sqrt(loops.sum_squares(row, n) / C(n) + C(eps));
        loops.normalize(row, out.target(result), n, C(0), inverse, scale.data(), nullptr);
        out.commit(result, n);
        if (rstd) static_cast<C*>(rstd)[r] = inverse;
      }
    });
  });
}

void rms_norm_backward(DType t, DType pt, const void* grad, const void* x, const void* gamma,
                       const void* rstd, void* dx, void* dgamma, int64_t rows, int64_t n) {
  dispatch_floating(t, [&](auto* p) {
    rows_backward<pointee<decltype(p)>>(pt, grad, x, gamma, nullptr, rstd, dx, dgamma, nullptr,
                                        rows, n);
  });
}

void group_norm(DType t, DType pt, const void* x, const void* gamma, const void* beta, void* y,
                void* mean, void* rstd, int64_t batch, int64_t channels, int64_t area,
                int64_t groups, double eps) {
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using C = ComputeOf<T>;
    const auto& loops = normalization_loops<C>();
    const Parameter<C> scale(pt, gamma, channels), shift(pt, beta, channels);
    const int64_t per_group = channels / groups, n = per_group * area;
    parallel_for(0, batch * groups, grain_of(n), [&](int64_t begin, int64_t end) {
      RowIn<T> in(n);
      RowOut<T> out(n);
      for (int64_t r = begin; r < end; ++r) {
        const C* const row = in(static_cast<const T*>(x) + r * n, n);
        T* const result = static_cast<T*>(y) + r * n;
        C* const target = out.target(result);
        C m, squares;
        loops.moments(row, n, &m, &squares);
        const C inverse = C(1) / std::sqrt(squares / C(n) + C(eps));
        for (int64_t k = 0; k < per_group; ++k) {
          const int64_t c = r % groups * per_group + k;
          const C a = scale.data() ? inverse * scale.data()[c] : inverse;
          const C b = -a * m + (shift.data() ? shift.data()[c] : C(0));
          loops.affine(row + k * area, target + k * area, area, a, b);
        }
        out.commit(result, n);
        if (mean) static_cast<C*>(mean)[r] = m;
        if (rstd) static_cast<C*>(rstd)[r] = inverse;
      }
    });
  });
}

// With s and q the sums over a channel of grad and of grad (x - mean), weighted by gamma over a
// group of n elements: dx = grad gamma rstd - (x - mean) rstd^3 q / n - rstd s / n.
void group_norm_backward(DType t, DType pt, const void* grad, const void* x, const void* gamma,
                         const void* mean, const void* rstd, void* dx, void* dgamma, void* dbeta,
                         int64_t batch, int64_t channels, int64_t area, int64_t groups) {
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using C = ComputeOf<T>;
    const auto& loops = normalization_loops<C>();
    const Parameter<C> scale(pt, gamma, channels);
    const int64_t per_group = channels / groups, n = per_group * area;
    std::vector<C> sums(size_t(2 * batch * channels));  // [batch, channels] of s, then of q
    C* const all_s = sums.data();
    C* const all_q = all_s + batch * channels;
    parallel_for(0, batch * groups, grain_of(n), [&](int64_t begin, int64_t end) {
      RowIn<T> in_grad(n), in_x(n);
      RowOut<T> out(dx ? n : 0);
      for (int64_t r = begin; r < end; ++r) {
        const C* const g = in_grad(static_cast<const T*>(grad) + r * n, n);
        const C* const v = in_x(static_cast<const T*>(x) + r * n, n);
        const C m = static_cast<const C*>(mean)[r], inverse = static_cast<const C*>(rstd)[r];
        const C* const weight = scale.data() ? scale.data() + r % groups * per_group : nullptr;
        C* const s = all_s + r * per_group;
        C* const q = all_q + r * per_group;
        C sum = 0, product = 0;
        for (int64_t k = 0; k < per_group; ++k) {
          loops.gradient_sums(g + k * area, v + k * area, m, area, s + k, q + k);
          sum += weight ? s[k] * weight[k] : s[k];
          product += weight ? q[k] * weight[k] : q[k];
          q[k] *= inverse;
        }
        if (!dx) continue;
        T* const result = static_cast<T*>(dx) + r * n;
        C* const target = out.target(result);
        const C slope = -product * inverse * inverse * inverse / C(n);
        const C offset = -slope * m - sum * inverse / C(n);
        for (int64_t k = 0; k < per_group; ++k)
          loops.combine(g + k * area, v + k * area, target + k * area, area,
                        weight ? weight[k] * inverse : inverse, slope, offset);
        out.commit(result, n);
      }
    });
    gather_shares(all_q, batch, channels, pt, dgamma);
    gather_shares(all_s, batch, channels, pt, dbeta);
  });
}

}  // namespace rl::kernels
