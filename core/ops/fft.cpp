// Fourier transforms along any dimensions: the three records that all of torch.fft is made of.
#include "ops/fft.h"

#include <algorithm>
#include <cmath>

#include "kernels/fft.h"
#include "kernels/functors/scalar.h"

namespace rl::ops {
namespace {

// Sizes and strides of a result. It lies densely in the order batch dimensions, transformed ones,
// each by falling strides of the input, as PyTorch's does (SpectralOps.cpp, _exec_fft).
struct Layout {
  Dims sizes, strides, order;
};

void by_falling_strides(int64_t* begin, int64_t* end, Ints strides) {
  std::stable_sort(begin, end, [&](int64_t a, int64_t b) {
    return strides[size_t(a)] > strides[size_t(b)];
  });
}

// All dimensions, those in `dim` last. Which order the others are in shows where strides are
// equal: the first and the last that stand wrong change places, until none does.
Dims batch_first(int64_t rank, Ints dim) {
  Dims order;
  for (int64_t d = 0; d < rank; ++d) order.push_back(d);
  const auto transformed = [&](int64_t d) {
    return std::find(dim.begin(), dim.end(), d) != dim.end();
  };
  for (int64_t low = 0, high = rank; low < high; ++low) {
    if (!transformed(order[size_t(low)])) continue;
    do --high;
    while (high > low && transformed(order[size_t(high)]));
    std::swap(order[size_t(low)], order[size_t(high)]);
  }
  return order;
}

using kernels::fn::times;  // what does not fit is refused where memory is asked for

Layout layout_of(Ints in_strides, Ints out_sizes, Ints dim) {
  Layout made;
  made.sizes = Dims(out_sizes);
  made.order = batch_first(int64_t(out_sizes.size()), dim);
  const size_t batch = out_sizes.size() - dim.size();
  by_falling_strides(made.order.data(), made.order.data() + batch, in_strides);
  std::copy(dim.begin(), dim.end(), made.order.data() + batch);
  made.strides.resize(out_sizes.size());
  int64_t step = 1;
  for (size_t i = out_sizes.size(); i-- > batch;) {
    made.strides[size_t(made.order[i])] = step;
    step = times(step, std::max<int64_t>(1, out_sizes[size_t(made.order[i])]));
  }
  for (size_t i = batch; i-- > 0;) {
    made.strides[size_t(made.order[i])] = step;
    step = times(step, out_sizes[size_t(made.order[i])]);
  }
  return made;
}

Dims wrapped(const Tensor& self, Ints dim) {
  const Dims wrapped = wrap_dims(dim, self.dim());
  for (int64_t d : wrapped) check(self.dim() > 0 && self.sizes()[size_t(d)] > 0,
                                  "Invalid number of data points (0) specified");
  return wrapped;
}
// The same in the order in which they lie in memory; the last may have to stay.
Dims sorted(Dims dim, Ints strides, bool keep_last) {
  by_falling_strides(dim.data(), dim.data() + dim.size() - keep_last, strides);
  return dim;
}

double scale_of(Ints sizes, Ints dim, int64_t normalization) {
  double n = 1;
  for (int64_t d : dim) n *= double(sizes[size_t(d)]);
  return normalization == int64_t(FftNorm::ByRootN) ? 1 / std::sqrt(n)
       : normalization == int64_t(FftNorm::ByN)     ? 1 / n : 1;
}

void check_double_or_float(const Tensor& t) {
  const DType real = real_of(t.dtype());
  check(real == DType::Float || real == DType::Double,
        "MKL FFT doesn't support tensors of type: ", type_name_of(real));
}

// ---- Rows in memory. With the dimensions of `t` in `order`: whether the last has stride 1 and
// the others are as one; then its stride.
bool as_rows(const Tensor& t, Ints order, int64_t* pitch) {
  const size_t last = order.size() - 1;
  if (t.sizes()[size_t(order[last])] > 1 && t.strides()[size_t(order[last])] != 1) return false;
  int64_t expected = -1;
  *pitch = t.sizes()[size_t(order[last])];
  for (size_t i = last; i-- > 0;) {
    const int64_t n = t.sizes()[size_t(order[i])], stride = t.strides()[size_t(order[i])];
    if (n == 1) continue;
    if (expected < 0) *pitch = stride;
    else if (stride != expected) return false;
    expected = stride * n;
  }
  return true;
}

// `t` itself if its rows can be read as they are, else a copy with its dimensions in `order`.
Tensor with_rows(const Tensor& t, Ints order, int64_t* pitch) {
  if (as_rows(t, order, pitch)) return t;
  Dims strides(t.sizes());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[size_t(order[i])] = step;
    step *= t.sizes()[size_t(order[i])];
  }
  const Tensor copy = empty_strided(t.sizes(), strides, t.dtype());
  copy_data(copy, t);
  *pitch = t.sizes()[size_t(order[order.size() - 1])];
  return copy;
}

// In place along all of the last `count` dimensions in `order` but the last one.
void other_dims(const Tensor& t, Ints order, size_t count, bool forward) {
  int64_t inner = t.sizes()[size_t(order[order.size() - 1])];
  for (size_t i = order.size() - 1; i-- > order.size() - count;) {
    const int64_t n = t.sizes()[size_t(order[i])];
    kernels::fft_columns(real_of(t.dtype()), t.numel() / (n * inner), n, inner, forward, 1,
                         t.data());
    inner *= n;
  }
}

void run_c2c(const Tensor& result, const Tensor& self, Ints dim, int64_t normalization,
             bool forward) {
  check_double_or_float(self);
  if (result.numel() == 0) return;
  const Dims lying = sorted(Dims(dim), self.strides(), false);
  const Layout layout = layout_of(self.strides(), result.sizes(), lying);
  kernels::FftRows rows;
  rows.n = rows.out_pitch = self.sizes()[size_t(lying[lying.size() - 1])];
  rows.count = self.numel() / rows.n;
  rows.forward = forward;
  rows.scale = scale_of(self.sizes(), dim, normalization);
  Tensor from = self;
  if (!as_rows(self, layout.order, &rows.in_pitch)) {
    copy_data(result, self);
    from = result;
    rows.in_pitch = rows.n;
  }
  kernels::fft_rows(real_of(self.dtype()), rows, from.data(), result.data());
  other_dims(result, layout.order, dim.size(), forward);
}

Layout layout_c2c(Ints strides, Ints sizes, const Dims& dim) {
  return layout_of(strides, sizes, sorted(dim, strides, false));
}

void add_result(Infer& r, const Layout& layout, DType dtype, Device device) {
  r.result(layout.sizes, layout.strides, dtype, device);
}

Dims all_but_last(Ints dim) { return Dims(Ints(dim.data(), dim.size() - 1)); }

}  // namespace

