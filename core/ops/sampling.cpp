// Samples whose distribution is given by tensors: bernoulli, normal, multinomial and others; dropout.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/random.h"
#include "ops/refusals.h"

namespace rl::ops {
namespace {

constexpr auto no_gradient = [](const Tensor& grad) { return zeros_like(grad); };

void check_probability(double p) {
  check(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
}

void fill_bernoulli(const Tensor& t, double p, Generator* generator) {
  each_run(t, generator, [&](Generator& g, kernels::Run run) { kernels::bernoulli(g, run, p); });
}

void fill_bernoulli(const Tensor& t, const Tensor& p, Generator* generator) {
  const Tensor wide = to_dtype(p, DType::Double);
  StridedLoop over(wide.sizes());
  over.add(wide);
  over.prepare();
  bool good = true;
  over.run([&](char* const* at, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const double v = *reinterpret_cast<const double*>(at[0] + i * s[0]);
      good &= v >= 0 && v <= 1;
    }
  }, INT64_MAX);
  check(good, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message "
        "be improved?  If so, please report an enhancement request to PyTorch.)");
  each_run_with(t, {p}, generator, [](Generator& g, kernels::Run run, const kernels::ConstRun* with) {
    kernels::bernoulli(g, run, with[0]);
  });
}

void check_bernoulli(const Tensor& p) {
  if (!p.is_floating()) not_for("bernoulli_tensor_cpu_p_", p.dtype());
}

}  // namespace

const auto bernoulli = define<Tensor(Tensor, Generator*)>(
    "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor")
  .doc(R"(
    Ones with the probabilities that the input gives (or `p`), zeros otherwise.

    >>> torch.bernoulli(torch.tensor([0., 1.]))
    tensor([0., 1.])
  )")
  .out({.dtype = OutDType::Any, .inputs = true, .quiet = true})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, Generator*) {
    check_bernoulli(self);
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, Generator* g) {
    NoGrad quiet;
    fill_bernoulli(result, self, g);
  })
  .grad("self", "grad", no_gradient);

const auto bernoulli_p = define<Tensor(Tensor, double, Generator*)>(
    "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor")
  .node("BernoulliBackward1")
  .out({.dtype = OutDType::Any, .inputs = true, .quiet = true})
  .forms(Function | Method)
  .infer([](Infer& r, const Tensor& self, double p, Generator*) {
    check_probability(p);
    if (self.is_complex()) not_for("bernoulli_scalar_cpu_", self.dtype());
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor&, double p, Generator* g) { fill_bernoulli(result, p, g); })
  .grad("self", "grad", no_gradient);

const auto bernoulli_in_place_tensor = define<Tensor(Tensor, Tensor, Generator*)>(
    "bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)")
  .doc("Fills the tensor with ones of probability `p` and zeros.")
  .node("BernoulliBackward1")
  .forms(Method)
  .infer([](Infer&, const Tensor& self, const Tensor& p, Generator*) {
    check_bernoulli(p);
    refuse_internal_overlap(self);
    check(Ints(broadcast(self.sizes(), p.sizes())) == self.sizes(), "output with shape ", self.sizes(),
          " doesn't match the broadcast shape ", Ints(broadcast(self.sizes(), p.sizes())));
  })
  .effect([](const Tensor& self, const Tensor& p, Generator* g) {
    NoGrad quiet;
    fill_bernoulli(self, p, g);
  })
  .grad("self", "grad", no_gradient)
  .grad("p", "grad, p.sizes", [](const Tensor& grad, Ints sizes) {
    return zeros(sizes, grad.dtype(), grad.device());
  });

const auto bernoulli_in_place = define<Tensor(Tensor, double, Generator*)>(
    "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)")
  .node("BernoulliBackward2")
  .forms(Method)
  .infer([](Infer&, const Tensor& self, double p, Generator*) {
    check_probability(p);
    refuse_internal_overlap(self);
    if (self.is_complex()) not_for("bernoulli_scalar_cpu_", self.dtype());
  })
  .effect([](const Tensor& self, double p, Generator* g) { fill_bernoulli(self, p, g); })
  .grad("self", "grad", no_gradient);

// ---- normal(mean, std)

