// Grid sampling: blocks of samples divided among threads.
#include "kernels/grid_sample.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/parallel.h"
#include "kernels/half_copies.h"
#include "kernels/levels/grid_sample.h"

namespace rl::kernels {
namespace {

template <class T> using Products = T[kMostTaps][kGridBlock];

// Calls f(batch entry, first sample, samples, scratch taps) for every block.
template <class T, class F> void for_blocks(const GridSample& s, F&& f) {
  const int64_t blocks = (s.samples + kGridBlock - 1) / kGridBlock;
  const int64_t grain = 1 + 16384 / (std::min(s.samples, kGridBlock) * (4 * s.channels + 4));
  parallel_for(0, s.batch * blocks, grain, [&](int64_t begin, int64_t end) {
    const std::unique_ptr<GridTaps<T>> taps(new GridTaps<T>);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i % blocks * kGridBlock;
      f(i / blocks, from, std::min(kGridBlock, s.samples - from), *taps);
    }
  });
}

template <class T> const T* numbers_at(const GridSample& s, const T* grid, int64_t b, int64_t i) {
  return grid + (b * s.samples + i) * s.spatial;
}

template <class T> void forward(const GridSample& s, T* output, const T* input, const T* grid) {
  const auto& loops = grid_loops<T>();
  for_blocks<T>(s, [&](int64_t b, int64_t from, int64_t n, GridTaps<T>& taps) {
    loops.find(taps, s, numbers_at(s, grid, b, from), n, 0);
    for (int64_t c = b * s.channels; c < (b + 1) * s.channels; ++c)
      loops.sample(output + c * s.samples + from, input + c * s.in_size(), taps, taps.weight, n,
                   false);
  });
}

template <class T>
void scatter(T* to, const T* values, const GridTaps<T>& taps, const T (*weight)[kGridBlock],
             int64_t n) {
  for (int k = 0; k < taps.count; ++k)
    for (int64_t i = 0; i < n; ++i)
      if (taps.index[k][i] >= 0) to[taps.index[k][i]] += weight[k][i] * values[i];
}

// Sums of products[k][i] * weight[k][i] over taps.
template <class T>
void add_sums(T* to, int64_t step, const T (*products)[kGridBlock], const T (*weight)[kGridBlock],
              int count, int64_t n) {
  for (int k = 0; k < count; ++k)
    for (int64_t i = 0; i < n; ++i) to[i * step] += products[k][i] * weight[k][i];
}

// Weights of the derivative in the direction that `along` gives per sample: sum over dimensions of
// along * parts[which(d)].
template <class T, class F>
void directed(T (*weight)[kGridBlock], const T* along, int spatial, int count, int64_t n,
              const T (*parts)[kMostTaps][kGridBlock], F&& which) {
  for (int k = 0; k < count; ++k)
    for (int64_t i = 0; i < n; ++i) {
      T sum = 0;
      for (int d = 0; d < spatial; ++d) sum += along[i * spatial + d] * parts[which(d)][k][i];
      weight[k][i] = sum;
    }
}

// Adds up to the input's elements what samples took from them: a range of channels per thread, so
// that no two threads meet. With `along`, by the weights' derivative in that direction.
template <class T>
void to_input(const GridSample& s, T* result, const T* grad, const T* grid, const T* along) {
  const auto& loops = grid_loops<T>();
  const int64_t planes = s.batch * s.channels;
  const int64_t grain = std::max<int64_t>(1 + 8192 / (s.samples + 1), 1);
  parallel_for(0, planes, grain, [&](int64_t begin, int64_t end) {
    const std::unique_ptr<GridTaps<T>> taps(new GridTaps<T>);
    std::fill(result + begin * s.in_size(), result + end * s.in_size(), T(0));
    for (int64_t first = begin; first < end;) {
      const int64_t b = first / s.channels, last = std::min(end, (b + 1) * s.channels);
      for (int64_t from = 0; from < s.samples; from += kGridBlock) {
        const int64_t n = std::min(kGridBlock, s.samples - from);
        loops.find(*taps, s, numbers_at(s, grid, b, from), n, along ? 1 : 0);
        if (along)
          directed(taps->weight, numbers_at(s, along, b, from), s.spatial, taps->count, n,
                   taps->first, [](int d) { return d; });
        for (int64_t c = first; c < last; ++c)
          scatter(result + c * s.in_size(), grad + c * s.samples + from, *taps, taps->weight, n);
      }
      first = last;
    }
  });
}

template <class T>
void to_grid(const GridSample& s, T* result, const T* grad, const T* input, const T* grid) {
  const auto& loops = grid_loops<T>();
  for_blocks<T>(s, [&](int64_t b, int64_t from, int64_t n, GridTaps<T>& taps) {
    T* to = result + (b * s.samples + from) * s.spatial;
    std::fill(to, to + n * s.spatial, T(0));
    if (s.mode == GridSample::Nearest) return;
    loops.find(taps, s, numbers_at(s, grid, b, from), n, 1);
    alignas(64) Products<T> products;
    std::memset(products, 0, sizeof(T) * kGridBlock * size_t(taps.count));
    for (int64_t c = b * s.channels; c < (b + 1) * s.channels; ++c)
      loops.multiply(products, grad + c * s.samples + from, input + c * s.in_size(), taps, n);
    for (int d = 0; d < s.spatial; ++d)
      add_sums(to + d, s.spatial, products, taps.first[d], taps.count, n);
  });
}

int pair_of(int d, int e) { return d > e ? pair_of(e, d) : d == 0 ? e : d == 1 ? 2 + e : 5; }

// Gradients of <gg_input, grad_input> + <gg_grid, grad_grid> by the output's gradient.
template <class T>
void second_to_grad(const GridSample& s, T* result, const T* gg_input, const T* gg_grid,
                    const T* input, const T* grid) {
  const auto& loops = grid_loops<T>();
  for_blocks<T>(s, [&](int64_t b, int64_t from, int64_t n, GridTaps<T>& taps) {
    loops.find(taps, s, numbers_at(s, grid, b, from), n, 1);
    alignas(64) Products<T> weight;
    if (gg_grid) {
      std::memset(weight, 0, sizeof weight);
      directed(weight, numbers_at(s, gg_grid, b, from), s.spatial, taps.count, n, taps.first,
               [](int d) { return d; });
    }
    for (int64_t c = b * s.channels; c < (b + 1) * s.channels; ++c) {
      T* to = result + c * s.samples + from;
      std::fill(to, to + n, T(0));
      if (gg_input)
        loops.sample(to, gg_input + c * s.in_size(), taps, taps.weight, n, true);
      if (gg_grid) loops.sample(to, input + c * s.in_size(), taps, weight, n, true);
    }
  });
}

// ... and by the grid.
template <class T>
void second_to_grid(const GridSample& s, T* result, const T* gg_input, const T* gg_grid,
                    const T* grad, const T* input, const T* grid) {
  const auto& loops = grid_loops<T>();
  for_blocks<T>(s, [&](int64_t b, int64_t from, int64_t n, GridTaps<T>& taps) {
    T* to = result + (b * s.samples + from) * s.spatial;
    std::fill(to, to + n * s.spatial, T(0));
    if (s.mode == GridSample::Nearest) return;
    loops.find(taps, s, numbers_at(s, grid, b, from), n, 2);
    alignas(64) Products<T> products, weight;
    const auto sum_channels = [&](const T* values) {
      std::memset(products, 0, sizeof products);
      for (int64_t c = b * s.channels; c < (b + 1) * s.channels; ++c)
        loops.multiply(products, grad + c * s.samples + from, values + c * s.in_size(), taps, n);
    };
    if (gg_input) {
      sum_channels(gg_input);
      for (int d = 0; d < s.spatial; ++d)
        add_sums(to + d, s.spatial, products, taps.first[d], taps.count, n);
    }
    if (!gg_grid) return;
    sum_channels(input);
    for (int e = 0; e < s.spatial; ++e) {
      directed(weight, numbers_at(s, gg_grid, b, from), s.spatial, taps.count, n, taps.second,
               [&](int d) { return pair_of(d, e); });
      add_sums(to + e, s.spatial, products, weight, taps.count, n);
    }
  });
}

// A tensor as floats or doubles: itself, or for halves a copy, rounded into it at the end.
template <class T> class Typed {
 public:
  Typed(DType dtype, const void* from, int64_t n)
      : data_(static_cast<T*>(const_cast<void*>(from))) {
    if (from && is_half(dtype)) take(FloatCopy(dtype, from, n));
  }
  Typed(DType dtype, void* to, int64_t n, bool) : data_(static_cast<T*>(to)), dtype_(dtype) {
    if (to && is_half(dtype)) {
      to_ = to;
      take(FloatCopy(n));
    }
  }
  ~Typed() { if (to_) copy_->round(dtype_, to_); }
  Typed(const Typed&) = delete;
  operator T*() const { return data_; }

 private:
  void take(FloatCopy&& copy) {
    copy_ = std::make_unique<FloatCopy>(std::move(copy));
    data_ = reinterpret_cast<T*>(copy_->data());
  }
  T* data_;
  void* to_ = nullptr;
  DType dtype_ = DType::Float;
  std::unique_ptr<FloatCopy> copy_;
};

template <class F> void with_type(DType dtype, F&& f) {
  if (dtype == DType::Double) f(static_cast<double*>(nullptr));
  else f(static_cast<float*>(nullptr));
}

struct Counts {
  int64_t input, output, grid;
  explicit Counts(const GridSample& s)
      : input(s.batch * s.channels * s.in_size()), output(s.batch * s.channels * s.samples),
        grid(s.batch * s.samples * s.spatial) {}
};

}  // namespace

