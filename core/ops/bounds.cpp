// The larger and the smaller of two, bounds, and functions that step or bend at zero.
#include "ops/elementwise.h"

namespace rl::ops {
namespace {

constexpr auto refuse_complex = [](const Tensor& self, const Tensor& other, const char* name) {
  check(!self.is_complex() && !other.is_complex(), name, " not implemented for complex tensors.");
};

}  // namespace

const Op<Tensor(Tensor, Tensor)> maximum = define<Tensor(Tensor, Tensor)>(
    "maximum(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    The larger of two elements; NaN where one is NaN.

    >>> torch.maximum(torch.tensor([1., 4.]), torch.tensor([3., 2.]))
    tensor([3., 4.])
  )")
  .forms(Function | Method | Out)
  .pointwise(kernels::maximum)
  .infer([](Infer&, const Tensor& self, const Tensor& other) {
    refuse_complex(self, other, "maximum");
  })
  .grad("self", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return zero_where(lt(self, other), where(eq(self, other), grad / Scalar(2), grad));
  })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return zero_where(gt(self, other), where(eq(self, other), grad / Scalar(2), grad));
  });

const Op<Tensor(Tensor, Tensor)> minimum = define<Tensor(Tensor, Tensor)>(
    "minimum(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    The smaller of two elements; NaN where one is NaN.

    >>> torch.minimum(torch.tensor([1., 4.]), torch.tensor([3., 2.]))
    tensor([1., 2.])
  )")
  .forms(Function | Method | Out)
  .pointwise(kernels::minimum)
  .infer([](Infer&, const Tensor& self, const Tensor& other) {
    refuse_complex(self, other, "minimum");
  })
  .grad("self", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return zero_where(gt(self, other), where(eq(self, other), grad / Scalar(2), grad));
  })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return zero_where(lt(self, other), where(eq(self, other), grad / Scalar(2), grad));
  });

const auto fmax = define<Tensor(Tensor, Tensor)>("fmax(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    The larger of two elements; a number beats NaN.

    >>> torch.fmax(torch.tensor([1., float("nan")]), torch.tensor([3., 2.]))
    tensor([3., 2.])
  )")
  .forms(Function | Method | Out)
  .pointwise(kernels::fmax_)
  .infer([](Infer&, const Tensor& self, const Tensor& other) {
    refuse_complex(self, other, "fmax");
  })
  .grad("self", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return keep_where(logical_or(ge(self, other), isnan(other)), grad);
  })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return zero_where(logical_or(ge(self, other), isnan(other)), grad);
  });

const auto fmin = define<Tensor(Tensor, Tensor)>("fmin(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    The smaller of two elements; a number beats NaN.

    >>> torch.fmin(torch.tensor([1., float("nan")]), torch.tensor([3., 2.]))
    tensor([1., 2.])
  )")
  .forms(Function | Method | Out)
  .pointwise(kernels::fmin_)
  .infer([](Infer&, const Tensor& self, const Tensor& other) {
    refuse_complex(self, other, "fmin");
  })
  .grad("self", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return keep_where(logical_or(le(self, other), isnan(other)), grad);
  })
  .grad("other", "grad, self, other",
        [](const Tensor& grad, const Tensor& self, const Tensor& other) {
    return zero_where(logical_or(le(self, other), isnan(other)), grad);
  });

// ---- Bounds

namespace {

using Bound = MaybeScalar;

void refuse_complex_bounds(const Tensor& self, bool bound_complex) {
  check(!self.is_complex() && !bound_complex, ErrorKind::NotImplemented,
        "clamp is not supported for complex types");
}

Choice bounds(const Tensor& self, const Bound& min, const Bound& max) {
  check(min || max, "torch.clamp: At least one of 'min' or 'max' must not be None");
  refuse_complex_bounds(self, (min && min->is_complex()) || (max && max->is_complex()));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if ((min && min->to_double() != min->to_double()) ||
      (max && max->to_double() != max->to_double()))
    return {&kernels::clamp, Promote::Default, 2, {nan, nan}};  // a NaN bound makes all NaN
  if (!max) return {&kernels::clamp_min, Promote::Default, 1, {*min}};
  if (!min) return {&kernels::clamp_max, Promote::Default, 1, {*max}};
  return {&kernels::clamp, Promote::Default, 2, {*min, *max}};
}

Choice bounds(const Tensor& self, const Tensor& min, const Tensor& max) {
  check(min || max, "torch.clamp: At least one of 'min' or 'max' must not be None");
  refuse_complex_bounds(self, (min && min.is_complex()) || (max && max.is_complex()));
  return {!max ? &kernels::maximum : !min ? &kernels::minimum : &kernels::clamp_tensor};
}

// Where an element lies within its bounds, which may be undefined.
Tensor within(const Tensor& self, const Arg& min, const Arg& max) {
  if (max.is_none()) return ge.call({Arg(self), min});
  if (min.is_none()) return le.call({Arg(self), max});
  return logical_and(Tensor(ge.call({Arg(self), min})), Tensor(le.call({Arg(self), max})));
}

}  // namespace

