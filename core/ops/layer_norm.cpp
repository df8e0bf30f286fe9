// Layer and RMS normalisation over the last dimensions, and their gradients.
#include "kernels/normalization.h"

#include "ops/dense.h"
#include "ops/expect.h"
#include "ops/formats.h"
#include "ops/norm_gradients.h"

namespace rl::ops {
namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

// The input as rows of n elements.
struct Rows {
  int64_t rows = 1, n = 1;
  Rows(const Tensor& t, Ints shape) {
    const int64_t outer = t.dim() - int64_t(shape.size());
    for (int64_t d = 0; d < outer; ++d) rows *= t->sizes[d];
    for (int64_t s : shape) n *= s;
  }
};

void check_shapes(const Tensor& input, Ints shape, const Tensor& weight, const Tensor& bias,
                  bool rms) {
  check(!shape.empty(), "Expected normalized_shape to be at least 1-dimensional, i.e., containing "
        "at least one element, but got normalized_shape = ", shape);
  check(!weight || weight.sizes() == shape, "Expected weight to be of same shape as "
        "normalized_shape, but got weight of shape ", weight ? weight.sizes() : Ints(),
        " and normalized_shape = ", shape);
  check(!bias || bias.sizes() == shape, "Expected bias to be of same shape as normalized_shape, "
        "but got bias of shape ", bias ? bias.sizes() : Ints(), " and normalized_shape = ", shape);
  const int64_t outer = input.dim() - int64_t(shape.size());
  if (outer >= 0 && Ints(input->sizes + outer, shape.size()) == shape) return;
  std::string expected = rms ? "[*" : "[*";
  for (size_t i = 0; i < shape.size(); ++i)
    expected += text(rms && i == 0 ? "" : ", ", shape[i]);
  fail(ErrorKind::Runtime, "Given normalized_shape=", shape, ", expected input with shape ",
       expected, "], but got input of size", input.sizes());
}

void check_dtypes(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  if (input.is_meta()) return;
  check(input.is_floating(), ErrorKind::NotImplemented,
        "\"LayerNormKernelImpl\" not implemented for '", type_name_of(input.dtype()), "'");
  bool mixed = false, all_float = is_half(input.dtype());
  for (const Tensor* p : {&weight, &bias}) {
    if (!*p) continue;
    mixed |= p->dtype() != input.dtype();
    all_float &= p->dtype() == DType::Float;
  }
  check(!mixed || all_float, "mixed dtype (CPU): expect parameter to have scalar type of Float");
}

DType parameter_dtype(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return weight ? weight.dtype() : bias ? bias.dtype() : input.dtype();
}

Dims statistic_sizes(const Tensor& input, Ints shape) {
  Dims sizes(input.sizes());
  for (size_t i = 0; i < shape.size(); ++i) sizes[sizes.size() - 1 - i] = 1;
  return sizes;
}

Dims last_dims(size_t count) {
  Dims dims;
  for (size_t i = 0; i < count; ++i) dims.push_back(-int64_t(count - i));
  return dims;
}

Tensor mean_over(const Tensor& t, const Dims& dims, int64_t n) {
  return sum_dim(t, Ints(dims), true) * Scalar(1.0 / double(n));
}

void expect_normed(const char* op, const Tensor& grad, const Tensor& input, Ints shape,
                   const Tensor& weight, const Tensor& bias, int64_t mask) {
  check_shapes(input, shape, weight, bias, false);
  check_dtypes(input, weight, bias);
  expect(!weight || !bias || weight.dtype() == bias.dtype(), op, "parameters have one dtype");
  expect((!(mask & 2) || weight) && (!(mask & 4) || bias), op, "a parameter is missing");
  expect_like(grad, input.sizes(), input.dtype(), op, "grad_out");
}

}  // namespace

extern const Op<Three(Tensor, Tensor, Ints, Tensor, Tensor, Tensor, Tensor, int64_t)>
    native_layer_norm_backward;