namespace {

void check_drawn(DType dtype) {
  if (!is_differentiable(dtype)) not_for("normal_kernel_cpu", dtype);
}
void check_deviations(const Tensor& std) {
  check(!std.is_complex(), "normal expects standard deviation to be non-complex");
}

void check_positive(const Tensor& std) {
  if (std.is_meta() || std.is_complex()) return;
  const Tensor wide = contiguous(to_dtype(std, DType::Double));
  for (int64_t i = 0; i < wide.numel(); ++i)
    check(!(wide.ptr<double>()[i] < 0), "normal expects all elements of std >= 0.0");
}

constexpr auto zero_of = [](const Tensor& grad, Ints sizes) {
  return zeros(sizes, grad.dtype(), grad.device());
};

}  // namespace

const auto normal_tensors = define<Tensor(Tensor, Tensor, Generator*)>(
    "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor")
  .doc(R"(
    Normally distributed numbers of the given means and deviations.

    >>> torch.normal(torch.tensor([1., 2.]), 0.)
    tensor([1., 2.])
  )")
  .node("NormalBackward3")
  .out({.dtype = OutDType::Any, .inputs = true, .check = [](const Arg* args, const Tensor* targets) {
    check_drawn(targets->dtype());
    check_positive(args[1].as_tensor());
  }})
  .forms(Function | Out)
  .infer([](Infer& r, const Tensor& mean, const Tensor& std, Generator*) {
    check_deviations(std);
    check_drawn(mean.dtype());
    r.result(broadcast(mean.sizes(), std.sizes()), mean.dtype(), mean.device());
  })
  .kernel([](Tensor& result, const Tensor& mean, const Tensor& std, Generator* g) {
    NoGrad quiet;
    check_positive(std);
    fill_normal(result, 0, 1, g);
    mul.in_place(result, std);
    add.in_place(result, mean);
  })
  .grad("mean", "grad, mean.sizes", zero_of)
  .grad("std", "grad, std.sizes", zero_of);

const auto normal_mean = define<Tensor(Tensor, double, Generator*)>(
    "normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor")
  .node("NormalBackward1")
  .out({.dtype = OutDType::Any, .inputs = true, .check = [](const Arg* args, const Tensor* targets) {
    broadcast(args[0].as_tensor().sizes(), targets->sizes());  // as PyTorch, it is not resized
    check_drawn(targets->dtype());
  }})
  .forms(Function | Out)
  .infer([](Infer& r, const Tensor& mean, double std, Generator*) {
    check(std >= 0, "normal expects std >= 0.0, but found std ", std);
    check_drawn(mean.dtype());
    r.result(mean.sizes(), mean.dtype(), mean.device());
  })
  .kernel([](Tensor& result, const Tensor& mean, double std, Generator* g) {
    NoGrad quiet;
    fill_normal(result, 0, std, g);
    add.in_place(result, mean);
  })
  .grad("mean", "grad, mean.sizes", zero_of);

const auto normal_std = define<Tensor(double, Tensor, Generator*)>(
    "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor")
  .node("NormalBackward2")
  .out({.dtype = OutDType::Any, .inputs = true, .check = [](const Arg* args, const Tensor* targets) {
    check_drawn(targets->dtype());
    check_positive(args[1].as_tensor());
  }})
  .forms(Function | Out)
  .infer([](Infer& r, double, const Tensor& std, Generator*) {
    check_deviations(std);
    check_drawn(std.dtype());
    r.result(std.sizes(), std.dtype(), std.device());
  })
  .kernel([](Tensor& result, double mean, const Tensor& std, Generator* g) {
    NoGrad quiet;
    check_positive(std);
    fill_normal(result, 0, 1, g);
    mul.in_place(result, std);
    add.in_place(result, Scalar(mean));
  })
  .grad("std", "grad, std.sizes", zero_of);

