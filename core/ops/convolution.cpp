// Convolutions and transposed convolutions over one to three dimensions, and their gradients.
#include "kernels/convolution.h"
#include "kernels/convolution_integer.h"
#include "ops/dense.h"
#include "ops/expect.h"
#include "ops/formats.h"

namespace rl::ops {
namespace {

using kernels::Convolution;
using Three = std::tuple<Tensor, Tensor, Tensor>;

// Hyperparameters with one number per spatial dimension.
struct Settings {
  Dims stride, padding, dilation, output_padding;
  bool transposed;
  int64_t groups;

  Settings(Ints s, Ints p, Ints d, bool t, Ints op, int64_t g, int64_t spatial)
      : stride(each(s, spatial, "stride")), padding(each(p, spatial, "padding")),
        dilation(each(d, spatial, "dilation")),
        output_padding(each(op, spatial, "output_padding")), transposed(t), groups(g) {}

  static Dims each(Ints given, int64_t spatial, const char* name) {
    check(given.size() == 1 || int64_t(given.size()) == spatial, "expected ", name, " to be a "
          "single integer value or a list of ", spatial, " values to match the convolution "
          "dimensions, but got ", name, "=", given);
    Dims all(given);
    while (int64_t(all.size()) < spatial) all.push_back(given[0]);
    return all;
  }
};

int64_t output_size(const Settings& s, int64_t in, int64_t kernel, size_t d) {
  const int64_t reach = s.dilation[d] * (kernel - 1) + 1;
  if (s.transposed)
    return (in - 1) * s.stride[d] - 2 * s.padding[d] + reach + s.output_padding[d];
  return (in + 2 * s.padding[d] - reach) / s.stride[d] + 1;
}

Dims result_sizes(const Tensor& input, const Tensor& weight, const Settings& s) {
  Dims sizes{input->sizes[0], s.transposed ? weight->sizes[1] * s.groups : weight->sizes[0]};
  for (int64_t d = 2; d < input.dim(); ++d)
    sizes.push_back(output_size(s, input->sizes[d], weight->sizes[d], size_t(d - 2)));
  return sizes;
}

// The kernel's description; of a transposed convolution, that whose gradient it is.
Convolution describe(Ints input, Ints weight, Ints output, const Settings& s) {
  if (s.transposed) std::swap(input, output);
  Convolution c;
  c.batch = input[0];
  c.in_channels = input[1];
  c.out_channels = output[1];
  c.groups = s.groups;
  const size_t spatial = input.size() - 2, lead = 3 - spatial;
  for (size_t d = 0; d < spatial; ++d) {
    c.in[lead + d] = input[2 + d];
    c.out[lead + d] = output[2 + d];
    c.kernel[lead + d] = weight[2 + d];
    c.stride[lead + d] = s.stride[d];
    c.padding[lead + d] = s.padding[d];
    c.dilation[lead + d] = s.dilation[d];
  }
  return c;
}

void check_settings(const Tensor& input, const Tensor& weight, const Tensor& bias,
                    const Settings& s) {
  for (int64_t p : s.padding) check(p >= 0, "negative padding is not supported");
  for (int64_t p : s.output_padding) check(p >= 0, "negative output_padding is not supported");
  for (int64_t v : s.stride) check(v > 0, "non-positive stride is not supported");
  for (int64_t v : s.dilation) check(v > 0, "dilation should be greater than zero");
  for (const auto& list : {s.padding, s.output_padding, s.stride, s.dilation})
    for (int64_t v : list) check(v <= int64_t(1) << 40, "a number of the window is too large: ", v);
  const int64_t groups = s.groups;
  check(groups > 0, "expected groups to be greater than 0, but got groups=", groups);
  check(weight.dim() == input.dim(), "Expected ", weight.dim(), "-dimensional input for ",
        weight.dim(), "-dimensional weight ", weight.sizes(), ", but got ", input.dim(),
        "-dimensional input of size ", input.sizes(), " instead");
  check(weight->sizes[0] >= groups, "Given groups=", groups, ", expected weight to be at least ",
        groups, " at dimension 0, but got weight of size ", weight.sizes(), " instead");
  check(weight->sizes[0] % groups == 0, "Given groups=", groups, ", expected weight to be "
        "divisible by ", groups, " at dimension 0, but got weight of size ", weight.sizes(),
        " instead");
  if (s.transposed) {
    check(input->sizes[1] == weight->sizes[0], "Given transposed=1, weight of size ",
          weight.sizes(), ", expected input", input.sizes(), " to have ", weight->sizes[0],
          " channels, but got ", input->sizes[1], " channels instead");
    check(!bias || (bias.dim() == 1 && bias->sizes[0] == weight->sizes[1] * groups),
          "Given transposed=1, weight of size ", weight.sizes(), ", expected bias to be "
          "1-dimensional with ", weight->sizes[1] * groups, " elements, but got bias of size ",
          bias ? bias.sizes() : Ints(), " instead");
    return;
  }
  check(input->sizes[1] == weight->sizes[1] * groups, "Given groups=", groups,
        ", weight of size ", weight.sizes(), ", expected input", input.sizes(), " to have ",
        weight->sizes[1] * groups, " channels, but got ", input->sizes[1], " channels instead");
  check(!bias || (bias.dim() == 1 && bias->sizes[0] == weight->sizes[0]), "Given weight of size ",
        weight.sizes(), ", expected bias to be 1-dimensional with ", weight->sizes[0],
        " elements, but got bias of size ", bias ? bias.sizes() : Ints(), " instead");
  std::string in, kernel;
  bool fits = true;
  for (int64_t d = 2; d < input.dim(); ++d) {
    const size_t i = size_t(d - 2);
    const int64_t padded = input->sizes[d] + 2 * s.padding[i];
    const int64_t reach = s.dilation[i] * (weight->sizes[d] - 1) + 1;
    fits &= padded >= reach;
    in += text(i ? " x " : "", padded);
    kernel += text(i ? " x " : "", reach);
  }
  check(fits, "Calculated padded input size per channel: (", in, "). Kernel size: (", kernel,
        "). Kernel size can't be greater than actual input size");
}

void check_output_padding(const Settings& s) {
  if (!s.transposed) return;
  bool good = true;
  for (size_t d = 0; d < s.stride.size(); ++d)
    good &= s.output_padding[d] < s.stride[d] || s.output_padding[d] < s.dilation[d];
  if (good) return;
  std::string said;
  const char* names[] = {"depth", "height", "width"};
  // PyTorch computes lines as images one high: padded by 0, with stride and dilation 1.
  const auto add = [&](const char* what, const Dims& v, int64_t still) {
    if (v.size() == 1) said += text(" ", what, "_height: ", still);
    for (size_t d = 0; d < v.size(); ++d)
      said += text(" ", what, "_", names[d + 3 - v.size()], ": ", v[d]);
  };
  add("output_padding", s.output_padding, 0);
  add("stride", s.stride, 1);
  add("dilation", s.dilation, 1);
  fail(ErrorKind::Runtime, "output padding must be smaller than either stride or dilation, but got",
       said);
}

// Whether PyTorch lets an output be empty: where its library of float32 kernels takes the call,
// which is for several samples, groups, large windows or large images.
bool empty_output_allowed(const Tensor& input, const Tensor& weight, int64_t groups) {
  const Ints image = input.sizes(), window = weight.sizes();
  const size_t d = window.size();
  if (input.dtype() != DType::Float) return false;
  if (groups > 1 || image[0] > 1) return true;
  if (d > 3 && window[d - 1] > 3 && window[d - 2] > 3) return true;
  return numel_of(Ints(image.data(), std::min<size_t>(image.size(), 4))) > 20480;
}

void check_transposed(const Tensor& of, const Tensor& weight, Ints output, int64_t groups) {
  const Ints input = of.sizes();
  const bool empty_allowed = empty_output_allowed(of, weight, groups);
  bool good = true;
  std::string in, out;
  if (input.size() == 3) in = out = "1 x ";
  for (size_t d = 2; d < input.size(); ++d) {
    good &= output[d] >= !empty_allowed;
    in += text(d > 2 ? " x " : "", input[d]);
    out += text(d > 2 ? " x " : "", output[d]);
  }
  check(good, "Given input size per channel: (", in, "). Calculated output size per channel: (",
        out, "). Output size is too small");
}

// A tensor's type as old messages write it: "torch.FloatTensor".
std::string tensor_type(DType t) {
  if (is_complex(t) || t == DType::BFloat16) return text("CPU", type_name_of(t), "Type");
  return text("torch.", type_name_of(t), "Tensor");
}

void check_types(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const DType a = input.dtype(), b = weight.dtype();
  check(!bias || a == bias.dtype(), "Input type (", c_name_of(a), ") and bias type (",
        bias ? c_name_of(bias.dtype()) : "", ") should be the same");
  if (a == b) return;
  if (is_complex(a) || a == DType::BFloat16)
    fail(ErrorKind::Runtime, "Input type (", tensor_type(a), ") and weight type (",
         tensor_type(b), ") should be the same", is_complex(a) ? "" : " or input should be a "
         "MKLDNN tensor and weight is a dense tensor");
  fail(ErrorKind::Runtime, "expected scalar type ", type_name_of(a), " but found ",
       type_name_of(b));
}

// Whole numbers: any, but only int64 in a transposed or dilated convolution.
void check_kernel(const Tensor& input, const Settings& s) {
  const DType t = input.dtype();
  bool plain = !s.transposed;
  for (int64_t d : s.dilation) plain &= d == 1;
  check(input.is_floating() || t == DType::Int64 || (is_integral(t) && plain) || input.is_meta(),
        ErrorKind::NotImplemented, "\"slow_conv", input.dim() - 2, "d_cpu\" not implemented for '",
        type_name_of(t), "'");
}

void check_device(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  check(input.device() == weight.device() && (!bias || bias.device() == input.device()),
        "Expected all tensors to be on the same device, but found at least two devices, cpu and "
        "meta!");
}

// A meta result is plain, and so are volumes of anything but float, as PyTorch's are.
bool channels_last_result(const Tensor& input, const Tensor& weight) {
  if (input.dim() == 5 && input.dtype() != DType::Float) return false;
  return !input.is_meta() && (suggests_channels_last(input) || suggests_channels_last(weight));
}

Dims result_strides(Ints sizes, const Tensor& input, const Tensor& weight) {
  if (!channels_last_result(input, weight)) return contiguous_strides(sizes);
  return format_strides(sizes, sizes.size() == 5 ? MemoryFormat::ChannelsLast3d
                                                 : MemoryFormat::ChannelsLast);
}

// result[b, c, :] += bias[c] over dense planes.
void add_bias(const Tensor& result, const Tensor& bias) {
  const int64_t channels = result->sizes[1], planes = result->sizes[0] * channels;
  const int64_t area = planes ? result.numel() / planes : 0;
  dispatch(result.dtype(), [&](auto* p) {
    using T = pointee<decltype(p)>;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      T* out = result.ptr<T>();
      const T* b = bias.ptr<T>();
      for (int64_t i = 0; i < planes; ++i, out += area)
        for (int64_t k = 0; k < area; ++k) out[k] += b[i % channels];
    } else if constexpr (std::is_same_v<T, int64_t>) {
      T* out = result.ptr<T>();
      for (int64_t i = 0; i < planes; ++i, out += area)
        for (int64_t k = 0; k < area; ++k)
          out[k] = T(uint64_t(out[k]) + uint64_t(bias.ptr<T>()[i % channels]));
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      T* out = result.ptr<T>();
      for (int64_t i = 0; i < planes; ++i, out += area) {
        const float b = to_float(bias.ptr<T>()[i % channels]);
        for (int64_t k = 0; k < area; ++k)
          out[k] = Scalar(double(to_float(out[k]) + b)).template to<T>();
      }
    }
  });
}

void convolve(const Tensor& result, const Tensor& input, const Tensor& weight, const Tensor& bias,
              const Settings& s) {
  if (result.numel() == 0) return;
  const Tensor x = dense(input), w = dense(weight), b = dense(bias);
  const Tensor y = result.is_contiguous() ? result : empty(result.sizes(), result.dtype());
  const Convolution c = describe(x.sizes(), w.sizes(), y.sizes(), s);
  if (x.numel() == 0 || w.numel() == 0) {  // sums of nothing
    set_zero(y);
    if (b) add_bias(y, b);
  } else if (is_integral(y.dtype())) {
    if (s.transposed) {
      kernels::conv_backward_input_integer(c, y.ptr<int64_t>(), x.ptr<int64_t>(),
                                           w.ptr<int64_t>());
      if (b) add_bias(y, b);
    } else {
      kernels::conv_forward_integer(y.dtype(), c, y.data(), x.data(), w.data(), data_or_null(b));
    }
  } else if (s.transposed) {
    kernels::conv_backward_input(y.dtype(), c, y.data(), x.data(), w.data());
    if (b) add_bias(y, b);
  } else {
    kernels::conv_forward(y.dtype(), c, y.data(), x.data(), w.data(), data_or_null(b));
  }
  if (!y.same(result)) copy_data(result, y);
}

// Each element of the side that weight's first dimension belongs to meets one filter.
double convolution_flops(const Tensor& side, const Tensor& weight) {
  const double filters = double(std::max<int64_t>(weight->sizes[0], 1));
  return 2.0 * double(side.numel()) * double(weight.numel()) / filters;
}

void expect_gradient(const Tensor& grad, const Tensor& input, const Tensor& weight,
                     const Settings& s) {
  const char* op = "_convolution_backward";
  expect(weight.dim() >= 3 && weight.dim() <= 5, op, "expected one to three spatial dimensions");
  check_settings(input, weight, Tensor(), s);
  check_types(input, weight, Tensor());
  check_output_padding(s);
  expect(is_differentiable(input.dtype()), op, "operands are floating");
  expect_like(grad, result_sizes(input, weight, s), input.dtype(), op, "grad_output");
}

Three gradients_of_meta(const Tensor& grad, const Tensor& input, const Tensor& weight,
                        int64_t mask) {
  const auto like = [&](int64_t bit, Ints sizes) {
    return mask & bit ? empty(sizes, grad.dtype(), grad.device()) : Tensor();
  };
  return Three(like(1, input.sizes()), like(2, weight.sizes()), like(4, {grad->sizes[1]}));
}

using Forward = Tensor(Tensor, Tensor, Tensor, Ints, Ints, Ints, bool, Ints, int64_t);
using Backward = Three(Tensor, Tensor, Tensor, Ints, Ints, Ints, bool, Ints, int64_t, int64_t);

}  // namespace

