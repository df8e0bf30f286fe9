// Batch, group and instance normalisation, and their gradients.
#include <cmath>

#include "kernels/normalization.h"
#include "ops/dense.h"
#include "ops/expect.h"
#include "ops/norm_gradients.h"

namespace rl::ops {
namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

// The input as [batch, channels, area].
struct Planes {
  int64_t batch, channels, area = 1;
  explicit Planes(const Tensor& t) : batch(t->sizes[0]), channels(t->sizes[1]) {
    for (int64_t d = 2; d < t.dim(); ++d) area *= t->sizes[d];
  }
  int64_t samples() const { return channels && area ? batch : 0; }  // that have elements
};

DType parameter_dtype(const Tensor& input, std::initializer_list<const Tensor*> parameters) {
  for (const Tensor* p : parameters)
    if (*p) return p->dtype();
  return input.dtype();
}

void check_parameter(const Tensor& p, const char* name, int64_t channels) {
  check(!p || p.numel() == channels, name, " should contain ", channels, " elements not ",
        p ? p.numel() : 0);
}

void check_channels(const Tensor& input) {
  check(input.dim() >= 2, ErrorKind::Index, "Dimension out of range (expected to be in range of [",
        -input.dim(), ", ", input.dim() - 1, "], but got 1)");
}

void check_floating(const Tensor& input, const char* kernel) {
  check(input.is_floating() || input.is_meta(), ErrorKind::NotImplemented, "\"", kernel,
        "\" not implemented for '", type_name_of(input.dtype()), "'");
}

void check_mixed(const Tensor& input, std::initializer_list<const Tensor*> parameters) {
  bool mixed = false, all_float = is_half(input.dtype());
  for (const Tensor* p : parameters) {
    if (!*p) continue;
    mixed |= p->dtype() != input.dtype();
    all_float &= p->dtype() == DType::Float;
  }
  check(!mixed || all_float, "mixed dtype (CPU): expect parameter to have scalar type of Float");
}

// Channels last where the strides are in that order, be they dense or not; else contiguous.
MemoryFormat suggested_format(const Tensor& t) {
  if (t.dim() != 4 && t.dim() != 5) return MemoryFormat::Contiguous;
  int64_t least = 0;
  const auto steps = t->strides;
  if (steps[1] == 0) return MemoryFormat::Contiguous;
  for (int64_t i = 0; i < t.dim(); ++i) {
    const int64_t d = i == 0 ? 1 : i == t.dim() - 1 ? 0 : t.dim() - i;
    if (t->sizes[d] == 0 || steps[d] < least || (d == 0 && least == steps[1]))
      return MemoryFormat::Contiguous;
    least = steps[d] * std::max<int64_t>(t->sizes[d], 1);
  }
  return t.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

// Inside kernels: statistics in the type that kernels compute in.
Tensor widened(const Tensor& t, DType wide) {
  if (!t || t.dtype() == wide) return t;
  const Tensor made = empty(t.sizes(), wide);
  copy_data(made, t);
  return made;
}

// One value per channel, laid along dimension 1.
Tensor along_channels(const Tensor& t, int64_t dim) {
  if (!t) return t;
  Dims shape(size_t(dim), 1);
  shape[1] = t.numel();
  return view(t, Ints(shape));
}

Dims all_but_channels(int64_t dim) {
  Dims dims;
  for (int64_t d = 0; d < dim; ++d)
    if (d != 1) dims.push_back(d);
  return dims;
}

// 1 / sqrt(variance + eps), without a graph: running statistics need no gradient.
Tensor inverse_root(const Tensor& variance, double eps) {
  const NoGrad quiet;
  return rsqrt(to_dtype(variance, DType::Double) + Scalar(eps));
}

Tensor per_channel(const Tensor& t, int64_t channels) {
  if (!t) return t;
  return reshape(sum_dim(t, Ints(all_but_channels(t.dim())), false), Dims{channels});
}

void expect_batch_norm(const Tensor& grad, const Tensor& input, const Tensor& weight,
                       const Tensor& running_mean, const Tensor& running_var, const Tensor& mean,
                       const Tensor& invstd, bool train) {
  const char* op = "_batch_norm_backward";
  expect(input.dim() >= 2 && input.is_floating(), op, "the input is floating, of two dimensions");
  const int64_t channels = input->sizes[1];
  const DType p = parameter_dtype(input, {&weight, &running_mean});
  expect(is_parameter_dtype(p, input.dtype()), op, "parameters have the input's dtype");
  expect_like(grad, input.sizes(), input.dtype(), op, "grad_out");
  for (const Tensor* t : {&weight, &running_mean, &running_var}) {
    expect_each(*t, channels, op, "a parameter");
    expect(!*t || t->dtype() == p, op, "parameters have one dtype");
  }
  if (train) expect_each(mean, channels, op, "save_mean");
  if (train) expect_each(invstd, channels, op, "save_invstd");
  expect(train ? mean && invstd : running_mean && running_var, op, "statistics are missing");
}

void expect_group_norm(const Tensor& grad, const Tensor& input, const Tensor& mean,
                       const Tensor& rstd, const Tensor& weight, int64_t groups) {
  const char* op = "_group_norm_backward";
  expect(input.dim() >= 2 && input.is_floating(), op, "the input is floating, of two dimensions");
  const int64_t channels = input->sizes[1];
  expect(groups > 0 && channels % groups == 0, op, "groups must divide the channels");
  expect_like(grad, input.sizes(), input.dtype(), op, "grad_out");
  expect_each(mean, input->sizes[0] * groups, op, "mean");
  expect_each(rstd, input->sizes[0] * groups, op, "rstd");
  expect_each(weight, channels, op, "weight");
  expect(!weight || is_parameter_dtype(weight.dtype(), input.dtype()), op,
         "weight has the input's dtype");
}

}  // namespace

const auto batch_norm_backward =
    define<Three(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, bool, double, int64_t)>(
    "_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, "
    "Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, "
    "int output_mask) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)")
  .doc("The gradients of batch normalisation, those that a mask names.")
  .node("NativeBatchNormBackwardBackward0")
  .forms(Hidden)
  .produce([](const Tensor& grad, const Tensor& input, const Tensor& weight,
              const Tensor& running_mean, const Tensor& running_var, const Tensor& mean,
              const Tensor& invstd, bool train, double eps, int64_t mask) {
    expect_batch_norm(grad, input, weight, running_mean, running_var, mean, invstd, train);
    Three made;
    auto& [dx, dw, db] = made;
    const Planes s(input);
    const DType p = parameter_dtype(input, {&weight, &running_mean});
    const Device device = input.device();
    if (mask & 1)
      dx = empty_strided(input.sizes(), format_strides(input.sizes(), suggested_format(input)),
                         input.dtype(), device);
    if (mask & 2) dw = empty({s.channels}, p, device);
    if (mask & 4) db = empty({s.channels}, p, device);
    if (device.is_meta()) return made;
    const Tensor plain = !dx || dx.is_contiguous() ? dx : empty(input.sizes(), input.dtype());
    const Tensor g = dense(grad), x = dense(input), gamma = dense(weight);
    const DType wide = compute_of(input.dtype());
    const Tensor rm = dense(running_mean), rv = dense(running_var);
    const Tensor m = train ? dense(widened(mean, wide)) : Tensor();
    const Tensor v = train ? dense(widened(invstd, wide)) : Tensor();
    kernels::batch_norm_backward(
        x.dtype(), p, g.data(), x.data(), data_or_null(gamma), data_or_null(rm), data_or_null(rv),
        data_or_null(m), data_or_null(v),
        data_or_null(plain), data_or_null(dw), data_or_null(db), s.samples(), s.channels, s.area,
        train, eps);
    if (dx && !dx.same(plain)) copy_data(dx, plain);
    return made;
  })
  .grad("grad_out, input, weight",
        "grad.grad_input, grad.grad_weight, grad.grad_bias, grad_out, input, weight, "
        "running_mean, running_var, save_mean, save_invstd, train, eps",
        [](const Tensor& ddx, const Tensor& ddw, const Tensor& ddb, const Tensor& grad,
           const Tensor& input, const Tensor& weight, const Tensor& running_mean,
           const Tensor& running_var, const Tensor& mean, const Tensor& invstd, bool train,
           double eps) {
    const int64_t dim = input.dim(), channels = input->sizes[1];
    const Dims dims = all_but_channels(dim);
    const Tensor w = along_channels(weight, dim);
    const Tensor dw = along_channels(ddw, dim), db = along_channels(ddb, dim);
    if (train) {
      // The saved statistics hold no history: the formula itself goes through them.
      const SecondGradients made = norm_second_gradients(
          ddx, dw, db, grad, input, w, along_channels(mean, dim), along_channels(invstd, dim), dims,
          input.numel() / std::max<int64_t>(channels, 1));
      return Three(made.grad, made.input, per_channel(made.weight, channels));
    }
    const Tensor rstd = along_channels(to_dtype(inverse_root(running_var, eps), grad.dtype()), dim);
    const Tensor h = (input - along_channels(running_mean, dim)) * rstd;
    const auto sum_into = [](Tensor& to, const Tensor& t) { to = to ? Tensor(to + t) : t; };
    SecondGradients made;
    if (ddx) {
      sum_into(made.grad, ddx * rstd * (w ? w : Tensor(full({}, 1, grad.dtype()))));
      sum_into(made.weight, ddx * rstd * grad);
    }
    if (ddw) {
      sum_into(made.grad, dw * h);
      sum_into(made.input, dw * grad * rstd);
    }
    if (ddb) sum_into(made.grad, expand(db, grad.sizes()));
    return Three(made.grad, made.input, per_channel(made.weight, channels));
  });

namespace {

constexpr const char* kOtherDtype = "expected scalar type %W but found %G";

DType statistics_dtype(const Tensor& input, std::initializer_list<const Tensor*> parameters) {
  return is_half(input.dtype()) ? parameter_dtype(input, parameters) : input.dtype();
}

// Before the running statistics move.
void check_batch_norm_out(const Arg* args, const Tensor* targets) {
  const From<Tensor> input(args[0]), weight(args[1]), bias(args[2]), mean(args[3]);
  const DType stats =
      statistics_dtype(input.get(), {&weight.get(), &bias.get(), &mean.get()});
  for (int i = 0; i < 3; ++i) {
    const DType wanted = i ? stats : input.get().dtype();
    check(targets[i].dtype() == wanted, "expected scalar type ", type_name_of(wanted),
          " but found ", type_name_of(targets[i].dtype()));
    check(targets[i].device() == input.get().device(), "Expected out tensor to have device ",
          name_of(input.get().device().type), ", but got ", name_of(targets[i].device().type),
          " instead");
    refuse_internal_overlap(targets[i]);
  }
}

}  // namespace

const auto native_batch_norm =
    define<Three(Tensor, Tensor, Tensor, Tensor, Tensor, bool, double, double)>(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool training, float momentum, float eps) "
    "-> (Tensor, Tensor, Tensor)")
  .doc("Batch normalisation, with the statistics that its gradient needs.")
  .nondiff("result1").nondiff("result2")
  .out({.dtype = OutDType::Exact, .text = "expected scalar type %W but found %G"})
  .forms(Function | Out)
  .out({.text = kOtherDtype, .check = check_batch_norm_out})
  .exact_out()
  .infer([](Infer& r, const Tensor& input, const Tensor& weight, const Tensor& bias,
            const Tensor& running_mean, const Tensor& running_var, bool training, double, double) {
    check(input.dim() >= 2, "batch_norm: expected an input of two dimensions or more");
    check_parameter(running_mean, "running_mean", input->sizes[1]);
    check_parameter(running_var, "running_var", input->sizes[1]);
    check_parameter(weight, "weight", input->sizes[1]);
    check_parameter(bias, "bias", input->sizes[1]);
    check(training || (running_mean && running_var), running_mean
          ? "running_var must be defined in evaluation mode"
          : "running_mean must be defined in evaluation mode");
    check_floating(input, "batch_norm");
    check_mixed(input, {&weight, &bias, &running_mean, &running_var});
    check(!training || input.numel() > 0, "input tensor must have at least one element, but got "
          "input_sizes = ", input.sizes());
    const DType stats = statistics_dtype(input, {&weight, &bias, &running_mean});
    const Dims sizes{training ? input->sizes[1] : 0};
    r.result(input.sizes(), format_strides(input.sizes(), suggested_format(input)), input.dtype(),
             input.device());
    r.result(sizes, stats, input.device());
    r.result(sizes, stats, input.device());
  })
  .kernel([](Tensor& output, Tensor& mean, Tensor& invstd, const Tensor& input,
             const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
             const Tensor& running_var, bool training, double momentum, double eps) {
    const Planes s(input);
    const Tensor x = dense(input), gamma = dense(weight), beta = dense(bias);
    const Tensor rm = dense(running_mean), rv = dense(running_var);
    const Tensor y = output.is_contiguous() ? output : empty(output.sizes(), output.dtype());
    const DType p = parameter_dtype(input, {&weight, &bias, &running_mean});
    if (training) {
      const DType wide = compute_of(input.dtype());
      const bool direct = mean.dtype() == wide;
      const Tensor m = direct ? mean : empty(mean.sizes(), wide);
      const Tensor v = direct ? invstd : empty(invstd.sizes(), wide);
      kernels::batch_norm_train(x.dtype(), p, x.data(), data_or_null(gamma), data_or_null(beta),
                                data_or_null(rm), data_or_null(rv), y.data(), m.data(), v.data(),
                                s.samples(), s.channels, s.area, momentum, eps);
      if (!direct) copy_data(mean, m), copy_data(invstd, v);
      for (const auto& [to, from] : {std::pair(running_mean, rm), std::pair(running_var, rv)}) {
        // As in PyTorch, the version stays: the gradient of the next batch saves them, too.
        if (to && !to.same(from)) copy_data(to, from);
      }
    } else {
      kernels::batch_norm_eval(x.dtype(), p, x.data(), data_or_null(gamma), data_or_null(beta),
                               rm.data(), rv.data(), y.data(), s.samples(), s.channels, s.area,
                               eps);
    }
    if (!y.same(output)) copy_data(output, y);
  })
  .cost([](double& flops, double&, const Tensor& output, const Tensor&, const Tensor& weight,
           const Tensor& bias, const Tensor&, const Tensor&, bool training, double, double) {
    flops = double(output.numel()) * ((training ? 6 : 2) + bool(weight) + bool(bias));
  })
  .grad("input, weight, bias",
        "grad.result, input, weight, running_mean, running_var, training, eps, result1, "
        "result2, needs",
        [](const Tensor& grad, const Tensor& input, const Tensor& weight,
           const Tensor& running_mean, const Tensor& running_var, bool training, double eps,
           const Tensor& mean, const Tensor& invstd, Needs needs) {
    return batch_norm_backward(grad, input, weight, running_mean, running_var, mean, invstd,
                               training, eps, int64_t(needs.mask));
  });

