// Batch normalisation over [batch, channels, area]: slabs of one channel, or columns if area is 1.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "kernels/levels/normalization.h"
#include "kernels/levels/rows.h"
#include "kernels/normalization.h"
#include "kernels/parameters.h"
#include "kernels/row_buffers.h"

namespace rl::kernels {
namespace {

constexpr int64_t kGrain = 8192;       // elements: less is not worth another thread
constexpr int64_t kColumnBlock = 256;  // columns per piece of work when area is 1

struct Shape {
  int64_t batch, channels, area;
  int64_t count() const { return batch * area; }  // elements per channel
  int64_t at(int64_t b, int64_t c) const { return (b * channels + c) * area; }
};

// Runs f(first, last) over ranges of channels, whole column blocks where area is 1.
template <class F> void over_channels(const Shape& s, F&& f) {
  if (s.channels == 0) return;
  const int64_t width = s.area == 1 ? std::min(kColumnBlock, s.channels) : 1;
  const int64_t pieces = (s.channels + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.count() * width));
  parallel_for(0, pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      f(k * width, std::min((k + 1) * width, s.channels));
  });
}

// Mean and sum of squared deviations of one channel: slabs joined in double (Chan et al., 1979).
template <class T>
void channel_moments(const T* x, const Shape& s, int64_t c, double* mean, double* squares) {
  using C = ComputeOf<T>;
  const auto& loops = normalization_loops<C>();
  RowIn<T> in(s.area);
  double m = 0, q = 0, seen = 0;
  for (int64_t b = 0; b < s.batch; ++b) {
    C slab_mean, slab_squares;
    loops.moments(in(x + s.at(b, c), s.area), s.area, &slab_mean, &slab_squares);
    const double delta = double(slab_mean) - m, all = seen + double(s.area);
    m += delta * double(s.area) / all;
    q += double(slab_squares) + delta * delta * seen * double(s.area) / all;
    seen = all;
  }
  *mean = m;
  *squares = q;
}

template <class T>
void column_moments(const T* x, const Shape& s, int64_t first, int64_t last, double* mean,
                    double* squares) {
  using C = ComputeOf<T>;
  const auto& loops = normalization_loops<C>();
  const int64_t width = last - first;
  RowIn<T> in(width);
  std::vector<C> m(size_t(width), C(0)), q(size_t(width), C(0));
  for (int64_t b = 0; b < s.batch; ++b)
    row_loops<C>().add(in(x + s.at(b, first), width), m.data(), width);
  for (C& v : m) v /= C(s.batch);
  for (int64_t b = 0; b < s.batch; ++b)
    loops.add_squares(in(x + s.at(b, first), width), m.data(), q.data(), width);
  std::copy(m.begin(), m.end(), mean);
  std::copy(q.begin(), q.end(), squares);
}

// y = x a + b by channel.
template <class T>
void apply(const T* x, T* y, const Shape& s, const ComputeOf<T>* a, const ComputeOf<T>* b) {
  const auto& loops = normalization_loops<ComputeOf<T>>();
  const int64_t row = s.area == 1 ? s.channels : s.area;
  const int64_t rows = s.area == 1 ? s.batch : s.batch * s.channels;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, row));
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    RowIn<T> in(row);
    RowOut<T> out(row);
    for (int64_t r = begin; r < end; ++r) {
      T* const result = y + r * row;
      const auto* v = in(x + r * row, row);
      const int64_t c = r % s.channels;
      if (s.area == 1) loops.affine_rows(v, out.target(result), row, a, b);
      else loops.affine(v, out.target(result), row, a[c], b[c]);
      out.commit(result, row);
    }
  });
}