extern const Op<Backward> convolution_backward;

const Op<Forward> convolution = define<Forward>(
    "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
    "int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor")
  .doc(R"(
    The convolution behind conv1d to conv3d and their transposed forms.

    >>> x, w = torch.ones(1, 1, 3), torch.ones(1, 1, 2)
    >>> torch.convolution(x, w, None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2.]]])
  )")
  .forms(Function)
  .autocast(Autocast::Lower)
  .infer([](Infer& r, const Tensor& input, const Tensor& weight, const Tensor& bias, Ints stride,
            Ints padding, Ints dilation, bool transposed, Ints output_padding, int64_t groups) {
    const Settings s(stride, padding, dilation, transposed, output_padding, groups,
                     weight.dim() - 2);
    check_settings(input, weight, bias, s);
    check_types(input, weight, bias);
    check_output_padding(s);
    check_kernel(input, s);
    check_device(input, weight, bias);
    const Dims sizes = result_sizes(input, weight, s);
    if (s.transposed) check_transposed(input, weight, sizes, groups);
    r.result(sizes, result_strides(sizes, input, weight), input.dtype(), input.device());
  })
  .kernel([](Tensor& result, const Tensor& input, const Tensor& weight, const Tensor& bias,
             Ints stride, Ints padding, Ints dilation, bool transposed, Ints output_padding,
             int64_t groups) {
    convolve(result, input, weight, bias, Settings(stride, padding, dilation, transposed,
                                                   output_padding, groups, weight.dim() - 2));
  })
  .cost([](double& flops, double&, const Tensor& result, const Tensor& input, const Tensor& weight,
           const Tensor&, Ints, Ints, Ints, bool transposed, Ints, int64_t) {
    flops = convolution_flops(transposed ? input : result, weight);
  })
  .grad("input, weight, bias",
        "grad, input, weight, stride, padding, dilation, transposed, output_padding, groups, needs",
        [](const Tensor& grad, const Tensor& input, const Tensor& weight, Ints stride, Ints padding,
           Ints dilation, bool transposed, Ints output_padding, int64_t groups, Needs needs) {
    return convolution_backward(grad, input, weight, stride, padding, dilation, transposed,
                                output_padding, groups, int64_t(needs.mask));
  });