namespace {

// No values have no statistics: the running ones stay, and the parameters get zeros.
Tensor of_nothing(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  Tensor result = clone(input, std::optional<MemoryFormat>());
  if (weight && weight.numel()) result = result * select(weight, 0, 0);
  if (bias && bias.numel()) result = result + select(bias, 0, 0);
  return result;
}

}  // namespace

const Op<Tensor(Tensor, Tensor, Tensor, Tensor, Tensor, bool, double, double, bool)> batch_norm =
    define<Tensor(Tensor, Tensor, Tensor, Tensor, Tensor, bool, double, double, bool)>(
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor")
  .doc(R"(
    Each channel brought to mean 0 and variance 1, by its own statistics in training and by the
    running ones otherwise, then scaled and moved (Ioffe and Szegedy 2015).

    >>> x = torch.tensor([[1.], [3.]])
    >>> torch.batch_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[-1.],
            [ 1.]])
  )")
  .composite([](const Tensor& input, const Tensor& weight, const Tensor& bias,
                const Tensor& running_mean, const Tensor& running_var, bool training,
                double momentum, double eps, bool) -> Tensor {
    const int64_t channels = input.dim() >= 2 ? input->sizes[1] : 0;
    if (input.dim() >= 2 && input.numel() == 0) return of_nothing(input, weight, bias);
    check(training || (running_mean && running_var), running_mean
          ? "running_var must be defined in evaluation mode"
          : "running_mean must be defined in evaluation mode");
    check_parameter(running_mean, "running_mean", channels);
    check_parameter(running_var, "running_var", channels);
    check_parameter(weight, "weight", channels);
    check_parameter(bias, "bias", channels);
    check_channels(input);
    return std::get<0>(native_batch_norm(input, weight, bias, running_mean, running_var, training,
                                         momentum, eps));
  });