// dx = grad a + x b + c by channel.
template <class T>
void apply_gradient(const T* grad, const T* x, T* dx, const Shape& s, const ComputeOf<T>* a,
                    const ComputeOf<T>* b, const ComputeOf<T>* c) {
  const auto& loops = normalization_loops<ComputeOf<T>>();
  const int64_t row = s.area == 1 ? s.channels : s.area;
  const int64_t rows = s.area == 1 ? s.batch : s.batch * s.channels;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, row));
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    RowIn<T> in_grad(row), in_x(row);
    RowOut<T> out(row);
    for (int64_t r = begin; r < end; ++r) {
      T* const result = dx + r * row;
      const auto* g = in_grad(grad + r * row, row);
      const auto* v = in_x(x + r * row, row);
      const int64_t k = r % s.channels;
      if (s.area == 1) loops.combine_rows(g, v, out.target(result), row, a, b, c);
      else loops.combine(g, v, out.target(result), row, a[k], b[k], c[k]);
      out.commit(result, row);
    }
  });
}

// Sums over each channel of grad and of grad (x - mean).
template <class T>
void gradient_sums(const T* grad, const T* x, const Shape& s, const ComputeOf<T>* mean,
                   double* sum, double* product) {
  using C = ComputeOf<T>;
  const auto& loops = normalization_loops<C>();
  over_channels(s, [&](int64_t first, int64_t last) {
    const int64_t width = s.area == 1 ? last - first : s.area;
    RowIn<T> in_grad(width), in_x(width);
    if (s.area == 1) {
      std::vector<C> acc(size_t(2 * width), C(0));
      for (int64_t b = 0; b < s.batch; ++b)
        loops.add_gradient(in_grad(grad + s.at(b, first), width), in_x(x + s.at(b, first), width),
                           mean + first, acc.data(), acc.data() + width, width);
      std::copy(acc.begin(), acc.begin() + width, sum + first);
      std::copy(acc.begin() + width, acc.end(), product + first);
      return;
    }
    for (int64_t c = first; c < last; ++c) {
      sum[c] = product[c] = 0;
      for (int64_t b = 0; b < s.batch; ++b) {
        C part_sum, part_product;
        loops.gradient_sums(in_grad(grad + s.at(b, c), width), in_x(x + s.at(b, c), width),
                            mean[c], width, &part_sum, &part_product);
        sum[c] += double(part_sum);
        product[c] += double(part_product);
      }
    }
  });
}

void move_running(DType pt, void* running, const std::vector<double>& value, double momentum) {
  dispatch_floating(pt, [&](auto* p) {
    using T = pointee<decltype(p)>;
    T* const at = static_cast<T*>(running);
    for (size_t c = 0; c < value.size(); ++c)
      narrow(ComputeOf<T>(momentum * value[c] + (1 - momentum) * double(widen(at[c]))), at[c]);
  });
}

// The numbers a and b with which normalising is x a + b.
template <class C>
void slopes(int64_t n, const C* mean, const C* invstd, const C* gamma, const C* beta, C* a, C* b) {
  for (int64_t c = 0; c < n; ++c) {
    a[c] = gamma ? invstd[c] * gamma[c] : invstd[c];
    b[c] = (beta ? beta[c] : C(0)) - mean[c] * a[c];
  }
}

}  // namespace

void batch_norm_train(DType t, DType pt, const void* x, const void* gamma, const void* beta,
                      void* running_mean, void* running_var, void* y, void* mean, void* invstd,
                      int64_t batch, int64_t channels, int64_t area, double momentum, double eps) {
  const Shape s{batch, channels, area};
  std::vector<double> m(static_cast<size_t>(channels)), q(static_cast<size_t>(channels));
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using C = ComputeOf<T>;
    const T* const px = static_cast<const T*>(x);
    over_channels(s, [&](int64_t first, int64_t last) {
      if (area == 1) return column_moments(px, s, first, last, &m[first], &q[first]);
      for (int64_t c = first; c < last; ++c) channel_moments(px, s, c, &m[c], &q[c]);
    });
    C* const saved_mean = static_cast<C*>(mean);
    C* const saved_invstd = static_cast<C*>(invstd);
    for (int64_t c = 0; c < channels; ++c) {
      saved_mean[c] = C(m[c]);
      saved_invstd[c] = C(1 / std::sqrt(q[c] / double(s.count()) + eps));
    }
    const Parameter<C> scale(pt, gamma, channels), shift(pt, beta, channels);
    std::vector<C> ab(size_t(2 * channels));
    slopes(channels, saved_mean, saved_invstd, scale.data(), shift.data(), ab.data(),
           ab.data() + channels);
    apply(px, static_cast<T*>(y), s, ab.data(), ab.data() + channels);
  });
  if (running_mean) move_running(pt, running_mean, m, momentum);
  if (running_var) {
    for (double& v : q) v /= double(s.count() - 1);
    move_running(pt, running_var, q, momentum);
  }
}