const Op<Backward> convolution_backward = define<Backward>(
    "_convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[] stride, "
    "int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, "
    "int output_mask) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)")
  .doc("The gradients of a convolution, those that a mask names.")
  .node("ConvolutionBackwardBackward0")
  .forms(Hidden)
  .cost([](double& flops, double&, const Tensor&, const Tensor& grad, const Tensor& input,
           const Tensor& weight, Ints, Ints, Ints, bool transposed, Ints, int64_t, int64_t mask) {
    const double product = convolution_flops(transposed ? input : grad, weight);
    flops = product * double((mask & 1) + (mask >> 1 & 1));
    if (mask & 4) flops += double(grad.numel());
  })
  .produce([](const Tensor& grad, const Tensor& input, const Tensor& weight, Ints stride,
              Ints padding, Ints dilation, bool transposed, Ints output_padding, int64_t groups,
              int64_t mask) {
    const Settings s(stride, padding, dilation, transposed, output_padding, groups,
                     weight.dim() - 2);
    expect_gradient(grad, input, weight, s);
    if (grad.is_meta()) return gradients_of_meta(grad, input, weight, mask);
    const Convolution c = describe(input.sizes(), weight.sizes(), grad.sizes(), s);
    const DType dtype = grad.dtype();
    const Tensor g = dense(grad), x = dense(input), w = dense(weight);
    Three made;
    auto& [dx, dw, db] = made;
    const bool none = grad.numel() == 0;
    if (mask & 1) {
      dx = empty(input.sizes(), dtype);
      if (none || dx.numel() == 0) set_zero(dx);
      else if (transposed) kernels::conv_forward(dtype, c, dx.data(), g.data(), w.data(), nullptr);
      else kernels::conv_backward_input(dtype, c, dx.data(), g.data(), w.data());
    }
    if (mask & 2) {
      dw = empty(weight.sizes(), dtype);
      if (none || dw.numel() == 0) set_zero(dw);
      else if (transposed) kernels::conv_backward_weight(dtype, c, dw.data(), x.data(), g.data());
      else kernels::conv_backward_weight(dtype, c, dw.data(), g.data(), x.data());
    }
    if (mask & 4) {
      db = empty({grad->sizes[1]}, dtype);
      Convolution sums = c;
      sums.out_channels = grad->sizes[1];
      if (transposed) std::copy(c.in, c.in + 3, sums.out);
      if (none) set_zero(db);
      else kernels::conv_backward_bias(dtype, sums, db.data(), g.data());
    }
    if (channels_last_result(input, weight)) {
      const auto move = [&](Tensor& t, const Dims& strides) {
        const Tensor moved = empty_strided(t.sizes(), strides, dtype);
        copy_data(moved, t);
        t = moved;
      };
      const Dims last = result_strides(weight.sizes(), input, weight);
      bool single = true;
      for (int64_t d = 2; d < weight.dim(); ++d) single &= weight->sizes[d] == 1;
      if (dx) move(dx, result_strides(dx.sizes(), input, weight));
      if (dw && !(single && weight->sizes[1] > 1)) move(dw, last);
    }
    return made;
  })
  // All three are linear in each operand: their gradients are convolutions and such gradients.
  .grad("grad_output, input, weight",
        "grad.grad_input, grad.grad_weight, grad.grad_bias, grad_output, input, weight, stride, "
        "padding, dilation, transposed, output_padding, groups, needs",
        [](const Tensor& ddx, const Tensor& ddw, const Tensor& ddb, const Tensor& grad,
           const Tensor& input, const Tensor& weight, Ints stride, Ints padding, Ints dilation,
           bool transposed, Ints output_padding, int64_t groups, Needs needs) {
    const auto conv = [&](const Tensor& x, const Tensor& w) {
      return convolution(x, w, Tensor(), stride, padding, dilation, transposed, output_padding,
                         groups);
    };
    const auto back = [&](const Tensor& x, const Tensor& w, int64_t mask) {
      return convolution_backward(grad, x, w, stride, padding, dilation, transposed,
                                  output_padding, groups, mask);
    };
    Three made;
    const bool samples = input.numel() != 0;  // of none, the gradients come from no convolution
    if (needs[0]) {
      Tensor g;
      const auto sum_into = [&](const Tensor& t) { g = g ? Tensor(g + t) : t; };
      if (ddx && samples) sum_into(conv(ddx, weight));
      if (ddw && samples) sum_into(conv(input, ddw));
      if (ddb) {
        Dims shape(size_t(grad.dim()), 1);
        shape[1] = ddb->sizes[0];
        sum_into(expand(view(ddb, Ints(shape)), grad.sizes()));
      }
      std::get<0>(made) = g;
    }
    if (needs[1] && ddw && samples) std::get<1>(made) = std::get<0>(back(input, ddw, 1));
    if (needs[2] && ddx && samples) std::get<2>(made) = std::get<1>(back(ddx, weight, 2));
    return made;
  });