const auto normal_numbers = define<Tensor(double, double, Ints, Generator*, MaybeDType,
                                          MaybeDevice)>(
    "normal.float_float(float mean, float std, int[] size, *, Generator? generator=None, "
    "ScalarType? dtype=None, Device? device=None) -> Tensor")
  .out({.quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, double, double std, Ints size, Generator*, MaybeDType dtype,
            MaybeDevice device) {
    check(std >= 0, "normal expects std >= 0.0, but found std ", std);
    const DType t = dtype.value_or(default_dtype());
    if (!is_differentiable(t)) not_for("normal_kernel_cpu", t);
    r.result(size, t, device_or_cpu(device));
  })
  .factory([](Tensor& result, double mean, double std, Ints, Generator* g, MaybeDType,
              MaybeDevice) { fill_normal(result, mean, std, g); });

// ---- Counts and choices

const auto multinomial = define<Tensor(Tensor, int64_t, bool, Generator*)>(
    "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor")
  .doc(R"(
    Indices drawn with the probabilities that each row gives.

    >>> torch.multinomial(torch.tensor([0., 3., 0.]), 1)
    tensor([1])
  )")
  .out({.dtype = OutDType::Exact, .internal = true, .quiet = true,
        .text = "multinomial expects %W tensor out, got: %G",
        .check = [](const Arg* args, const Tensor* targets) {
    if (args->as_tensor().dim() == 1) refuse_internal_overlap(*targets);
  }})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, int64_t samples, bool replacement, Generator*) {
    check(self.dim() > 0 && self.dim() <= 2, "prob_dist must be 1 or 2 dim");
    check(self.is_floating(), "multinomial only supports floating-point dtypes for input, got: ",
          type_name_of(self.dtype()));
    check(samples > 0, "cannot sample n_sample <= 0 samples");
    check(replacement || samples <= self.size(-1), "cannot sample n_sample > prob_dist.size(-1) "
          "samples without replacement");
    Dims sizes(self.sizes());
    sizes.back() = samples;
    r.result(sizes, DType::Int64, self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t samples, bool replacement, Generator* generator) {
    NoGrad quiet;
    const Tensor p = contiguous(self);
    const int64_t n = p.size(-1), rows = n ? p.numel() / n : 0, item = p.element_size();
    const kernels::ConstRun probs{p.data(), p.dtype(), item};
    Drawing drawing(generator);
    if (replacement && samples > 1) {
      using kernels::Refusal;
      const Refusal why = kernels::multinomial(drawing.generator(), probs, n * item, rows, n, samples,
                                               result.ptr<int64_t>());
      check(why != Refusal::Negative, "invalid multinomial distribution (encountering probability entry < 0)");
      check(why != Refusal::NotFinite, "invalid multinomial distribution (encountering probability "
            "entry = infinity or NaN)");
      check(why != Refusal::ZeroSum, "invalid multinomial distribution (sum of probabilities <= 0)");
      return;
    }
    const Tensor wide = contiguous(to_dtype(p, DType::Double));
    for (int64_t i = 0; i < wide.numel(); ++i) {
      const double v = wide.ptr<double>()[i];
      check(v >= 0 && std::isfinite(v), "probability tensor contains either `inf`, `nan` or element < 0");
    }
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += wide.ptr<double>()[row * n + i];
      check(sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
    }
    kernels::multinomial_distinct(drawing.generator(), probs, n * item, rows, n, samples,
                                  result.ptr<int64_t>());
  });

const auto poisson = define<Tensor(Tensor, Generator*)>(
    "poisson(Tensor self, Generator? generator=None) -> Tensor")
  .doc(R"(
    Counts of events at the rates that the input gives.

    >>> torch.poisson(torch.zeros(2))
    tensor([0., 0.])
  )")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, Generator*) {
    if (!self.is_floating()) not_for("poisson_cpu", self.dtype());
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, Generator* g) {
    NoGrad quiet;
    const Tensor wide = contiguous(to_dtype(self, DType::Double));
    for (int64_t i = 0; i < wide.numel(); ++i)
      check(wide.ptr<double>()[i] >= 0, "invalid Poisson rate, expected rate to be non-negative");
    each_run_with(result, {self}, g, [](Generator& g, kernels::Run run, const kernels::ConstRun* with) {
      kernels::poisson(g, run, with[0]);
    });
  })
  .grad("self", "grad", no_gradient);