void batch_norm_eval(DType t, DType pt, const void* x, const void* gamma, const void* beta,
                     const void* running_mean, const void* running_var, void* y, int64_t batch,
                     int64_t channels, int64_t area, double eps) {
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using C = ComputeOf<T>;
    const Parameter<C> scale(pt, gamma, channels), shift(pt, beta, channels);
    const Parameter<C> mean(pt, running_mean, channels), var(pt, running_var, channels);
    std::vector<C> v(size_t(3 * channels));
    C* const invstd = v.data();
    for (int64_t c = 0; c < channels; ++c) invstd[c] = C(1) / std::sqrt(var.data()[c] + C(eps));
    slopes(channels, mean.data(), invstd, scale.data(), shift.data(), invstd + channels,
           invstd + 2 * channels);
    apply(static_cast<const T*>(x), static_cast<T*>(y), {batch, channels, area},
          invstd + channels, invstd + 2 * channels);
  });
}

// Training: dx = gamma invstd (grad - sum / n - (x - mean) invstd^2 product / n); evaluating, the
// statistics are constants and dx = gamma invstd grad.
void batch_norm_backward(DType t, DType pt, const void* grad, const void* x, const void* gamma,
                         const void* running_mean, const void* running_var, const void* mean,
                         const void* invstd, void* dx, void* dgamma, void* dbeta, int64_t batch,
                         int64_t channels, int64_t area, bool train, double eps) {
  const Shape s{batch, channels, area};
  dispatch_floating(t, [&](auto* p) {
    using T = pointee<decltype(p)>;
    using C = ComputeOf<T>;
    const T* const pg = static_cast<const T*>(grad);
    const T* const px = static_cast<const T*>(x);
    const Parameter<C> scale(pt, gamma, channels);
    const Parameter<C> m(train ? DTypeOf<C>::value : pt, train ? mean : running_mean, channels);
    const Parameter<C> r(train ? DTypeOf<C>::value : pt, train ? invstd : running_var, channels);
    std::vector<double> sums(size_t(2 * channels));
    double* const product = sums.data() + channels;
    gradient_sums(pg, px, s, m.data(), sums.data(), product);
    std::vector<C> v(size_t(5 * channels));
    C *const a = v.data(), *const b = a + channels, *const k = b + channels;
    C *const scale_grad = k + channels, *const shift_grad = scale_grad + channels;
    const double n = double(s.count());
    for (int64_t c = 0; c < channels; ++c) {
      const double inverse = train ? double(r.data()[c])
                                   : 1 / std::sqrt(double(r.data()[c]) + eps);
      const double slope = scale.data() ? inverse * double(scale.data()[c]) : inverse;
      const double lean = train ? -slope * inverse * inverse * product[c] / n : 0;
      a[c] = C(slope);
      b[c] = C(lean);
      k[c] = train ? C(-slope * sums[c] / n - lean * double(m.data()[c])) : C(0);
      scale_grad[c] = C(product[c] * inverse);
      shift_grad[c] = C(sums[c]);
    }
    if (dx) apply_gradient(pg, px, static_cast<T*>(dx), s, a, b, k);
    if (dgamma) store_parameter(pt, dgamma, scale_grad, channels);
    if (dbeta) store_parameter(pt, dbeta, shift_grad, channels);
  });
}

}  // namespace rl::kernels