// ---- The named forms

namespace {

// Adds the batch dimension that an unbatched input lacks; says whether it did.
Tensor batched(const Tensor& input, int64_t spatial, const char* name, bool& added) {
  check(input.dim() == spatial + 1 || input.dim() == spatial + 2, "Expected ", spatial + 1,
        "D (unbatched) or ", spatial + 2, "D (batched) input to ", name,
        ", but got input of size: ", input.sizes());
  added = input.dim() == spatial + 1;
  return added ? Tensor(unsqueeze(input, 0)) : input;
}

// Of complex numbers, three convolutions of real ones (Gauss): a = rr, b = ii, c = (r + i)(r + i);
// the result is a - b + (c - a - b) i.
Tensor convolution_of(const Tensor& input, const Tensor& weight, const Tensor& bias, Ints stride,
                      Ints padding, Ints dilation, bool transposed, Ints output_padding,
                      int64_t groups) {
  const auto run = [&](const Tensor& x, const Tensor& w, const Tensor& b) {
    return convolution(x, w, b, stride, padding, dilation, transposed, output_padding, groups);
  };
  if (!input.is_complex()) return run(input, weight, bias);
  check_types(input, weight, bias);
  struct Parts {
    Tensor real, imag;
    explicit Parts(const Tensor& t) {
      if (!t) return;
      const Tensor pairs = view_as_real(resolve_conj(t));
      real = select(pairs, pairs.dim() - 1, 0);
      imag = select(pairs, pairs.dim() - 1, 1);
    }
    Tensor sum() const { return real ? Tensor(real + imag) : Tensor(); }
  };
  const Parts x(input), w(weight), b(bias);
  const Tensor rr = run(x.real, w.real, b.real), ii = run(x.imag, w.imag, Tensor());
  const Tensor both = run(x.sum(), w.sum(), b.sum());
  return rr - ii + (both - rr - ii) * Scalar(std::complex<double>(0, 1));
}

Tensor conv_nd(const Tensor& input, const Tensor& weight, const Tensor& bias, Ints stride,
               Ints padding, Ints dilation, int64_t groups, int64_t spatial, const char* name) {
  bool added;
  const Tensor x = batched(input, spatial, name, added);
  const int64_t zeros[] = {0, 0, 0};
  const Tensor y = convolution_of(x, weight, bias, stride, padding, dilation, false,
                               Ints(zeros, size_t(spatial)), groups);
  return added ? Tensor(squeeze_dim(y, 0)) : y;
}

// Zeros behind the last place of a dimension.
Tensor padded_behind(const Tensor& t, int64_t dim, int64_t by) {
  Dims sizes(t.sizes());
  sizes[size_t(dim)] = by;
  const Tensor parts[] = {t, zeros(Ints(sizes), t.dtype(), t.device())};
  return cat(TensorList(parts, 2), dim);
}

// "same" pads so that sizes stay; where that takes an odd number, the further side gets one more.
Tensor conv_padded(const Tensor& input, const Tensor& weight, const Tensor& bias, Ints stride,
                   std::string_view padding, Ints dilation, int64_t groups, int64_t spatial,
                   const char* name) {
  check(padding == "same" || padding == "valid", "Invalid padding string: '", padding, "'");
  bool added;
  Tensor x = batched(input, spatial, name, added);
  const Dims step = Settings::each(stride, spatial, "stride");
  const Dims wide = Settings::each(dilation, spatial, "dilation");
  Dims sides(size_t(spatial), 0);
  if (padding == "same") {
    check(weight.dim() == x.dim(), "Expected ", weight.dim(), "-dimensional input for ",
          weight.dim(), "-dimensional weight ", weight.sizes(), ", but got ", x.dim(),
          "-dimensional input of size ", x.sizes(), " instead");
    for (int64_t s : step)
      check(s == 1, "padding='same' is not supported for strided convolutions");
    for (int64_t d = 0; d < spatial; ++d) {
      const int64_t total = wide[size_t(d)] * (weight->sizes[d + 2] - 1);
      sides[size_t(d)] = total / 2;
      if (total % 2) x = padded_behind(x, d + 2, 1);
    }
  }
  const Tensor y = conv_nd(x, weight, bias, Ints(step), Ints(sides), Ints(wide), groups, spatial,
                           name);
  return added ? Tensor(squeeze_dim(y, 0)) : y;
}

Tensor conv_transpose_nd(const Tensor& input, const Tensor& weight, const Tensor& bias, Ints stride,
                         Ints padding, Ints output_padding, int64_t groups, Ints dilation,
                         int64_t spatial, const char* name) {
  bool added;
  const Tensor x = batched(input, spatial, name, added);
  const Tensor y = convolution_of(x, weight, bias, stride, padding, dilation, true, output_padding,
                               groups);
  return added ? Tensor(squeeze_dim(y, 0)) : y;
}

using Named = Tensor(Tensor, Tensor, Tensor, Ints, Ints, Ints, int64_t);
using NamedText = Tensor(Tensor, Tensor, Tensor, Ints, std::string_view, Ints, int64_t);
using NamedTransposed = Tensor(Tensor, Tensor, Tensor, Ints, Ints, Ints, int64_t, Ints);

#define RL_CONV(N)                                                                               \
  const auto conv##N##d = define<Named>(                                                         \
      "conv" #N "d(Tensor input, Tensor weight, Tensor? bias=None, int[" #N "] stride=1, "       \
      "int[" #N "] padding=0, int[" #N "] dilation=1, int groups=1) -> Tensor")                  \
    .doc("Convolution over " #N " dimension(s), as cross-correlation.")                          \
    .composite([](const Tensor& input, const Tensor& weight, const Tensor& bias, Ints stride,    \
                  Ints padding, Ints dilation, int64_t groups) {                                 \
      return conv_nd(input, weight, bias, stride, padding, dilation, groups, N,                  \
                     "conv" #N "d");                                                             \
    });                                                                                          \
  const auto conv##N##d_padding = define<NamedText>(                                             \
      "conv" #N "d.padding(Tensor input, Tensor weight, Tensor? bias=None, "                     \
      "int[" #N "] stride=1, str padding=\"valid\", int[" #N "] dilation=1, int groups=1) "      \
      "-> Tensor")                                                                               \
    .composite([](const Tensor& input, const Tensor& weight, const Tensor& bias, Ints stride,    \
                  std::string_view padding, Ints dilation, int64_t groups) {                     \
      return conv_padded(input, weight, bias, stride, padding, dilation, groups, N,              \
                         "conv" #N "d");                                                         \
    })
#define RL_CONV_TRANSPOSE(N, TEXT)                                                               \
  const auto conv_transpose##N##d = define<NamedTransposed>(                                     \
      TEXT "(Tensor input, Tensor weight, Tensor? bias=None, int[" #N "] stride=1, "             \
      "int[" #N "] padding=0, int[" #N "] output_padding=0, int groups=1, "                      \
      "int[" #N "] dilation=1) -> Tensor")                                                       \
    .doc("Transposed convolution over " #N " dimension(s): the gradient of a convolution.")      \
    .composite([](const Tensor& input, const Tensor& weight, const Tensor& bias, Ints stride,    \
                  Ints padding, Ints output_padding, int64_t groups, Ints dilation) {            \
      return conv_transpose_nd(input, weight, bias, stride, padding, output_padding, groups,     \
                               dilation, N, "conv_transpose" #N "d");                            \
    })
RL_CONV(1);
RL_CONV(2);
RL_CONV(3);
RL_CONV_TRANSPOSE(1, "conv_transpose1d");
RL_CONV_TRANSPOSE(2, "conv_transpose2d.input");
RL_CONV_TRANSPOSE(3, "conv_transpose3d.input");
#undef RL_CONV
#undef RL_CONV_TRANSPOSE

}  // namespace

}  // namespace rl::ops