const Op<Tensor(Tensor, Bound, Bound)> clamp = define<Tensor(Tensor, Bound, Bound)>(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor")
  .doc(R"(
    Limits elements to [min, max]; where min > max, the result is max.

    >>> torch.clamp(torch.tensor([-2., 0.5, 3.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
  )")
  .alias("clip")
  .node("ClampBackward1")
  .out({.dtype = OutDType::Exact,
        .inplace_text = "result type %W can't be cast to the desired output type %g"})
  .forms(kAllForms)
  .choose([](const Tensor& self, const Bound& min, const Bound& max) {
    return bounds(self, min, max);
  }, true)
  .grad("self", "grad, self, min, max",
        [](const Tensor& grad, const Tensor& self, const Bound& min, const Bound& max) {
    return keep_where(within(self, Arg(min), Arg(max)), grad);
  });

const auto clamp_tensor = define<Tensor(Tensor, Tensor, Tensor)>(
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor")
  .doc(R"(
    Limits elements to bounds of their own.

    >>> torch.clamp(torch.tensor([-2., 3.]), min=torch.tensor([-1., 4.]))
    tensor([-1.,  4.])
  )")
  .alias("clip")
  .node("ClampBackward0")
  .out({.inplace_text = "result type %W can't be cast to the desired output type %g"})
  .forms(kAllForms)
  .choose([](const Tensor& self, const Tensor& min, const Tensor& max) {
    return bounds(self, min, max);
  })
  .grad("self", "grad, self, min, max",
        [](const Tensor& grad, const Tensor& self, const Tensor& min, const Tensor& max) {
    return keep_where(within(self, Arg(min), Arg(max)), grad);
  })
  .grad("min", "grad, self, min, max",
        [](const Tensor& grad, const Tensor& self, const Tensor& min, const Tensor& max) {
    const Tensor below = lt(self, min);
    return keep_where(max ? Tensor(logical_and(below, lt(min, max))) : below, grad);
  })
  .grad("max", "grad, self, min, max",
        [](const Tensor& grad, const Tensor& self, const Tensor& min, const Tensor& max) {
    const Tensor above = gt(self, max);
    return keep_where(min ? Tensor(logical_or(above, lt(max, min))) : above, grad);
  });

const Op<Tensor(Tensor, Scalar)> clamp_min = define<Tensor(Tensor, Scalar)>(
    "clamp_min(Tensor self, Scalar min) -> Tensor")
  .doc(R"(
    Limits elements from below.

    >>> torch.clamp_min(torch.tensor([-2., 3.]), 0)
    tensor([0., 3.])
  )")
  .out({.dtype = OutDType::Exact,
        .inplace_text = "result type %W can't be cast to the desired output type %g"})
  .forms(kAllForms)
  .choose([](const Tensor& self, const Scalar& min) { return bounds(self, Bound(min), Bound()); },
          true)
  .grad("self", "grad, self, min",
        [](const Tensor& grad, const Tensor& self, const Scalar& min) {
    return keep_where(ge(self, min), grad);
  });

const auto clamp_min_tensor = define<Tensor(Tensor, Tensor)>(
    "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor")
  .doc(R"(
    Limits elements from below, each by its own bound.

    >>> torch.clamp_min(torch.tensor([-2., 3.]), torch.tensor([0., 4.]))
    tensor([0., 4.])
  )")
  .node("ClampMinBackward1")
  .out({.inplace_text = "result type %W can't be cast to the desired output type %g"})
  .forms(kAllForms)
  .pointwise(kernels::maximum)
  .grad("self", "grad, self, min",
        [](const Tensor& grad, const Tensor& self, const Tensor& min) {
    return keep_where(ge(self, min), grad);
  })
  .grad("min", "grad, self, min",
        [](const Tensor& grad, const Tensor& self, const Tensor& min) {
    return keep_where(lt(self, min), grad);
  });

const Op<Tensor(Tensor, Scalar)> clamp_max = define<Tensor(Tensor, Scalar)>(
    "clamp_max(Tensor self, Scalar max) -> Tensor")
  .doc(R"(
    Limits elements from above.

    >>> torch.clamp_max(torch.tensor([-2., 3.]), 0)
    tensor([-2.,  0.])
  )")
  .out({.dtype = OutDType::Exact,
        .inplace_text = "result type %W can't be cast to the desired output type %g"})
  .forms(kAllForms)
  .choose([](const Tensor& self, const Scalar& max) { return bounds(self, Bound(), Bound(max)); },
          true)
  .grad("self", "grad, self, max",
        [](const Tensor& grad, const Tensor& self, const Scalar& max) {
    return keep_where(le(self, max), grad);
  });

const auto clamp_max_tensor = define<Tensor(Tensor, Tensor)>(
    "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor")
  .doc(R"(
    Limits elements from above, each by its own bound.

    >>> torch.clamp_max(torch.tensor([-2., 3.]), torch.tensor([0., 4.]))
    tensor([-2.,  3.])
  )")
  .node("ClampMaxBackward1")
  .out({.inplace_text = "result type %W can't be cast to the desired output type %g"})
  .forms(kAllForms)
  .pointwise(kernels::minimum)
  .grad("self", "grad, self, max",
        [](const Tensor& grad, const Tensor& self, const Tensor& max) {
    return keep_where(le(self, max), grad);
  })
  .grad("max", "grad, self, max",
        [](const Tensor& grad, const Tensor& self, const Tensor& max) {
    return keep_where(gt(self, max), grad);
  });

// ---- Steps

const auto heaviside = define<Tensor(Tensor, Tensor)>(
    "heaviside(Tensor self, Tensor values) -> Tensor")
  .doc(R"(
    0 for negative elements, 1 for positive ones, `values` where they are zero.

    >>> torch.heaviside(torch.tensor([-1., 0., 2.]), torch.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
  )")
  .node("torch::autograd::NotImplemented")
  .out({.dtype = OutDType::Exact,
        .text = "heaviside is not yet implemented for tensors with different dtypes."})
  .forms(kAllForms)
  .choose([](const Tensor& self, const Tensor& values) {
    check(!self.is_complex() && !values.is_complex(),
          "heaviside is not yet implemented for complex tensors.");
    check(self.dtype() == values.dtype(),
          "heaviside is not yet implemented for tensors with different dtypes.");
    return Choice{&kernels::heaviside};
  })
  .no_derivative("derivative for aten::heaviside is not implemented");

}  // namespace rl::ops