const Op<Tensor(Tensor, Ints, int64_t, bool)> fft_c2c = define<Tensor(Tensor, Ints, int64_t, bool)>(
    "_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor")
  .doc(R"(
    The discrete Fourier transform of complex numbers along `dim`: with exp(-2 pi i j k / n) if
    `forward`, else with its conjugate. `normalization` 1 divides by the root of n, 2 by n.
  )")
  .node("FftC2CBackward0")
  .forms(Function | Out)
  .out({.dtype = OutDType::Any})
  .linear()
  .infer([](Infer& r, const Tensor& self, Ints dim, int64_t, bool) {
    check(self.is_complex(), "Only supports complex dtypes, but found: ",
          type_name_of(self.dtype()));
    if (dim.empty()) return r.like(self);
    add_result(r, layout_c2c(self.strides(), self.sizes(), wrapped(self, dim)), self.dtype(),
               self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, Ints dim, int64_t normalization, bool forward) {
    if (dim.empty()) return copy_data(result, self);
    run_c2c(result, self, wrap_dims(dim, self.dim()), normalization, forward);
  })
  .grad("self", "grad, dim, normalization, forward",
        [](const Tensor& grad, Ints dim, int64_t normalization, bool forward) {
    return fft_c2c(grad, dim, normalization, !forward);
  });

const Op<Tensor(Tensor, Ints, int64_t, bool)> fft_r2c = define<Tensor(Tensor, Ints, int64_t, bool)>(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor")
  .doc(R"(
    The forward discrete Fourier transform of real numbers along `dim`; `onesided` leaves out the
    half of the last dimension that is the conjugate of the other. `normalization` as in _fft_c2c.
  )")
  .node("FftR2CBackward0")
  .forms(Function | Out)
  .out({.dtype = OutDType::Any})
  .linear()
  .infer([](Infer& r, const Tensor& self, Ints dim, int64_t, bool onesided) {
    check(self.is_floating(), "Only supports floating-point dtypes, but found: ",
          type_name_of(self.dtype()));
    check(!dim.empty(), "ArrayRef: attempted to access back() of empty list");
    const Dims lying = sorted(wrapped(self, dim), self.strides(), true);
    Dims sizes(self.sizes());
    int64_t& last = sizes[size_t(lying[lying.size() - 1])];
    if (onesided) last = last / 2 + 1;
    add_result(r, layout_of(self.strides(), sizes, lying), complex_of(self.dtype()),
               self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, Ints dim, int64_t normalization, bool onesided) {
    check_double_or_float(self);
    if (result.numel() == 0) return;
    const Dims lying = sorted(wrap_dims(dim, self.dim()), self.strides(), true);
    const Layout layout = layout_of(self.strides(), result.sizes(), lying);
    const size_t last = size_t(lying[lying.size() - 1]);
    kernels::FftRows rows;
    rows.n = self.sizes()[last];
    rows.count = self.numel() / rows.n;
    rows.out_pitch = result.sizes()[last];
    rows.scale = scale_of(self.sizes(), lying, normalization);
    const Tensor from = with_rows(self, layout.order, &rows.in_pitch);
    kernels::fft_rows_of_real(self.dtype(), rows, !onesided, from.data(), result.data());
    other_dims(result, layout.order, dim.size(), true);
  })
  // The gradient of what is left out is zero. The engine takes the real part.
  .grad("self", "grad, dim, normalization, onesided, self.sizes",
        [](const Tensor& grad, Ints dim, int64_t normalization, bool onesided, Ints sizes) {
    if (!onesided) return fft_c2c(grad, dim, normalization, false);
    const int64_t last = wrap_dim(dim[dim.size() - 1], grad.dim());
    const int64_t missing = sizes[size_t(last)] - grad.sizes()[size_t(last)];
    if (missing == 0) return fft_c2c(grad, dim, normalization, false);
    Dims pad;
    pad.resize(size_t(2 * (grad.dim() - last)));
    std::fill(pad.begin(), pad.end(), 0);
    pad[pad.size() - 1] = missing;
    return fft_c2c(constant_pad_nd(grad, pad, 0), dim, normalization, false);
  });

const Op<Tensor(Tensor, Ints, int64_t, int64_t)> fft_c2r =
    define<Tensor(Tensor, Ints, int64_t, int64_t)>(
    "_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor")
  .doc(R"(
    The backward discrete Fourier transform along `dim` of half of what _fft_r2c gives, to
    `last_dim_size` real numbers in the last of them. `normalization` as in _fft_c2c.
  )")
  .node("FftC2RBackward0")
  .forms(Function | Out)
  .out({.dtype = OutDType::Any})
  .linear()
  .infer([](Infer& r, const Tensor& self, Ints dim, int64_t, int64_t last_dim_size) {
    check(self.is_complex(), "Only supports complex dtypes, but found: ",
          type_name_of(self.dtype()));
    check(!dim.empty(), "ArrayRef: attempted to access back() of empty list");
    const Dims all = wrapped(self, dim);
    const size_t last = size_t(all[all.size() - 1]);
    check(last_dim_size >= 1 && self.sizes()[last] == last_dim_size / 2 + 1,
          "_fft_c2r: expected ", last_dim_size / 2 + 1, " numbers along dimension ", int64_t(last),
          " for a result of ", last_dim_size, ", but got ", self.sizes()[last]);
    Dims sizes(self.sizes()), strides(self.strides());
    if (all.size() > 1) strides = layout_c2c(strides, sizes, all_but_last(all)).strides;
    sizes[last] = last_dim_size;
    add_result(r, layout_of(strides, sizes, Ints{int64_t(last)}), real_of(self.dtype()),
               self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, Ints dim, int64_t normalization,
             int64_t last_dim_size) {
    check_double_or_float(self);
    if (result.numel() == 0) return;
    const Dims all = wrap_dims(dim, self.dim());
    const int64_t last = all[all.size() - 1];
    Tensor from = self;
    if (all.size() > 1) {
      const Dims others = all_but_last(all);
      const Layout layout = layout_c2c(self.strides(), self.sizes(), others);
      from = empty_strided(layout.sizes, layout.strides, self.dtype());
      run_c2c(from, self, others, normalization, false);
    }
    const Layout layout = layout_of(from.strides(), result.sizes(), Ints{last});
    kernels::FftRows rows;
    rows.n = rows.out_pitch = last_dim_size;
    rows.count = result.numel() / rows.n;
    rows.scale = scale_of(result.sizes(), Ints{last}, normalization);
    from = with_rows(from, layout.order, &rows.in_pitch);
    kernels::fft_rows_to_real(result.dtype(), rows, from.data(), result.data());
  })
  // What was left out of the input is the conjugate of what is there, so that this counts twice.
  .grad("self", "grad, dim, normalization", [](const Tensor& grad, Ints dim,
                                               int64_t normalization) {
    const Tensor half = fft_r2c(grad, dim, normalization, true);
    const int64_t last = wrap_dim(dim[dim.size() - 1], grad.dim()), n = grad.sizes()[size_t(last)];
    const int64_t twice = n - half.sizes()[size_t(last)];
    if (twice > 0) mul.in_place(narrow(half, last, 1, twice), Scalar(2));
    return half;
  });

}  // namespace rl::ops