const auto instance_norm =
    define<Tensor(Tensor, Tensor, Tensor, Tensor, Tensor, bool, double, double, bool)>(
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) "
    "-> Tensor")
  .doc("Batch normalisation of each sample by itself (Ulyanov, Vedaldi and Lempitsky 2016).")
  .composite([](const Tensor& input, const Tensor& weight, const Tensor& bias,
                const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                double momentum, double eps, bool cudnn) -> Tensor {
    check(use_input_stats || (running_mean && running_var),
          "Expected running_mean and running_var to be defined when use_input_stats is false");
    check_channels(input);
    const int64_t b = input->sizes[0], c = input->sizes[1];
    for (const auto& [t, name] : {std::pair(running_mean, "running_mean"),
                                  std::pair(running_var, "running_var"),
                                  std::pair(weight, "weight"), std::pair(bias, "bias")}) {
      check(!t || t.numel() == c, name, " should contain ", b * c, " elements not ",
            t ? b * t.numel() : 0);
    }
    Tensor means, variances;  // as vectors; whether both can be written shows before one is
    if (use_input_stats) {
      NoGrad quiet;
      if (running_mean) means = view(running_mean, Dims{c});
      if (running_var) variances = view(running_var, Dims{c});
      for (const Tensor& t : {means, variances})
        if (t) refuse_internal_overlap(t);
    }
    const auto repeated = [&](const Tensor& t) {
      if (!t) return t;
      return Tensor(reshape(expand(reshape(t, Dims{1, c}), Dims{b, c}), Dims{b * c}));
    };
    Dims sizes(input.sizes());
    sizes[0] = 1;
    sizes[1] = b * c;
    // Of one sample, what is repeated is a view; the statistics that come in are not written.
    const auto own = [&](const Tensor& t) { return t && b == 1 ? clone(t) : repeated(t); };
    const Tensor rm = own(running_mean), rv = own(running_var);
    const Tensor made = batch_norm(reshape(contiguous(input), Ints(sizes)), repeated(weight),
                                   repeated(bias), rm, rv, use_input_stats, momentum, eps, cudnn);
    if (use_input_stats) {  // the running statistics move by the mean of the samples'
      NoGrad quiet;
      const int64_t first = 0;
      for (const auto& [to, from] : {std::pair(means, rm), std::pair(variances, rv)}) {
        if (to) copy_(to, mean_dim(view(from, Dims{b, c}), Ints(&first, 1), false));
      }
    }
    return view(made, input.sizes());
  });