const auto native_layer_norm = define<Three(Tensor, Ints, Tensor, Tensor, double)>(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, "
    "float eps) -> (Tensor, Tensor, Tensor)")
  .doc("Layer normalisation, with the mean and the inverse deviation of each row.")
  .nondiff("result1").nondiff("result2")
  .forms(Function)
  .infer([](Infer& r, const Tensor& input, Ints shape, const Tensor& weight, const Tensor& bias,
            double) {
    check_shapes(input, shape, weight, bias, false);
    check_dtypes(input, weight, bias);
    const Dims sizes = statistic_sizes(input, shape);
    const DType stats = is_half(input.dtype()) && parameter_dtype(input, weight, bias) == DType::Float
                      ? DType::Float : input.dtype();
    r.result(input.sizes(), input.dtype(), input.device());
    r.result(sizes, stats, input.device());
    r.result(sizes, stats, input.device());
  })
  .kernel([](Tensor& output, Tensor& mean, Tensor& rstd, const Tensor& input, Ints shape,
             const Tensor& weight, const Tensor& bias, double eps) {
    const Rows s(input, shape);
    const Tensor x = dense(input), gamma = dense(weight), beta = dense(bias);
    const DType wide = compute_of(input.dtype());
    const bool direct = mean.dtype() == wide;
    const Tensor m = direct ? mean : empty(mean.sizes(), wide);
    const Tensor v = direct ? rstd : empty(rstd.sizes(), wide);
    kernels::layer_norm(x.dtype(), parameter_dtype(input, weight, bias), x.data(), data_or_null(gamma),
                        data_or_null(beta), output.data(), m.data(), v.data(), s.rows, s.n, eps);
    if (!direct) copy_data(mean, m), copy_data(rstd, v);
  })
  .cost([](double& flops, double&, const Tensor& output, const Tensor&, Ints, const Tensor& weight,
           const Tensor& bias, double) {
    flops = double(output.numel()) * (6 + bool(weight) + bool(bias));
  })
  .grad("input, weight, bias",
        "grad.result, input, normalized_shape, result1, result2, weight, bias, needs",
        [](const Tensor& grad, const Tensor& input, Ints shape, const Tensor& mean,
           const Tensor& rstd, const Tensor& weight, const Tensor& bias, Needs needs) {
    Three made;  // as in PyTorch, nothing comes through the mean and the deviation
    if (grad) made = native_layer_norm_backward(grad, input, shape, mean, rstd, weight, bias,
                                                int64_t(needs.mask));
    return made;
  });

// dx = rstd (gw - m(gw) - h m(gw h)), gw = grad weight; dweight = sum(grad h); dbias = sum(grad).
SecondGradients norm_second_gradients(const Tensor& ddx, const Tensor& ddw, const Tensor& ddb,
                                      const Tensor& grad, const Tensor& input, const Tensor& weight,
                                      const Tensor& mean, const Tensor& rstd, const Dims& dims,
                                      int64_t n) {
  const auto m = [&](const Tensor& t) { return mean_over(t, dims, n); };
  const auto sum_into = [](Tensor& to, const Tensor& t) { to = to ? Tensor(to + t) : t; };
  const Tensor h = (input - mean) * rstd, gw = weight ? Tensor(grad * weight) : grad;
  SecondGradients made;
  Tensor for_h;
  if (ddx) {
    const Tensor u = ddx * rstd, projected = u - m(u) - h * m(u * h);
    sum_into(made.grad, weight ? Tensor(projected * weight) : projected);
    if (weight) sum_into(made.weight, projected * grad);
    sum_into(for_h, -(u * m(gw * h) + gw * m(u * h)));
    // rstd stands in front of dx, and d rstd / dx = -rstd^2 h / n.
    sum_into(made.input, -(h * rstd * rstd * m(ddx * (gw - m(gw) - h * m(gw * h)))));
  }
  if (ddw) {
    sum_into(made.grad, ddw * h);
    sum_into(for_h, ddw * grad);
  }
  if (ddb) sum_into(made.grad, expand(ddb, grad.sizes()));
  if (for_h) sum_into(made.input, rstd * (for_h - m(for_h) - h * m(for_h * h)));
  return made;
}

const Op<Three(Tensor, Tensor, Ints, Tensor, Tensor, Tensor, Tensor, int64_t)>
    native_layer_norm_backward =
    define<Three(Tensor, Tensor, Ints, Tensor, Tensor, Tensor, Tensor, int64_t)>(
    "_layer_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, "
    "Tensor rstd, Tensor? weight, Tensor? bias, int output_mask) "
    "-> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)")
  .doc("The gradients of layer normalisation, those that a mask names.")
  .node("NativeLayerNormBackwardBackward0")
  .forms(Hidden)
  .produce([](const Tensor& grad, const Tensor& input, Ints shape, const Tensor& mean,
              const Tensor& rstd, const Tensor& weight, const Tensor& bias, int64_t mask) {
    expect_normed("_layer_norm_backward", grad, input, shape, weight, bias, mask);
    Three made;
    auto& [dx, dw, db] = made;
    const Rows s(input, shape);
    expect_each(mean, s.rows, "_layer_norm_backward", "mean");
    expect_each(rstd, s.rows, "_layer_norm_backward", "rstd");
    if (mask & 1) dx = empty(input.sizes(), input.dtype(), input.device());
    if (mask & 2) dw = empty(shape, weight.dtype(), input.device());
    if (mask & 4) db = empty(shape, bias.dtype(), input.device());
    if (input.is_meta()) return made;
    const DType wide = compute_of(input.dtype());
    const Tensor m = empty(mean.sizes(), wide), v = empty(rstd.sizes(), wide);
    const bool direct = mean.dtype() == wide && rstd.dtype() == wide && mean.is_contiguous() &&
                        rstd.is_contiguous();
    if (!direct) copy_data(m, mean), copy_data(v, rstd);
    const Tensor g = dense(grad), x = dense(input), gamma = dense(weight);
    kernels::layer_norm_backward(x.dtype(), parameter_dtype(input, weight, bias), g.data(), x.data(),
                                 data_or_null(gamma), (direct ? mean : m).data(),
                                 (direct ? rstd : v).data(), data_or_null(dx), data_or_null(dw), data_or_null(db),
                                 s.rows, s.n);
    return made;
  })
  .grad("grad_out, input, weight",
        "grad.grad_input, grad.grad_weight, grad.grad_bias, grad_out, input, weight, "
        "normalized_shape, mean, rstd",
        [](const Tensor& ddx, const Tensor& ddw, const Tensor& ddb, const Tensor& grad,
           const Tensor& input, const Tensor& weight, Ints shape, const Tensor& mean,
           const Tensor& rstd) {
    const SecondGradients made =
        norm_second_gradients(ddx, ddw, ddb, grad, input, weight, mean, rstd,
                              last_dims(shape.size()), Rows(input, shape).n);
    return Three(made.grad, made.input, made.weight);
  });