const auto binomial = define<Tensor(Tensor, Tensor, Generator*)>(
    "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor")
  .doc(R"(
    Numbers of successes among `count` trials of probability `prob`.

    >>> torch.binomial(torch.tensor([3.]), torch.tensor([1.]))
    tensor([3.])
  )")
  .forms(Function)
  .infer([](Infer& r, const Tensor& count, const Tensor& prob, Generator*) {
    refuse_meta("binomial", count);
    check(count.is_floating(), ErrorKind::Value, "binomial only supports floating-point dtypes for "
          "count, got: ", type_name_of(count.dtype()));
    check(prob.is_floating(), ErrorKind::Value, "binomial only supports floating-point dtypes for "
          "prob, got: ", type_name_of(prob.dtype()));
    check(count.dtype() == prob.dtype(), "Found dtype ", type_name_of(prob.dtype()), " but expected ",
          type_name_of(count.dtype()));
    r.result(broadcast(count.sizes(), prob.sizes()), count.dtype(), count.device());
  })
  .kernel([](Tensor& result, const Tensor& count, const Tensor& prob, Generator* g) {
    each_run_with(result, {count, prob}, g, [](Generator& g, kernels::Run run, const kernels::ConstRun* with) {
      kernels::binomial(g, run, with[0], with[1]);
    });
  })
  .grad("count", "grad, count.sizes", zero_of)
  .grad("prob", "grad, prob.sizes", zero_of);

const auto standard_gamma = define<Tensor(Tensor, Generator*)>(
    "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor")
  .doc("Gamma-distributed numbers of rate 1; the input gives the concentrations.")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, Generator*) {
    if (!self.is_floating()) not_for("gamma", self.dtype());
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, Generator* g) {
    each_run_with(result, {self}, g, [](Generator& g, kernels::Run run, const kernels::ConstRun* with) {
      kernels::gamma(g, run, with[0]);
    });
  })
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    return grad * standard_gamma_grad(self, result);
  });

const auto sample_dirichlet = define<Tensor(Tensor, Generator*)>(
    "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor")
  .doc("Points of a simplex; each row of the input gives the concentrations.")
  .forms(Function)
  .no_derivative("derivative for aten::_sample_dirichlet is not implemented")
  .infer([](Infer& r, const Tensor& self, Generator*) {
    if (!self.is_floating()) not_for("dirichlet", self.dtype());
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, Generator* generator) {
    NoGrad quiet;
    const Tensor a = contiguous(self);
    const int64_t n = a.size(-1), item = a.element_size();
    const Tensor scratch = empty({n}, DType::Double);
    Drawing drawing(generator);
    for (int64_t row = 0; n && row < a.numel() / n; ++row)
      kernels::dirichlet(drawing.generator(), kernels::dense_run(result.data() + row * n * item, a.dtype(), n),
                         {a.data() + row * n * item, a.dtype(), item}, scratch.ptr<double>());
  });

// ---- Dropout

