// Max and average pooling, sliding and adaptive, over one to three dimensions.
#include "ops/pooling.h"

#include "kernels/pooling.h"
#include "ops/dense.h"
#include "ops/expect.h"
#include "ops/formats.h"

namespace rl::ops {
namespace {

using kernels::Pooling;
using Two = std::pair<Tensor, Tensor>;

struct Window {
  Ints kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

int64_t at(Ints v, size_t d) { return v.size() == 1 ? v[0] : v[d]; }

int64_t pooled_size(int64_t in, int64_t k, int64_t stride, int64_t pad, int64_t dilation,
                    bool ceil) {
  const int64_t span = in + 2 * pad - dilation * (k - 1) - 1 + (ceil ? stride - 1 : 0);
  int64_t out = (span >= 0 ? span / stride : -((-span + stride - 1) / stride)) + 1;
  if (ceil && (out - 1) * stride >= in + pad) --out;
  return out;
}

// Everything before the last `spatial` dimensions counts as planes.
Pooling planes_of(Ints input, Ints output, size_t spatial) {
  Pooling p;
  const size_t rank = input.size(), lead = 3 - spatial;
  for (size_t d = 0; d + spatial < rank; ++d) p.planes *= input[d];
  for (size_t d = 0; d < spatial; ++d) {
    p.in[lead + d] = input[rank - spatial + d];
    p.out[lead + d] = output[rank - spatial + d];
  }
  return p;
}

void lay_window(Pooling& p, const Window& w, size_t spatial) {
  const size_t lead = 3 - spatial;
  for (size_t d = 0; d < spatial; ++d) {
    p.kernel[lead + d] = at(w.kernel, d);
    p.stride[lead + d] = w.stride.empty() ? at(w.kernel, d) : at(w.stride, d);
    p.padding[lead + d] = at(w.padding, d);
    p.dilation[lead + d] = w.dilation.empty() ? 1 : at(w.dilation, d);
  }
}

void check_lengths(const Window& w, size_t n, const char* name) {
  const char* count = n == 2 ? "two" : "three";
  const auto fits = [&](Ints v, bool none) {
    return v.size() == 1 || v.size() == n || (none && v.empty());
  };
  check(fits(w.kernel, false), name, ": kernel_size must either be a single int, or a tuple of ",
        count, " ints");
  check(fits(w.stride, true), name, ": stride must either be omitted, a single int, or a tuple of ",
        count, " ints");
  check(fits(w.padding, false), name, ": padding must either be a single int, or a tuple of ",
        count, " ints");
  check(fits(w.dilation, true), name, ": dilation must be either a single int, or a tuple of ",
        count, " ints");
  for (Ints list : {w.kernel, w.stride, w.padding, w.dilation})
    for (int64_t v : list)
      check(v == int32_t(v), "value cannot be converted to type int without overflow");
}

void check_positive(const char* what, const char* letter, Ints list, size_t n) {
  std::string given;
  bool good = true;
  for (size_t d = 0; d < n; ++d) {
    good &= at(list, d) > 0;
    given += text(d ? " " : "", letter, "THW"[3 - n + d], ": ", at(list, d));
  }
  check(good, what, " should be greater than zero, but got ", given);
}

Dims sliding_sizes(const Tensor& input, const Window& w, size_t spatial, const char* name) {
  check_lengths(w, spatial, name);
  for (size_t d = 0; d < spatial; ++d)
    check((w.stride.empty() ? at(w.kernel, d) : at(w.stride, d)) != 0, "stride should not be zero");
  const int64_t rank = input.dim(), n = int64_t(spatial);
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t pad = at(w.padding, d), k = at(w.kernel, d);
    const int64_t dilation = w.dilation.empty() ? 1 : at(w.dilation, d);
    check(pad >= 0, "pad must be non-negative, but got pad: ", pad);
    check(pad <= (dilation * (k - 1) + 1) / 2, "pad should be at most half of effective kernel "
          "size, but got pad=", pad, ", kernel_size=", k, " and dilation=", dilation);
  }
  check(rank == n + 1 || rank == n + 2, "non-empty ", n + 1, "D or ", n + 2,
        "D (batch mode) tensor expected for input");
  check_positive("kernel size", "k", w.kernel, spatial);
  check_positive("stride", "d", w.stride.empty() ? w.kernel : w.stride, spatial);
  if (!w.dilation.empty()) check_positive("dilation", "dilation", w.dilation, spatial);
  bool good = true;
  for (int64_t d = 0; d < rank; ++d) good &= input->sizes[d] > 0 || (d == 0 && rank == n + 2);
  check(good, "Expected ", n + 1, "D or ", n + 2, "D (batch mode) tensor with optional 0 dim batch "
        "size for input, but got:", input.sizes());
  Dims sizes(input.sizes());
  std::string before, after;
  bool fits = true;
  for (size_t d = 0; d < spatial; ++d) {
    const size_t i = size_t(rank) - spatial + d;
    const int64_t k = at(w.kernel, d);
    sizes[i] = pooled_size(input->sizes[i], k, w.stride.empty() ? k : at(w.stride, d),
                           at(w.padding, d), w.dilation.empty() ? 1 : at(w.dilation, d),
                           w.ceil_mode);
    fits &= sizes[i] >= 1;
    before += text("x", input->sizes[i]);
    after += text("x", sizes[i]);
  }
  const int64_t channels = input->sizes[rank - n - 1];
  check(fits, "Given input size: (", channels, before, "). Calculated output size: (", channels,
        after, "). Output size is too small");
  return sizes;
}

void check_dtype(const Tensor& input, const char* name, bool halves = true) {
  check((input.is_floating() && (halves || !is_half(input.dtype()))) ||
        input.dtype() == DType::Int64 || input.is_meta(),
        ErrorKind::NotImplemented, "\"", name, "\" not implemented for '",
        type_name_of(input.dtype()), "'");
}

// Runs `fill` on dense results and moves them to where they belong.
template <class F> void into_dense(const Tensor& a, const Tensor& b, F fill) {
  const Tensor x = a.is_contiguous() ? a : empty(a.sizes(), a.dtype());
  const Tensor y = !b || b.is_contiguous() ? b : empty(b.sizes(), b.dtype());
  if (x.numel()) fill(x, y);
  if (!x.same(a)) copy_data(a, x);
  if (b && !y.same(b)) copy_data(b, y);
}

void gradient_like(Infer& r, Ints sizes, const Tensor& grad, bool channels_last) {
  if (!channels_last) r.result(sizes, grad.dtype(), grad.device());
  else r.result(sizes, format_strides(sizes, sizes.size() == 5 ? MemoryFormat::ChannelsLast3d
                                                               : MemoryFormat::ChannelsLast),
                grad.dtype(), grad.device());
}

// The last dimensions are pooled, those before are planes.
void expect_planes(const char* op, Ints input, Ints output, int64_t spatial) {
  expect(spatial == 2 || spatial == 3, op, "planes have two or three dimensions");
  const size_t before = input.size() - size_t(spatial);
  bool fits = input.size() == output.size() && input.size() >= size_t(spatial) && input.size() <= 5;
  for (size_t d = 0; fits && d < input.size(); ++d)
    fits = input[d] >= 0 && (d >= before || input[d] == output[d]);
  expect(fits, op, "the planes of input and gradient differ");
}
void expect_format(const char* op, Ints sizes, bool channels_last) {
  expect(!channels_last || sizes.size() == 4 || sizes.size() == 5, op,
         "channels come last in four or five dimensions");
}
void expect_places(const char* op, Ints input, int64_t spatial, const Tensor& indices) {
  int64_t area = 1;
  for (int64_t d = 0; d < spatial; ++d) area *= input[input.size() - 1 - size_t(d)];
  const int64_t* at = indices.ptr<int64_t>();
  bool fits = true;
  for (int64_t i = 0; i < indices.numel(); ++i) fits &= uint64_t(at[i]) < uint64_t(area);
  expect(fits, op, "an index lies outside its plane");
}

}  // namespace

// ---- The gradient of all max pools: places by index, and its own gradient, which reads them.

const auto pool_gather = define<Tensor(Tensor, Tensor, int64_t)>(
    "_pool_gather(Tensor self, Tensor indices, int spatial) -> Tensor")
  .doc("Elements of planes at the positions that a max pool found.")
  .forms(Hidden)
  .dense()
  .infer([](Infer& r, const Tensor& self, const Tensor& indices, int64_t spatial) {
    expect_planes("_pool_gather", self.sizes(), indices.sizes(), spatial);
    expect(indices.dtype() == DType::Int64, "_pool_gather", "indices are int64");
    r.result(indices.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& indices, int64_t spatial) {
    expect_places("_pool_gather", self.sizes(), spatial, indices);
    const Pooling p = planes_of(self.sizes(), indices.sizes(), size_t(spatial));
    dispatch(self.dtype(), [&](auto* t) {
      using T = pointee<decltype(t)>;
      for (int64_t i = 0; i < p.planes; ++i)
        for (int64_t k = 0; k < p.out_size(); ++k) {
          const int64_t to = i * p.out_size() + k;
          result.ptr<T>()[to] = self.ptr<T>()[i * p.in_size() + indices.ptr<int64_t>()[to]];
        }
    });
  })
  .grad("self", "grad, indices, self.sizes, spatial",
        [](const Tensor& grad, const Tensor& indices, Ints sizes, int64_t spatial) {
    return max_pool_backward(grad, indices, sizes, spatial);
  });

const Op<Tensor(Tensor, Tensor, Ints, int64_t, bool)> max_pool_backward =
    define<Tensor(Tensor, Tensor, Ints, int64_t, bool)>(
    "_max_pool_backward(Tensor grad_output, Tensor indices, int[] input_sizes, int spatial, "
    "bool channels_last=False) -> Tensor")
  .doc("Gradients of a max pool, added up where its maxima were.")
  .forms(Hidden)
  .dense()
  .infer([](Infer& r, const Tensor& grad, const Tensor& indices, Ints sizes, int64_t spatial,
            bool last) {
    expect_planes("_max_pool_backward", sizes, grad.sizes(), spatial);
    expect_format("_max_pool_backward", sizes, last);
    expect_like(indices, grad.sizes(), DType::Int64, "_max_pool_backward", "indices");
    gradient_like(r, sizes, grad, last);
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& indices, Ints sizes,
             int64_t spatial, bool) {
    expect_places("_max_pool_backward", sizes, spatial, indices);
    into_dense(result, Tensor(), [&](const Tensor& x, const Tensor&) {
      if (grad.numel() == 0) set_zero(x);
      else kernels::max_pool_backward(grad.dtype(), planes_of(sizes, grad.sizes(), size_t(spatial)),
                                      x.data(), grad.data(), indices.ptr<int64_t>());
    });
  })
  .grad("grad_output", "grad, indices, spatial",
        [](const Tensor& grad, const Tensor& indices, int64_t spatial) {
    return pool_gather(grad, indices, spatial);
  });

namespace {

using MaxPool = Two(Tensor, Ints, Ints, Ints, Ints, bool);
using MaxPoolOne = Tensor(Tensor, Ints, Ints, Ints, Ints, bool);

#define RL_MAX_POOL(N, NODE)                                                                     \
  const auto max_pool##N##d_indices = define<MaxPool>(                                           \
      "max_pool" #N "d_with_indices(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], " \
      "int[" #N "] padding=0, int[" #N "] dilation=1, bool ceil_mode=False) "                    \
      "-> (Tensor, Tensor)")                                                      \
    .doc("Maxima of sliding windows and their positions in each plane.")                         \
    .node(NODE)                                                                                  \
    .nondiff("result1")                                                                          \
    .forms(NN | Out)                                                                             \
    .infer([](Infer& r, const Tensor& self, Ints kernel, Ints stride, Ints padding,              \
              Ints dilation, bool ceil) {                                                        \
      const Dims sizes = sliding_sizes(self, {kernel, stride, padding, dilation, ceil}, N,       \
                                       "max_pool" #N "d");                                       \
      check_dtype(self, "max_pool" #N "d");                                                      \
      result_in_format(r, sizes, self, self.dtype());                                            \
      result_in_format(r, sizes, self, DType::Int64);                                            \
    })                                                                                           \
    .kernel([](Tensor& output, Tensor& indices, const Tensor& self, Ints kernel, Ints stride,    \
               Ints padding, Ints dilation, bool) {                                              \
      Pooling p = planes_of(self.sizes(), output.sizes(), N);                                    \
      lay_window(p, {kernel, stride, padding, dilation}, N);                                     \
      const Tensor x = dense(self);                                                              \
      into_dense(output, indices, [&](const Tensor& y, const Tensor& i) {                        \
        kernels::max_pool(x.dtype(), p, y.data(), i.ptr<int64_t>(), x.data());                   \
      });                                                                                        \
    })                                                                                           \
    .grad("self", "grad.result, result1, self", [](const Tensor& grad, const Tensor& indices,    \
                                                   const Tensor& self) {                         \
      return max_pool_backward(grad, indices, self.sizes(), N, suggests_channels_last(self));    \
    })
RL_MAX_POOL(2, "MaxPool2DWithIndicesBackward0");
RL_MAX_POOL(3, "MaxPool3DWithIndicesBackward0");
#undef RL_MAX_POOL

#define RL_MAX_POOL_ONE(N)                                                                       \
  const auto max_pool##N##d = define<MaxPoolOne>(                                                \
      "max_pool" #N "d(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], "            \
      "int[" #N "] padding=0, int[" #N "] dilation=1, bool ceil_mode=False) -> Tensor")          \
    .doc("Maxima of sliding windows over " #N " dimensions.")                                    \
    .autocast(N == 3 ? Autocast::Float : Autocast::None)                                         \
    .composite([](const Tensor& self, Ints kernel, Ints stride, Ints padding, Ints dilation,     \
                  bool ceil) {                                                                   \
      return std::get<0>(max_pool##N##d_indices(self, kernel, stride, padding, dilation, ceil)); \
    })
RL_MAX_POOL_ONE(2);
RL_MAX_POOL_ONE(3);
#undef RL_MAX_POOL_ONE

void check_one(Ints given, bool none, const char* name, const char* argument) {
  check(given.size() == 1 || (none && given.empty()), name, "() argument '", argument,
        "' should contain one int (got ", int64_t(given.size()), ")");
}

// A window of one dimension as one of two whose first side is 1.
struct Flat {
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  Flat(Ints k, Ints s, Ints p, Ints d) {
    kernel[1] = k[0];
    stride[1] = s.empty() ? k[0] : s[0];
    padding[1] = p[0];
    if (!d.empty()) dilation[1] = d[0];
  }
};

void check_line_settings(Ints kernel, Ints stride, Ints padding, Ints dilation) {
  const char* start = "max_pool1d() ";
  const char* end = " of size 1 but got size ";
  check(kernel.size() == 1, start, "kernel_size must be an int, list of ints or tuple of ints", end,
        int64_t(kernel.size()));
  check(stride.size() <= 1, start, "stride must be None, an int, list of ints, or tuple of ints",
        end, int64_t(stride.size()));
  check(padding.size() == 1, start, "padding must be an int, list of ints, or tuple of ints", end,
        int64_t(padding.size()));
  check(dilation.size() == 1, start, "dilation must be an int, list of ints or tuple of ints", end,
        int64_t(dilation.size()));
}

Two max_pool_line(const Tensor& self, Ints kernel, Ints stride, Ints padding, Ints dilation,
                  bool ceil) {
  check(self.dim() == 2 || self.dim() == 3, "max_pool1d: Expected 2D or 3D (batch mode) tensor "
        "with optional 0 dim batch size for input, but got:", self.sizes());
  const Flat f(kernel, stride, padding, dilation);
  for (int64_t v : {f.kernel[1], f.stride[1], f.padding[1], f.dilation[1]})
    check(v == int32_t(v), "value cannot be converted to type int without overflow");
  check(f.kernel[1] > 0, "max_pool1d() kernel_size must be greater than zero, but got ",
        f.kernel[1]);
  check(f.stride[1] > 0, "max_pool1d() stride must be greater than zero, but got ", f.stride[1]);
  check(f.padding[1] >= 0, "max_pool1d() padding must be non-negative, but got ", f.padding[1]);
  check(f.padding[1] <= f.kernel[1] / 2, "max_pool1d() padding should be at most half of kernel "
        "size, but got padding=", f.padding[1], " and kernel_size=", f.kernel[1]);
  check(f.dilation[1] > 0, "max_pool1d() dilation must be greater than zero, but got ",
        f.dilation[1]);
  const int64_t out = pooled_size(self->sizes[self.dim() - 1], f.kernel[1], f.stride[1],
                                  f.padding[1], f.dilation[1], ceil);
  check(out > 0, "max_pool1d() Invalid computed output size: ", out);
  const auto made = max_pool2d_indices(unsqueeze(self, -2), Ints(f.kernel, 2), Ints(f.stride, 2),
                                       Ints(f.padding, 2), Ints(f.dilation, 2), ceil);
  return {squeeze_dim(made.first, -2), squeeze_dim(made.second, -2)};
}

}  // namespace

const auto max_pool1d_indices = define<MaxPool>(
    "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
    "int[1] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)")
  .doc("Maxima of sliding windows over one dimension, and their positions.")
  .composite([](const Tensor& self, Ints kernel, Ints stride, Ints padding, Ints dilation,
                bool ceil) {
    check_one(kernel, false, "max_pool1d", "kernel_size");
    check_one(stride, true, "max_pool1d", "stride");
    check_one(padding, false, "max_pool1d", "padding");
    check_one(dilation, false, "max_pool1d", "dilation");
    return max_pool_line(self, kernel, stride, padding, dilation, ceil);
  });

const auto max_pool1d = define<MaxPoolOne>(
    "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
    "int[1] dilation=1, bool ceil_mode=False) -> Tensor")
  .doc("Maxima of sliding windows over one dimension.")
  .composite([](const Tensor& self, Ints kernel, Ints stride, Ints padding, Ints dilation,
                bool ceil) {
    check(self.is_floating() || self.is_meta() || self.dim() < 2, ErrorKind::NotImplemented,
          "\"max_pool1d_impl\" not implemented for '", type_name_of(self.dtype()), "'");
    check_line_settings(kernel, stride, padding, dilation);
    return max_pool_line(self, kernel, stride, padding, dilation, ceil).first;
  });

// ---- Average

namespace {

using AvgPool = Tensor(Tensor, Ints, Ints, Ints, bool, bool, MaybeInt);

Pooling averaging(Ints input, Ints output, Ints kernel, Ints stride, Ints padding, bool with_pad,
                  MaybeInt divisor, size_t spatial) {
  Pooling p = planes_of(input, output, spatial);
  lay_window(p, {kernel, stride, padding, {}}, spatial);
  p.count_include_pad = with_pad;
  p.divisor = divisor.value_or(0);
  return p;
}

// Each window of the gradient begins inside the padded input.
void expect_windows(const char* op, Ints input, Ints output, const Window& w, size_t spatial) {
  for (size_t d = 0; d < spatial; ++d) {
    const size_t i = input.size() - spatial + d;
    const int64_t step = w.stride.empty() ? at(w.kernel, d) : at(w.stride, d);
    const int64_t pad = at(w.padding, d), k = at(w.kernel, d);
    bool fits = pad <= k / 2 && k <= INT64_MAX / 4 && input[i] <= INT64_MAX / 4;
    fits = fits && (output[i] <= 1 || output[i] - 1 <= (input[i] + pad - 1) / step);
    expect(fits, op, "a window lies outside the input");
  }
}

}  // namespace

extern const Op<Tensor(Tensor, Ints, Ints, Ints, Ints, bool, MaybeInt, int64_t, bool, bool)>
    avg_pool_backward;

namespace {

bool goes_forward(const Window& w) {
  return std::all_of(w.stride.begin(), w.stride.end(), [](int64_t s) { return s > 0; });
}
// A volume must be as large as the window, padding aside.
void check_covers(const Tensor& self, Ints kernel) {
  bool good = kernel.size() == 1 || kernel.size() == 3;
  for (size_t d = 0; good && d < 3; ++d)
    good = self.size(int64_t(d) - 3) >= at(kernel, d) || at(kernel, d) <= 0 || self.numel() == 0;
  check(good || (kernel.size() != 1 && kernel.size() != 3), "input image (T: ", self.size(-3),
        " H: ", self.size(-2), " W: ", self.size(-1), ") smaller than kernel size (kT: ",
        at(kernel, 0), " kH: ", at(kernel, 1), " kW: ", at(kernel, 2), ")");
}

#define RL_AVG_POOL(N, NODE)                                                                     \
  const Op<AvgPool> avg_pool##N##d = define<AvgPool>(                                            \
      "avg_pool" #N "d(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], "            \
      "int[" #N "] padding=0, bool ceil_mode=False, bool count_include_pad=True, "               \
      "int? divisor_override=None) -> Tensor")                                                   \
    .doc("Averages of sliding windows over " #N " dimensions.")                                  \
    .node(NODE)                                                                                  \
    .out({.dtype = N == 2 ? OutDType::Exact : OutDType::Cast})                                   \
    .forms(NN | Out)                                                                             \
    .autocast(N == 3 ? Autocast::Float : Autocast::None)                                         \
    .infer([](Infer& r, const Tensor& self, Ints kernel, Ints stride, Ints padding, bool ceil,   \
              bool, MaybeInt divisor) {                                                          \
      check(!divisor || *divisor != 0, "divisor must be not zero");                              \
      if (N == 2) wrap_dim(-3, self.dim());                                                      \
      else check(self.dim() == 4 || self.dim() == 5,                                             \
                 "non-empty 4D or 5D (batch mode) tensor expected for input");                   \
      const Window window{kernel, stride, padding, {}, ceil};                                    \
      if (N == 3 && goes_forward(window)) check_covers(self, kernel);                            \
      const Dims sizes = sliding_sizes(self, window, N, "avg_pool" #N "d");                      \
      check_dtype(self, N == 2 ? "avg_pool2d" : "avg_pool3d_out_frame", N == 2);                 \
      if (N == 2) result_in_format(r, sizes, self, self.dtype());                                \
      else r.result(sizes, self.dtype(), self.device());                                         \
    })                                                                                           \
    .kernel([](Tensor& result, const Tensor& self, Ints kernel, Ints stride, Ints padding, bool, \
               bool with_pad, MaybeInt divisor) {                                                \
      const Pooling p = averaging(self.sizes(), result.sizes(), kernel, stride, padding,         \
                                  with_pad, divisor, N);                                         \
      const Tensor x = dense(self);                                                              \
      into_dense(result, Tensor(), [&](const Tensor& y, const Tensor&) {                         \
        kernels::avg_pool(x.dtype(), p, y.data(), x.data());                                     \
      });                                                                                        \
    })                                                                                           \
    .grad("self", "grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, "     \
          "divisor_override", [](const Tensor& grad, const Tensor& self, Ints kernel,            \
          Ints stride, Ints padding, bool ceil, bool with_pad, MaybeInt divisor) {               \
      return avg_pool_backward(grad, self.sizes(), kernel, stride, padding, with_pad, divisor,   \
                               N, ceil, N == 2 && suggests_channels_last(self));                 \
    })
RL_AVG_POOL(2, "AvgPool2DBackward0").exact_out();
RL_AVG_POOL(3, "AvgPool3DBackward0").autocast(Autocast::Float);
#undef RL_AVG_POOL

}  // namespace

using AvgPoolBackward = Tensor(Tensor, Ints, Ints, Ints, Ints, bool, MaybeInt, int64_t, bool, bool);
const Op<AvgPoolBackward> avg_pool_backward = define<AvgPoolBackward>(
    "_avg_pool_backward(Tensor grad_output, int[] input_sizes, int[] kernel_size, int[] stride, "
    "int[] padding, bool count_include_pad, int? divisor_override, int spatial, bool ceil_mode, "
    "bool channels_last=False) -> Tensor")
  .doc("The gradient of an average pool.")
  .forms(Hidden)
  .dense()
  .infer([](Infer& r, const Tensor& grad, Ints sizes, Ints kernel, Ints stride, Ints padding, bool,
            MaybeInt divisor, int64_t spatial, bool, bool last) {
    const char* op = "_avg_pool_backward";
    expect_planes(op, sizes, grad.sizes(), spatial);
    expect_format(op, sizes, last);
    check_lengths({kernel, stride, padding, {}}, size_t(spatial), op);
    for (Ints list : {kernel, stride})
      for (int64_t n : list) expect(n > 0, op, "windows and strides are positive");
    for (int64_t n : padding) expect(n >= 0, op, "padding is not negative");
    expect(!divisor || *divisor != 0, op, "divisor must be not zero");
    expect_windows(op, sizes, grad.sizes(), {kernel, stride, padding, {}}, size_t(spatial));
    gradient_like(r, sizes, grad, last);
  })
  .kernel([](Tensor& result, const Tensor& grad, Ints sizes, Ints kernel, Ints stride, Ints padding,
             bool with_pad, MaybeInt divisor, int64_t spatial, bool, bool) {
    const Pooling p = averaging(sizes, grad.sizes(), kernel, stride, padding, with_pad, divisor,
                                size_t(spatial));
    into_dense(result, Tensor(), [&](const Tensor& x, const Tensor&) {
      if (grad.numel() == 0) set_zero(x);
      else kernels::avg_pool_backward(grad.dtype(), p, x.data(), grad.data());
    });
  })
  .grad("grad_output", "grad, kernel_size, stride, padding, ceil_mode, count_include_pad, "
        "divisor_override, spatial",
        [](const Tensor& grad, Ints kernel, Ints stride, Ints padding, bool ceil, bool with_pad,
           MaybeInt divisor, int64_t spatial) {
    return spatial == 2 ? avg_pool2d(grad, kernel, stride, padding, ceil, with_pad, divisor)
                        : avg_pool3d(grad, kernel, stride, padding, ceil, with_pad, divisor);
  });

namespace {

void check_line(const Tensor& self, const char* name) {
  check(self.dim() == 2 || self.dim() == 3, "Expected 2 to 3 dimensions, but got ", self.dim(),
        "-dimensional tensor for argument #1 'self' (while checking arguments for ", name, ")");
}

}  // namespace

const auto avg_pool1d = define<Tensor(Tensor, Ints, Ints, Ints, bool, bool)>(
    "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
    "bool ceil_mode=False, bool count_include_pad=True) -> Tensor")
  .doc("Averages of sliding windows over one dimension.")
  .composite([](const Tensor& self, Ints kernel, Ints stride, Ints padding, bool ceil,
                bool with_pad) -> Tensor {
    check_line(self, "avg_pool1d");
    check_one(kernel, false, "avg_pool1d", "kernel_size");
    check_one(stride, true, "avg_pool1d", "stride");
    check_one(padding, false, "avg_pool1d", "padding");
    const Flat f(kernel, stride, padding, {});
    return squeeze_dim(avg_pool2d(unsqueeze(self, -2), Ints(f.kernel, 2), Ints(f.stride, 2),
                                  Ints(f.padding, 2), ceil, with_pad), -2);
  });

// ---- Adaptive

namespace {

// "{-1, -1}": how PyTorch's message writes this list.
std::string braced(Ints list) {
  std::string s = text(list);
  s.front() = '{';
  s.back() = '}';
  return s;
}

Dims adaptive_sizes(const Tensor& self, Ints output, size_t n, const char* name, bool colon) {
  check(self.dim() == int64_t(n) + 1 || self.dim() == int64_t(n) + 2, name, "(): Expected ",
        int64_t(n) + 1, "D or ", int64_t(n) + 2, "D tensor, but got", colon ? ": " : " ",
        self.sizes());
  check(output.size() == 1 || output.size() == n, name,
        colon ? "(): internal error: output_size.size() must be " : ": output_size must be ",
        int64_t(n));
  Dims sizes(self.sizes());
  const size_t rank = sizes.size();
  for (size_t d = 1; d < rank; ++d)
    check(sizes[d] > 0 || (d == 0), name, "(): Expected input to have non-zero size for non-batch "
          "dimensions, but input has sizes ", self.sizes(), " with dimension ", int64_t(d),
          " being empty");
  for (size_t d = 0; d < n; ++d) sizes[rank - n + d] = at(output, d);
  return sizes;
}

#define RL_ADAPTIVE_AVG(N, NODE)                                                                 \
  const Op<Tensor(Tensor, Ints)> adaptive_avg_pool##N##d_op = define<Tensor(Tensor, Ints)>(      \
      "_adaptive_avg_pool" #N "d(Tensor self, int[" #N "] output_size) -> Tensor")               \
    .doc("Averages over as many even windows as the result has elements.")                       \
    .node(NODE)                                                                                  \
    .forms(Function)                                                                             \
    .infer([](Infer& r, const Tensor& self, Ints output) {                                       \
      const Dims sizes = adaptive_sizes(self, output, N, "adaptive_avg_pool" #N "d", false);     \
      check(self.is_floating() || self.is_meta(), ErrorKind::NotImplemented,                     \
            "\"adaptive_avg_pool" #N "d\" not implemented for '", type_name_of(self.dtype()),    \
            "'");                                                                                \
      if (N == 2) result_in_format(r, sizes, self, self.dtype());                                \
      else r.result(sizes, self.dtype(), self.device());                                         \
    })                                                                                           \
    .kernel([](Tensor& result, const Tensor& self, Ints) {                                       \
      const Pooling p = planes_of(self.sizes(), result.sizes(), N);                              \
      const Tensor x = dense(self);                                                              \
      into_dense(result, Tensor(), [&](const Tensor& y, const Tensor&) {                         \
        kernels::adaptive_avg_pool(x.dtype(), p, y.data(), x.data());                            \
      });                                                                                        \
    })                                                                                           \
    .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {                     \
      return adaptive_avg_backward(grad, self.sizes(), N, N == 2 && suggests_channels_last(self)); \
    })

}  // namespace

extern const Op<Tensor(Tensor, Ints, int64_t, bool)> adaptive_avg_backward;

namespace {
RL_ADAPTIVE_AVG(2, "AdaptiveAvgPool2DBackward0");
RL_ADAPTIVE_AVG(3, "AdaptiveAvgPool3DBackward0");
#undef RL_ADAPTIVE_AVG
}  // namespace

const Op<Tensor(Tensor, Ints, int64_t, bool)> adaptive_avg_backward =
    define<Tensor(Tensor, Ints, int64_t, bool)>(
    "_adaptive_avg_pool_backward(Tensor grad_output, int[] input_sizes, int spatial, "
    "bool channels_last=False) -> Tensor")
  .doc("The gradient of an adaptive average pool.")
  .forms(Hidden)
  .dense()
  .infer([](Infer& r, const Tensor& grad, Ints sizes, int64_t spatial, bool last) {
    expect_planes("_adaptive_avg_pool_backward", sizes, grad.sizes(), spatial);
    expect_format("_adaptive_avg_pool_backward", sizes, last);
    gradient_like(r, sizes, grad, last);
  })
  .kernel([](Tensor& result, const Tensor& grad, Ints sizes, int64_t spatial, bool) {
    const Pooling p = planes_of(sizes, grad.sizes(), size_t(spatial));
    into_dense(result, Tensor(), [&](const Tensor& x, const Tensor&) {
      if (grad.numel() == 0) set_zero(x);
      else kernels::adaptive_avg_pool_backward(grad.dtype(), p, x.data(), grad.data());
    });
  })
  .grad("grad_output", "grad, grad_output.sizes, spatial",
        [](const Tensor& grad, Ints sizes, int64_t spatial) {
    const Ints output(sizes.data() + sizes.size() - size_t(spatial), size_t(spatial));
    return spatial == 2 ? adaptive_avg_pool2d_op(grad, output)
                        : adaptive_avg_pool3d_op(grad, output);
  });

namespace {

Tensor adaptive_average(const Tensor& self, Ints output, int64_t n, const char* name) {
  check(output.size() == 1 || int64_t(output.size()) == n, name, ": output_size must be ", n);
  bool ones = true;
  for (int64_t s : output) {
    check(s >= 0, name,
          ": elements of output_size must be greater than or equal to 0 but received ",
          braced(output));
    ones &= s == 1;
  }
  if (ones) {
    Dims dims;
    for (int64_t d = n; d > 0; --d) dims.push_back(-d);
    const Tensor mean = mean_dim(self, Ints(dims), true);
    if (self.dim() != n + 2 || !suggests_channels_last(self)) return mean;
    const int64_t c = self->sizes[1];
    Dims strides(size_t(n) + 2, c);
    strides[1] = 1;
    return as_strided(mean, mean.sizes(), Ints(strides), std::nullopt);
  }
  return n == 2 ? adaptive_avg_pool2d_op(self, output) : adaptive_avg_pool3d_op(self, output);
}

}  // namespace

const auto adaptive_avg_pool2d = define<Tensor(Tensor, Ints)>(
    "adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor")
  .doc("Averages over as many even windows as the result has elements.")
  .forms(NN | Out)
  .composite([](const Tensor& self, Ints output) {
    return adaptive_average(self, output, 2, "adaptive_avg_pool2d");
  });

const auto adaptive_avg_pool3d = define<Tensor(Tensor, Ints)>(
    "adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor")
  .doc("Averages over as many even windows as the result has elements.")
  .forms(NN | Out)
  .autocast(Autocast::Float)
  .composite([](const Tensor& self, Ints output) {
    return adaptive_average(self, output, 3, "adaptive_avg_pool3d");
  })
  .autocast(Autocast::Float);

const auto adaptive_avg_pool1d = define<Tensor(Tensor, Ints)>(
    "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor")
  .doc("Averages over as many even windows as the result has elements.")
  .composite([](const Tensor& self, Ints output) -> Tensor {
    check_line(self, "adaptive_avg_pool1d");
    check_one(output, false, "adaptive_avg_pool1d", "output_size");
    const int64_t sizes[] = {1, output[0]};
    check(output[0] >= 0, "adaptive_avg_pool2d: elements of output_size must be greater than or "
          "equal to 0 but received ", braced(Ints(sizes, 2)));
    return squeeze_dim(adaptive_average(unsqueeze(self, -2), Ints(sizes, 2), 2,
                                        "adaptive_avg_pool2d"), -2);
  });

namespace {

#define RL_ADAPTIVE_MAX(N, NODE)                                                                 \
  const auto adaptive_max_pool##N##d = define<Two(Tensor, Ints)>(                                \
      "adaptive_max_pool" #N "d(Tensor self, int[" #N "] output_size) "                          \
      "-> (Tensor, Tensor)")                                                      \
    .doc("Maxima over as many even windows as the result has elements, and their positions.")    \
    .node(NODE)                                                                                  \
    .nondiff("result1")                                                                          \
    .forms(NN | Out)                                                                             \
    .autocast(N == 3 ? Autocast::Float : Autocast::None)                                         \
    .infer([](Infer& r, const Tensor& self, Ints output) {                                       \
      const Dims sizes = adaptive_sizes(self, output, N, "adaptive_max_pool" #N "d", true);      \
      check(self.is_floating() || self.is_meta(), ErrorKind::NotImplemented,                     \
            "\"adaptive_max_pool" #N "d\" not implemented for '", type_name_of(self.dtype()),    \
            "'");                                                                                \
      if (N == 2) result_in_format(r, sizes, self, self.dtype());                                \
      else r.result(sizes, self.dtype(), self.device());                                         \
      if (N == 2) result_in_format(r, sizes, self, DType::Int64);                                \
      else r.result(sizes, DType::Int64, self.device());                                         \
    })                                                                                           \
    .kernel([](Tensor& output, Tensor& indices, const Tensor& self, Ints) {                      \
      const Pooling p = planes_of(self.sizes(), output.sizes(), N);                              \
      const Tensor x = dense(self);                                                              \
      into_dense(output, indices, [&](const Tensor& y, const Tensor& i) {                        \
        kernels::adaptive_max_pool(x.dtype(), p, y.data(), i.ptr<int64_t>(), x.data());          \
      });                                                                                        \
    })                                                                                           \
    .grad("self", "grad.result, result1, self", [](const Tensor& grad, const Tensor& indices,    \
                                                   const Tensor& self) {                         \
      return max_pool_backward(grad, indices, self.sizes(), N,                                   \
                               N == 2 && suggests_channels_last(self));                          \
    })
RL_ADAPTIVE_MAX(2, "AdaptiveMaxPool2DBackward0");
RL_ADAPTIVE_MAX(3, "AdaptiveMaxPool3DBackward0").autocast(Autocast::Float);
#undef RL_ADAPTIVE_MAX

}  // namespace

const auto adaptive_max_pool1d = define<Two(Tensor, Ints)>(
    "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)")
  .doc("Maxima over as many even windows as the result has elements, and their positions.")
  .composite([](const Tensor& self, Ints output) {
    check_line(self, "adaptive_max_pool1d");
    check_one(output, false, "adaptive_max_pool1d", "output_size");
    const int64_t sizes[] = {1, output[0]};
    const auto made = adaptive_max_pool2d(unsqueeze(self, -2), Ints(sizes, 2));
    return Two(squeeze_dim(made.first, -2), squeeze_dim(made.second, -2));
  });

}  // namespace rl::ops