const auto layer_norm = define<Tensor(Tensor, Ints, Tensor, Tensor, double, bool)>(
    "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05, bool cudnn_enable=True) -> Tensor")
  .doc(R"(
    Rows brought to mean 0 and variance 1, then scaled by `weight` and moved by `bias`
    (Ba, Kiros and Hinton 2016).

    >>> torch.layer_norm(torch.tensor([1., 3.]), (2,))
    tensor([-1.0000,  1.0000])
  )")
  .composite([](const Tensor& input, Ints shape, const Tensor& weight, const Tensor& bias,
                double eps, bool) {
    return std::get<0>(native_layer_norm(input, shape, weight, bias, eps));
  });

// ---- RMS

namespace {

using Pair = std::pair<Tensor, Tensor>;

}  // namespace

const auto rms_norm_backward = define<Pair(Tensor, Tensor, Ints, Tensor, Tensor, int64_t)>(
    "_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, "
    "Tensor? weight, int output_mask) -> (Tensor grad_input, Tensor grad_weight)")
  .doc("The gradients of RMS normalisation, those that a mask names.")
  .forms(Hidden)
  .produce([](const Tensor& grad, const Tensor& input, Ints shape, const Tensor& rstd,
              const Tensor& weight, int64_t mask) {
    expect_normed("_rms_norm_backward", grad, input, shape, weight, Tensor(), mask & 2);
    Pair made;
    const Rows s(input, shape);
    expect_each(rstd, s.rows, "_rms_norm_backward", "rstd");
    expect(rstd.dtype() == compute_of(input.dtype()), "_rms_norm_backward", "rstd's dtype differs");
    if (mask & 1)
      made.first = empty_strided(input.sizes(), dense_strides_like(grad), input.dtype(),
                                 input.device());
    if (mask & 2) made.second = empty(shape, weight.dtype(), input.device());
    if (input.is_meta()) return made;
    const Tensor& dx = made.first;
    const Tensor plain = !dx || dx.is_contiguous() ? dx : empty(input.sizes(), input.dtype());
    const Tensor g = dense(grad), x = dense(input), gamma = dense(weight), roots = dense(rstd);
    kernels::rms_norm_backward(x.dtype(), parameter_dtype(input, weight, Tensor()), g.data(),
                               x.data(), data_or_null(gamma), roots.data(), data_or_null(plain),
                               data_or_null(made.second), s.rows, s.n);
    if (dx && !dx.same(plain)) copy_data(dx, plain);
    return made;
  })
  // With h = x rstd: dx = rstd (gw - h m(gw h)), dweight = sum(grad h).
  .grad("grad_out, input, weight",
        "grad.grad_input, grad.grad_weight, grad_out, input, weight, normalized_shape, rstd, needs",
        [](const Tensor& ddx, const Tensor& ddw, const Tensor& grad, const Tensor& input,
           const Tensor& weight, Ints shape, const Tensor& rstd, Needs needs) {
    const Dims dims = last_dims(shape.size());
    const int64_t n = Rows(input, shape).n;
    const auto m = [&](const Tensor& t) { return mean_over(t, dims, n); };
    const auto sum_into = [](Tensor& to, const Tensor& t) { to = to ? Tensor(to + t) : t; };
    const Tensor h = input * rstd, gw = weight ? Tensor(grad * weight) : grad;
    Tensor for_grad, for_input, for_weight, for_h;
    if (ddx) {
      const Tensor u = ddx * rstd, projected = u - h * m(u * h);
      sum_into(for_grad, weight ? Tensor(projected * weight) : projected);
      if (weight) sum_into(for_weight, projected * grad);
      sum_into(for_h, -(u * m(gw * h) + gw * m(u * h)));
      sum_into(for_input, -(h * rstd * rstd * m(ddx * (gw - h * m(gw * h)))));
    }
    if (ddw) {
      sum_into(for_grad, ddw * h);
      sum_into(for_h, ddw * grad);
    }
    if (needs[1] && for_h) sum_into(for_input, rstd * (for_h - h * m(for_h * h)));
    return Three(for_grad, for_input, for_weight);
  });

