// Resampling to other sizes: nearest, linear, cubic and antialiased, with gradients.
#include "kernels/resample.h"

#include <cmath>

#include "ops/formats.h"

namespace rl::ops {
namespace {

using kernels::Resample;
using kernels::Resampling;

// What an op of this file does: its records differ in nothing else.
struct Request {
  Resample how;
  int spatial;
  bool align_corners;
  MaybeDouble scale[3];  // of the last `spatial` dimensions, in order
};

bool is_smooth(Resample how) { return how >= Resample::SmoothLinear; }

std::string named_sizes(Ints sizes) {
  const char* names[] = {"D: ", "H: ", "W: "};
  std::string s = "(";
  for (size_t d = 0; d < sizes.size(); ++d)
    s += text(d ? ", " : "", names[3 - sizes.size() + d], sizes[d]);
  return s + ")";
}

// The sizes of the result, checked.
Dims resampled_sizes(Ints input, Ints output, size_t n) {
  check(output.size() == n, "It is expected output_size equals to ", int64_t(n),
        ", but got size ", int64_t(output.size()));
  check(input.size() == n + 2, "It is expected input_size equals to ", int64_t(n + 2),
        ", but got size ", int64_t(input.size()));
  Dims sizes{input[0], input[1]};
  bool good = true;
  for (size_t d = 0; d < n; ++d) {
    good &= input[d + 2] > 0 && output[d] > 0;
    sizes.push_back(output[d]);
  }
  check(good, "Input and output sizes should be greater than 0, but got input ",
        named_sizes(Ints(input.data() + 2, n)), n == 1 ? " and" : "", " output ",
        named_sizes(output));
  for (size_t d = 2; d < n + 2; ++d)
    check(input[d] <= INT32_MAX / 16 && sizes[d] <= INT32_MAX / 16,
          "Storage size calculation overflowed with sizes=", Ints(sizes));
  return sizes;
}

void check_kernel(const Tensor& t, Resample how, int spatial, bool backward) {
  const bool bytes = t.dtype() == DType::UInt8 && !backward &&
                     (how <= Resample::NearestExact || spatial == 2);
  const bool halves = !(is_smooth(how) && is_half(t.dtype()));
  check((t.is_floating() && halves) || bytes || t.is_meta(), ErrorKind::NotImplemented,
        "\"compute_indices_weights\" not implemented for '", type_name_of(t.dtype()), "'");
}

void infer_forward(Infer& r, const Tensor& self, Ints output, Resample how, int spatial) {
  const Dims sizes = resampled_sizes(self.sizes(), output, size_t(spatial));
  bool any = true;
  for (int64_t d = 1; d < self.dim(); ++d) any &= self->sizes[d] > 0;
  check(any, "Non-empty ", int64_t(spatial) + 2, "D data tensor expected but got a tensor with "
        "sizes ", self.sizes());
  if (!is_smooth(how) || !(Ints(sizes) == self.sizes())) check_kernel(self, how, spatial, false);
  result_in_format(r, sizes, self, self.dtype());
}

void infer_backward(Infer& r, const Tensor& grad, Ints output, Ints input, Resample how,
                    int spatial) {
  const Dims sizes = resampled_sizes(input, output, size_t(spatial));
  check(grad.dim() == int64_t(sizes.size()), "Expected grad_output to be a tensor of dimension ",
        int64_t(sizes.size()), " but got: dimension ", grad.dim());
  for (int64_t d = 0; d < grad.dim(); ++d)
    check(grad->sizes[d] == sizes[size_t(d)], "Expected grad_output to have the same shape as "
          "output; output.size(", d, ") = ", sizes[size_t(d)], " but got grad_output.size(", d,
          ") = ", grad->sizes[d]);
  check_kernel(grad, how, spatial, true);
  const bool plain = how == Resample::Cubic || how >= Resample::SmoothCubic;
  if (plain) r.result(input, grad.dtype(), grad.device());
  else result_in_format(r, input, grad, grad.dtype());
}

Resampling described(const Request& q, Ints input, Ints output, bool channels_last,
                     bool backward) {
  Resampling r;
  r.backward = backward;
  r.channels_last = channels_last;
  r.how = q.how;
  r.align_corners = q.align_corners;
  r.spatial = q.spatial;
  r.planes = channels_last ? input[0] : input[0] * input[1];
  r.inner = channels_last ? input[1] : 1;
  const size_t n = size_t(q.spatial);
  for (size_t d = 0; d < n; ++d) {
    r.in[3 - n + d] = input[2 + d];
    r.out[3 - n + d] = output[2 + d];
    r.scale[3 - n + d] = q.scale[d].value_or(0);
  }
  return r;
}

void run(const Tensor& result, const Tensor& from, bool backward, const Request& q) {
  if (result.numel() == 0 || from.numel() == 0) {
    set_zero(result);
    return;
  }
  if (!backward && is_smooth(q.how) && result.sizes() == from.sizes()) {
    copy_data(result, from);
    return;
  }
  const MemoryFormat f = suggested_format(from);
  const bool last = f != MemoryFormat::Contiguous;
  const Tensor x = in_format(from, f);
  const bool direct = is_in_format(result, f);
  const Tensor y = direct ? result
                 : last   ? empty_strided(result.sizes(), format_strides(result.sizes(), f),
                                          result.dtype())
                          : empty(result.sizes(), result.dtype());
  if (backward) {
    kernels::resample_backward(x.dtype(), described(q, y.sizes(), x.sizes(), last, true),
                               y.data(), x.data());
  } else {
    kernels::resample(x.dtype(), described(q, x.sizes(), y.sizes(), last, false), y.data(),
                      x.data());
  }
  if (!direct) copy_data(result, y);
}

// ---- Sizes or factors, as interpolate gives them

struct Wanted {
  Dims sizes;
  MaybeDouble scale[3];
};

Wanted wanted(const Tensor& input, const MaybeInts& output_size, const MaybeNumbers& factors,
              size_t n) {
  Wanted w;
  check(output_size.has_value() != factors.has_value(),
        "Must specify exactly one of output_size and scale_factors");
  const auto fits = [&](size_t given, const char* name) {
    check(given == n, "Expected static_cast<int64_t>(", name, "->size()) == spatial_dimensions to "
          "be true, but got false.  (Could this error message be improved?  If so, please report "
          "an enhancement request to PyTorch.)");
  };
  if (output_size) {
    fits(output_size->size(), "output_size");
    w.sizes = Dims(*output_size);
    return w;
  }
  fits(factors->size(), "scale_factors");
  for (size_t d = 0; d < n; ++d) {
    const double factor = (*factors)[d].to_double();
    const double size = double(input.size(int64_t(d) + 2)) * factor;
    check(std::abs(size) < 9.2e18, "value cannot be converted to type int64_t without overflow");
    w.sizes.push_back(int64_t(size));
    w.scale[d] = factor;
  }
  return w;
}

}  // namespace

// Unwraps a list of macro arguments.
#define RL_LIST(...) __VA_ARGS__

#define RL_SCALES_1 "float? scales=None"
#define RL_SCALES_2 "float? scales_h=None, float? scales_w=None"
#define RL_SCALES_3 "float? scales_d=None, float? scales_h=None, float? scales_w=None"
#define RL_NAMES_1 "scales"
#define RL_NAMES_2 "scales_h, scales_w"
#define RL_NAMES_3 "scales_d, scales_h, scales_w"
#define RL_TYPES_1 MaybeDouble
#define RL_TYPES_2 MaybeDouble, MaybeDouble
#define RL_TYPES_3 MaybeDouble, MaybeDouble, MaybeDouble
#define RL_PARAMS_1 MaybeDouble a
#define RL_PARAMS_2 MaybeDouble a, MaybeDouble b
#define RL_PARAMS_3 MaybeDouble a, MaybeDouble b, MaybeDouble c
#define RL_ARGS_1 a
#define RL_ARGS_2 a, b
#define RL_ARGS_3 a, b, c
#define RL_WANTED_1 w.scale[0]
#define RL_WANTED_2 w.scale[0], w.scale[1]
#define RL_WANTED_3 w.scale[0], w.scale[1], w.scale[2]

// NAME and NAME_backward over N dimensions. CORNER_*: the parameter align_corners in a signature,
// among types, parameters, arguments and saved values, or nothing; ALIGN: its value.
#define RL_RESAMPLE(NAME, N, NODE, HOW, CORNER_TEXT, CORNER_TYPE, CORNER_PARAM, CORNER_ARG,       \
                    CORNER_NAME, ALIGN)                                                          \
  extern const Op<Tensor(Tensor, Ints, RL_LIST CORNER_TYPE RL_TYPES_##N)> NAME;                  \
  extern const Op<Tensor(Tensor, Ints, Ints, RL_LIST CORNER_TYPE RL_TYPES_##N)> NAME##_backward; \
  static const auto NAME##_vec =                                                                 \
      define<Tensor(Tensor, MaybeInts, RL_LIST CORNER_TYPE MaybeNumbers)>(                       \
      #NAME ".vec(Tensor input, int[]? output_size, " CORNER_TEXT                                \
      "float[]? scale_factors) -> Tensor")                                                       \
    .doc("The input resampled to given sizes, or by factors.")                                   \
    .forms(NN)                                                                                   \
    .composite([](const Tensor& input, MaybeInts output_size, RL_LIST CORNER_PARAM               \
                  MaybeNumbers factors) {                                                        \
      const Wanted w = wanted(input, output_size, factors, N);                                   \
      return NAME(input, Ints(w.sizes), RL_LIST CORNER_ARG RL_WANTED_##N);                       \
    });                                                                                          \
  const Op<Tensor(Tensor, Ints, RL_LIST CORNER_TYPE RL_TYPES_##N)> NAME =                        \
      define<Tensor(Tensor, Ints, RL_LIST CORNER_TYPE RL_TYPES_##N)>(                            \
      #NAME "(Tensor self, int[" #N "] output_size, " CORNER_TEXT RL_SCALES_##N ") -> Tensor")   \
    .doc("The input resampled to given sizes.")                                                  \
    .node(NODE "Backward0")                                                                      \
    .forms(NN | Out)                                                                             \
    .exact_out()                                                                                 \
    .infer([](Infer& r, const Tensor& self, Ints output_size, RL_LIST CORNER_PARAM               \
              RL_PARAMS_##N) {                                                                   \
      (void)Request{Resample::HOW, N, ALIGN, {RL_ARGS_##N}}; \
      infer_forward(r, self, output_size, Resample::HOW, N);                                     \
    })                                                                                           \
    .kernel([](Tensor& result, const Tensor& self, Ints, RL_LIST CORNER_PARAM RL_PARAMS_##N) {   \
      run(result, self, false, {Resample::HOW, N, ALIGN, {RL_ARGS_##N}});                        \
    })                                                                                           \
    .grad("self", "grad, output_size, self.sizes, " CORNER_NAME RL_NAMES_##N,                    \
          [](const Tensor& grad, Ints output_size, Ints sizes, RL_LIST CORNER_PARAM              \
             RL_PARAMS_##N) {                                                                    \
      return NAME##_backward(grad, output_size, sizes, RL_LIST CORNER_ARG RL_ARGS_##N);          \
    });                                                                                          \
  const Op<Tensor(Tensor, Ints, Ints, RL_LIST CORNER_TYPE RL_TYPES_##N)> NAME##_backward =       \
      define<Tensor(Tensor, Ints, Ints, RL_LIST CORNER_TYPE RL_TYPES_##N)>(                      \
      #NAME "_backward(Tensor grad_output, int[" #N "] output_size, int[] input_size, "          \
      CORNER_TEXT RL_SCALES_##N ") -> Tensor")                                                   \
    .doc("The gradient of a resampling.")                                                        \
    .node(NODE "BackwardBackward0")                                                              \
    .forms(Hidden)                                                                               \
    .infer([](Infer& r, const Tensor& grad, Ints output_size, Ints input_size,                   \
              RL_LIST CORNER_PARAM RL_PARAMS_##N) {                                              \
      (void)Request{Resample::HOW, N, ALIGN, {RL_ARGS_##N}}; \
      infer_backward(r, grad, output_size, input_size, Resample::HOW, N);                        \
    })                                                                                           \
    .kernel([](Tensor& result, const Tensor& grad, Ints, Ints, RL_LIST CORNER_PARAM              \
               RL_PARAMS_##N) {                                                                  \
      run(result, grad, true, {Resample::HOW, N, ALIGN, {RL_ARGS_##N}});                         \
    })                                                                                           \
    .grad("grad_output", "grad, output_size, " CORNER_NAME RL_NAMES_##N,                         \
          [](const Tensor& grad, Ints output_size, RL_LIST CORNER_PARAM RL_PARAMS_##N) {         \
      return NAME(grad, output_size, RL_LIST CORNER_ARG RL_ARGS_##N);                            \
    });

#define RL_NEAREST(NAME, N, NODE, HOW) RL_RESAMPLE(NAME, N, NODE, HOW, "", (), (), (), "", false)
#define RL_SMOOTH(NAME, N, NODE, HOW)                                                            \
  RL_RESAMPLE(NAME, N, NODE, HOW, "bool align_corners, ", (bool,), (bool corners,), (corners,),  \
              "align_corners, ", corners)

RL_NEAREST(upsample_nearest1d, 1, "UpsampleNearest1D", Nearest)
RL_NEAREST(upsample_nearest2d, 2, "UpsampleNearest2D", Nearest)
RL_NEAREST(upsample_nearest3d, 3, "UpsampleNearest3D", Nearest)
RL_NEAREST(_upsample_nearest_exact1d, 1, "UpsampleNearestExact1D", NearestExact)
RL_NEAREST(_upsample_nearest_exact2d, 2, "UpsampleNearestExact2D", NearestExact)
RL_NEAREST(_upsample_nearest_exact3d, 3, "UpsampleNearestExact3D", NearestExact)
RL_SMOOTH(upsample_linear1d, 1, "UpsampleLinear1D", Linear)
RL_SMOOTH(upsample_bilinear2d, 2, "UpsampleBilinear2D", Linear)
RL_SMOOTH(upsample_trilinear3d, 3, "UpsampleTrilinear3D", Linear)
RL_SMOOTH(upsample_bicubic2d, 2, "UpsampleBicubic2D", Cubic)
RL_SMOOTH(_upsample_bilinear2d_aa, 2, "UpsampleBilinear2DAa", SmoothLinear)
RL_SMOOTH(_upsample_bicubic2d_aa, 2, "UpsampleBicubic2DAa", SmoothCubic)
RL_SMOOTH(_upsample_lanczos2d_aa, 2, "UpsampleLanczos2DAa", SmoothLanczos)

}  // namespace rl::ops