// ---- Groups

namespace {

// [N, G, C / G * area], where statistics are per [N, G, 1].
Tensor grouped(const Tensor& t, int64_t n, int64_t groups) {
  return t ? Tensor(reshape(t, Dims{n, groups, -1})) : t;
}

// A value per channel at every place of the grouped form.
Tensor grouped_parameter(const Tensor& p, const Tensor& input, int64_t groups) {
  if (!p) return p;
  return grouped(expand(along_channels(p, input.dim()), input.sizes()), input->sizes[0], groups);
}

}  // namespace

const auto group_norm_backward =
    define<Three(Tensor, Tensor, Tensor, Tensor, Tensor, int64_t, int64_t)>(
    "_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, "
    "Tensor? weight, int group, int output_mask) "
    "-> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)")
  .doc("The gradients of group normalisation, those that a mask names.")
  .node("NativeGroupNormBackwardBackward0")
  .forms(Hidden)
  .produce([](const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& rstd,
              const Tensor& weight, int64_t groups, int64_t mask) {
    expect_group_norm(grad, input, mean, rstd, weight, groups);
    Three made;
    auto& [dx, dw, db] = made;
    const Planes s(input);
    const DType p = weight ? weight.dtype() : input.dtype();
    const Device device = input.device();
    if (mask & 1)
      dx = empty_strided(input.sizes(), format_strides(input.sizes(), suggested_format(input)),
                         input.dtype(), device);
    if (mask & 2) dw = empty({s.channels}, p, device);
    if (mask & 4) db = empty({s.channels}, p, device);
    if (device.is_meta()) return made;
    const Tensor plain = !dx || dx.is_contiguous() ? dx : empty(input.sizes(), input.dtype());
    const DType wide = compute_of(input.dtype());
    const Tensor m = empty(mean.sizes(), wide), v = empty(rstd.sizes(), wide);
    copy_data(m, mean);
    copy_data(v, rstd);
    const Tensor g = dense(grad), x = dense(input), gamma = dense(weight);
    kernels::group_norm_backward(x.dtype(), p, g.data(), x.data(), data_or_null(gamma), m.data(),
                                 v.data(), data_or_null(plain), data_or_null(dw),
                                 data_or_null(db), s.batch, s.channels, s.area, groups);
    if (dx && !dx.same(plain)) copy_data(dx, plain);
    return made;
  })
  .grad("grad_out, input, weight",
        "grad.grad_input, grad.grad_weight, grad.grad_bias, grad_out, input, mean, rstd, weight, "
        "group",
        [](const Tensor& ddx, const Tensor& ddw, const Tensor& ddb, const Tensor& grad,
           const Tensor& input, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
           int64_t groups) {
    const int64_t n = input->sizes[0];
    const SecondGradients made = norm_second_gradients(
        grouped(ddx, n, groups), grouped_parameter(ddw, input, groups),
        grouped_parameter(ddb, input, groups), grouped(grad, n, groups), grouped(input, n, groups),
        grouped_parameter(weight, input, groups), unsqueeze(mean, -1), unsqueeze(rstd, -1),
        Dims{-1}, input.numel() / std::max<int64_t>(n * groups, 1));
    const auto back = [&](const Tensor& t) {
      return t ? Tensor(reshape(t, input.sizes())) : t;
    };
    return Three(back(made.grad), back(made.input),
                 per_channel(back(made.weight), input->sizes[1]));
  });