namespace {

constexpr double kSmallDouble = 0x1p-52, kSmallFloat = 0x1p-23;  // the dtypes' epsilons

}  // namespace

const auto fused_rms_norm = define<Pair(Tensor, Ints, Tensor, MaybeDouble)>(
    "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) "
    "-> (Tensor output, Tensor rstd)")
  .doc("RMS normalisation, with the inverse root of each row's mean square.")
  .node("MulBackward0")
  .nondiff("rstd")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& input, Ints shape, const Tensor& weight,
            MaybeDouble) {
    check_shapes(input, shape, weight, Tensor(), true);
    check_dtypes(input, weight, Tensor());
    result_in_format(r, input.sizes(), input, input.dtype());
    r.result(statistic_sizes(input, shape), compute_of(input.dtype()), input.device());
  })
  .kernel([](Tensor& output, Tensor& rstd, const Tensor& input, Ints shape, const Tensor& weight,
             MaybeDouble eps) {
    const Rows s(input, shape);
    const Tensor plain = output.is_contiguous() ? output : empty(output.sizes(), output.dtype());
    const Tensor x = dense(input), gamma = dense(weight);
    const double least = input.dtype() == DType::Double ? kSmallDouble : kSmallFloat;
    kernels::rms_norm(x.dtype(), parameter_dtype(input, weight, Tensor()), x.data(), data_or_null(gamma),
                      plain.data(), rstd.data(), s.rows, s.n, eps.value_or(least));
    if (!output.same(plain)) copy_data(output, plain);
  })
  .cost([](double& flops, double&, const Tensor& output, const Tensor&, Ints, const Tensor& weight,
           MaybeDouble) {
    flops = double(output.numel()) * (3 + bool(weight));
  })
  .grad("input, weight", "grad.output, input, normalized_shape, rstd, weight, needs",
        [](const Tensor& grad, const Tensor& input, Ints shape, const Tensor& rstd,
           const Tensor& weight, Needs needs) {
    return rms_norm_backward(grad, input, shape, rstd, weight, int64_t(needs.mask));
  });

namespace {

// Complex rows are divided by the root of their mean square itself, no magnitudes taken.
Tensor complex_rms_norm(const Tensor& input, Ints shape, const Tensor& weight,
                        MaybeDouble eps) {
  Dims dims;
  for (size_t d = 0; d < shape.size(); ++d) dims.push_back(-int64_t(shape.size() - d));
  const double least = input.dtype() == DType::ComplexDouble ? kSmallDouble : kSmallFloat;
  const Tensor mean_square = mean_dim(pow_number(input, Scalar(2)), Ints(dims), true);
  const Tensor made = input * rsqrt(mean_square + Scalar(eps.value_or(least)));
  return weight ? made * weight : made;
}

}  // namespace

const auto rms_norm = define<Tensor(Tensor, Ints, Tensor, MaybeDouble)>(
    "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor")
  .doc(R"(
    Rows divided by the root of their mean square, then scaled by `weight`
    (Zhang and Sennrich 2019). `eps` is the dtype's epsilon unless given.

    >>> torch.rms_norm(torch.tensor([3., 4.]), (2,))
    tensor([0.8485, 1.1314])
  )")
  .composite([](const Tensor& input, Ints shape, const Tensor& weight,
                MaybeDouble eps) -> Tensor {
    check_shapes(input, shape, weight, Tensor(), true);
    if (input.is_complex()) return complex_rms_norm(input, shape, weight, eps);
    check(input.is_floating() || input.is_meta(), ErrorKind::NotImplemented,
          "\"rms_norm\" not implemented for '", type_name_of(input.dtype()), "'");
    if (weight && weight.dtype() != input.dtype() &&
        !(is_half(input.dtype()) && weight.dtype() == DType::Float)) {
      return std::get<0>(fused_rms_norm(input, shape, Tensor(), eps)) *
             to_dtype(weight, input.dtype());
    }
    return std::get<0>(fused_rms_norm(input, shape, weight, eps));
  });

}  // namespace rl::ops