namespace {

// Which elements, or whole features, are kept, scaled to keep the mean; undefined: all.
void check_dropout(double p) {
  check(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}

Tensor feature_noise(const Tensor& input) {
  check(input.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input");
  Dims sizes;
  for (int64_t d = 0; d < input.dim(); ++d) sizes.push_back(d < 2 ? input.sizes()[d] : 1);
  return new_empty_strided(input, sizes, contiguous_strides(sizes));
}

Tensor product(const Tensor& input, const Tensor& noise, bool in_place) {
  if (!in_place) return mul(input, noise);
  mul.in_place(input, noise);
  return input;
}

Tensor drop(const Tensor& input, double p, bool train, bool features, bool alpha, bool in_place) {
  check_dropout(p);
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return product(input, zeros({}, input.dtype(), input.device()), in_place);
  const Tensor noise = features ? feature_noise(input)
                                : new_empty_strided(input, input.sizes(), dense_strides_like(input));
  bernoulli_in_place(noise, 1 - p);
  if (!alpha) {
    div.in_place(noise, Scalar(1 - p));
    return product(input, noise, in_place);
  }
  // Self-normalizing networks (Klambauer et al. 2017), section 4: scale and shift keep mean and variance.
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const Tensor b = add(noise, Scalar(-1));
  mul.in_place(b, Scalar(kAlpha * a));
  add.in_place(b, Scalar(kAlpha * a * p));
  mul.in_place(noise, Scalar(a));
  if (in_place) {
    mul.in_place(input, noise);
    add.in_place(input, b);
    return input;
  }
  return add(mul(input, noise), b);
}

}  // namespace

const auto dropout = define<Tensor(Tensor, double, bool)>("dropout(Tensor input, float p, bool train) -> Tensor")
  .doc(R"(
    While training, sets elements to zero with probability `p` and scales the rest by 1 / (1 - p).

    >>> torch.dropout(torch.ones(2), 0.5, train=False)
    tensor([1., 1.])
  )")
  .forms(Function)
  .composite([](const Tensor& x, double p, bool train) { return drop(x, p, train, false, false, false); });
const auto dropout_ = define<Tensor(Tensor, double, bool)>("dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")
  .doc("dropout in place.")
  .forms(Function)
  .composite([](const Tensor& x, double p, bool train) { return drop(x, p, train, false, false, true); });
const auto feature_dropout = define<Tensor(Tensor, double, bool)>(
    "feature_dropout(Tensor input, float p, bool train) -> Tensor")
  .doc("dropout of whole features: all elements of one index of the second dimension.")
  .forms(Function)
  .composite([](const Tensor& x, double p, bool train) { return drop(x, p, train, true, false, false); });
const auto feature_dropout_ = define<Tensor(Tensor, double, bool)>(
    "feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")
  .doc("feature_dropout in place.")
  .forms(Function)
  .composite([](const Tensor& x, double p, bool train) { return drop(x, p, train, true, false, true); });
const auto alpha_dropout = define<Tensor(Tensor, double, bool)>(
    "alpha_dropout(Tensor input, float p, bool train) -> Tensor")
  .doc("dropout that keeps mean and variance of self-normalising networks.")
  .forms(Function)
  .composite([](const Tensor& x, double p, bool train) { return drop(x, p, train, false, true, false); });
const auto alpha_dropout_ = define<Tensor(Tensor, double, bool)>(
    "alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")
  .doc("alpha_dropout in place.")
  .forms(Function)
  .composite([](const Tensor& x, double p, bool train) { return drop(x, p, train, false, true, true); });
const auto feature_alpha_dropout = define<Tensor(Tensor, double, bool)>(
    "feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor")
  .doc("alpha_dropout of whole features.")
  .forms(Function)
  .composite([](const Tensor& x, double p, bool train) { return drop(x, p, train, true, true, false); });
const auto feature_alpha_dropout_ = define<Tensor(Tensor, double, bool)>(
    "feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)")
  .doc("feature_alpha_dropout in place.")
  .forms(Function)
  .composite([](const Tensor& x, double p, bool train) { return drop(x, p, train, true, true, true); });

const auto native_dropout = define<std::pair<Tensor, Tensor>(Tensor, double, MaybeBool)>(
    "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)")
  .doc("dropout that also returns the mask of what was kept.")
  .forms(Function)
  .nondiff("result1")
  .infer([](Infer& r, const Tensor& input, double, MaybeBool train) {
    check(!train.value_or(true) || is_differentiable(input.dtype()), "result type Float can't be cast "
          "to the desired output type ", type_name_of(input.dtype()));
    refuse_complex_gradient("native_dropout", input);
    r.like(input);
    r.result(input.sizes(), DType::Bool, input.device());
  })
  .kernel([](Tensor& result, Tensor& mask, const Tensor& input, double p, MaybeBool train) {
    NoGrad quiet;
    if (!train.value_or(true)) {
      set_value(mask, true);
      copy_data(result, input);
      return;
    }
    fill_bernoulli(mask, 1 - p, nullptr);
    copy_data(result, input);
    mul.in_place(result, mask);
    mul.in_place(result, Scalar(p == 1 ? 0.0 : 1 / (1 - p)));
  })
  .grad("input", "grad.result, result1, p, train",
        [](const Tensor& grad, const Tensor& mask, double p, MaybeBool train) {
    const double scale = !train.value_or(false) ? 1.0 : p == 1 ? 0.0 : 1 / (1 - p);
    return grad * mask * Scalar(scale);
  });

}  // namespace rl::ops