namespace {

// What comes to the input from its groups' means and inverse deviations.
Tensor through_statistics(const Tensor& dmean, const Tensor& drstd, const Tensor& input,
                          const Tensor& mean, const Tensor& rstd, int64_t groups) {
  const int64_t n = input->sizes[0];
  const Tensor x = grouped(input, n, groups);
  const Scalar share(1.0 / double(std::max<int64_t>(1, x->sizes[2])));
  Tensor made;
  if (dmean) made = expand(unsqueeze(dmean * share, -1), x.sizes());
  if (drstd) {
    const Tensor slope = unsqueeze(-drstd * rstd * rstd * rstd * share, -1);
    const Tensor more = slope * (x - unsqueeze(mean, -1));
    made = made ? Tensor(made + more) : more;
  }
  return reshape(made, input.sizes());
}

}  // namespace

const auto native_group_norm =
    define<Three(Tensor, Tensor, Tensor, int64_t, int64_t, int64_t, int64_t, double)>(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, "
    "int group, float eps) -> (Tensor, Tensor, Tensor)")
  .doc("Group normalisation, with the mean and the inverse deviation of each group.")
  .forms(Function)
  .infer([](Infer& r, const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t n,
            int64_t channels, int64_t area, int64_t groups, double) {
    int64_t numel = 0;
    check(n >= 0 && channels >= 0 && area >= 0 && !__builtin_mul_overflow(n, channels, &numel) &&
          !__builtin_mul_overflow(numel, area, &numel) && numel == input.numel(),
          "Expected an input of N * C * HxW elements");
    check(groups > 0 && channels % groups == 0, "Expected number of channels in input to be "
          "divisible by num_groups, but got input of shape ", input.sizes(), " and num_groups=",
          groups);
    for (const auto& [p, name] : {std::pair(weight, "weight"), std::pair(bias, "bias")}) {
      check(!p || p.numel() == channels, "Expected ", name, " to be a vector of size equal to the "
            "number of channels in input, but got ", name, " of shape ", p ? p.sizes() : Ints(),
            " and input of shape ", input.sizes());
    }
    check(input.is_contiguous() || input.is_contiguous(suggested_format(input)),
          "Expected X.is_contiguous(memory_format) to be true, but got false.  (Could this error "
          "message be improved?  If so, please report an enhancement request to PyTorch.)");
    check_floating(input, "GroupNormKernelImpl");
    check_mixed(input, {&weight, &bias});
    const DType stats = parameter_dtype(input, {&weight, &bias});
    r.result(input.sizes(), format_strides(input.sizes(), suggested_format(input)), input.dtype(),
             input.device());
    r.result({n, groups}, stats, input.device());
    r.result({n, groups}, stats, input.device());
  })
  .kernel([](Tensor& output, Tensor& mean, Tensor& rstd, const Tensor& input, const Tensor& weight,
             const Tensor& bias, int64_t n, int64_t channels, int64_t area, int64_t groups,
             double eps) {
    const Tensor x = dense(input), gamma = dense(weight), beta = dense(bias);
    const Tensor plain = output.is_contiguous() ? output : empty(output.sizes(), output.dtype());
    const DType wide = compute_of(input.dtype());
    const bool direct = mean.dtype() == wide;
    const Tensor m = direct ? mean : empty(mean.sizes(), wide);
    const Tensor v = direct ? rstd : empty(rstd.sizes(), wide);
    kernels::group_norm(x.dtype(), parameter_dtype(input, {&weight, &bias}), x.data(),
                        data_or_null(gamma), data_or_null(beta), plain.data(), m.data(), v.data(),
                        n, channels, area, groups, eps);
    if (!output.same(plain)) copy_data(output, plain);
    if (!direct) copy_data(mean, m), copy_data(rstd, v);
  })
  .cost([](double& flops, double&, const Tensor& output, const Tensor&, const Tensor& weight,
           const Tensor& bias, int64_t, int64_t, int64_t, int64_t, double) {
    flops = double(output.numel()) * (6 + bool(weight) + bool(bias));
  })
  .grad("input, weight, bias",
        "grad.result, grad.result1, grad.result2, input, result1, result2, weight, group, needs",
        [](const Tensor& grad, const Tensor& dmean, const Tensor& drstd, const Tensor& input,
           const Tensor& mean, const Tensor& rstd, const Tensor& weight, int64_t groups,
           Needs needs) {
    Three made;
    if (grad)
      made = group_norm_backward(grad, input, mean, rstd, weight, groups, int64_t(needs.mask));
    if (needs[0] && (dmean || drstd)) {
      const Tensor more = through_statistics(dmean, drstd, input, mean, rstd, groups);
      Tensor& dx = std::get<0>(made);
      dx = dx ? Tensor(dx + more) : more;
    }
    return made;
  });