void grid_sample(DType dtype, const GridSample& s, void* output, const void* input,
                 const void* grid) {
  const Counts n(s);
  with_type(dtype, [&]<class T>(T*) {
    const Typed<T> x(dtype, input, n.input), g(dtype, grid, n.grid);
    const Typed<T> y(dtype, output, n.output, true);
    forward<T>(s, y, x, g);
  });
}

void grid_sample_backward(DType dtype, const GridSample& s, void* grad_input, void* grad_grid,
                          const void* grad_output, const void* input, const void* grid) {
  const Counts n(s);
  with_type(dtype, [&]<class T>(T*) {
    const Typed<T> x(dtype, input, n.input), g(dtype, grid, n.grid);
    const Typed<T> grad(dtype, grad_output, n.output);
    const Typed<T> dx(dtype, grad_input, n.input, true), dg(dtype, grad_grid, n.grid, true);
    if (dx) to_input<T>(s, dx, grad, g, nullptr);
    if (dg) to_grid<T>(s, dg, grad, x, g);
  });
}

void grid_sample_second(DType dtype, const GridSample& s, const GridSecond& second,
                        const void* grad_output, const void* input, const void* grid) {
  const Counts n(s);
  with_type(dtype, [&]<class T>(T*) {
    const Typed<T> x(dtype, input, n.input), g(dtype, grid, n.grid);
    const Typed<T> grad(dtype, grad_output, n.output);
    const Typed<T> ggx(dtype, second.gg_input, n.input), ggg(dtype, second.gg_grid, n.grid);
    const Typed<T> to_grad(dtype, second.grad_output, n.output, true);
    const Typed<T> to_x(dtype, second.input, n.input, true), to_g(dtype, second.grid, n.grid, true);
    if (to_grad) second_to_grad<T>(s, to_grad, ggx, ggg, x, g);
    if (to_x) {
      if (ggg) to_input<T>(s, to_x, grad, g, ggg);
      else std::fill(static_cast<T*>(to_x), static_cast<T*>(to_x) + n.input, T(0));
    }
    if (to_g) second_to_grid<T>(s, to_g, ggx, ggg, grad, x, g);
  });
}

}  // namespace rl::kernels