const auto group_norm = define<Tensor(Tensor, int64_t, Tensor, Tensor, double, bool)>(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05, bool cudnn_enabled=True) -> Tensor")
  .doc(R"(
    Groups of channels brought to mean 0 and variance 1 in each sample, then scaled and moved
    per channel (Wu and He 2018).

    >>> torch.group_norm(torch.tensor([[1., 3.]]), 1, eps=0.0)
    tensor([[-1.,  1.]])
  )")
  .composite([](const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias,
                double eps, bool) -> Tensor {
    check(input.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ",
          input.dim());
    const Planes s(input);
    check(groups > 0 && s.channels % groups == 0, "Expected number of channels in input to be "
          "divisible by num_groups, but got input of shape ", input.sizes(), " and num_groups=",
          groups);
    for (const auto& [p, name] : {std::pair(weight, "weight"), std::pair(bias, "bias")}) {
      check(!p || (p.dim() == 1 && p.numel() == s.channels), "Expected ", name,
            " to be a vector of size equal to the number of channels in input, but got ", name,
            " of shape ", p ? p.sizes() : Ints(), " and input of shape ", input.sizes());
    }
    const Tensor x = contiguous(input, suggested_format(input));
    return std::get<0>(native_group_norm(x, weight, bias, s.batch, s.channels, s.area, groups,
                                         eps));
  });

}  // namespace rl::ops
