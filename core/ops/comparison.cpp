// Comparisons, logic, tests of numbers, and the choice between two tensors.
#include "ops/linalg.h"
#include "autograd/transforms.h"
#include <cstring>

#include "ops/elementwise.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/promotion.h"

namespace rl::ops {
namespace {

Op<Tensor(Tensor, Tensor)> comparison(const char* name, const kernels::Pointwise& kernel,
                                      const char* other_name, const char* dunder,
                                      const char* doc) {
  auto op = binary(name, kernel, doc).dunder(dunder);
  auto number = with_number(name, kernel, doc);
  if (*other_name) {
    op.alias(other_name);
    number.alias(other_name);
  }
  return op;
}

Op<Tensor(Tensor, Tensor)> logic(const char* name, const kernels::Pointwise& kernel,
                                 const char* doc) {
  return define<Tensor(Tensor, Tensor)>(text(name, "(Tensor self, Tensor other) -> Tensor"))
      .doc(doc)
      .forms(kAllForms)
      .pointwise(kernel);
}

Op<Tensor(Tensor)> test_of(const char* name, const kernels::Pointwise& kernel, uint32_t forms,
                           const char* doc) {
  return define<Tensor(Tensor)>(text(name, "(Tensor self) -> Tensor"))
      .doc(doc)
      .forms(forms)
      .pointwise(kernel);
}

}  // namespace

const Op<Tensor(Tensor, Tensor)> eq = comparison("eq", kernels::eq, "", "eq", R"(
    Whether elements are equal.

    >>> torch.eq(torch.tensor([1, 2]), torch.tensor([1, 3]))
    tensor([ True, False])
  )");

const Op<Tensor(Tensor, Tensor)> ne = comparison("ne", kernels::ne, "not_equal", "ne", R"(
    Whether elements differ.

    >>> torch.ne(torch.tensor([1, 2]), torch.tensor([1, 3]))
    tensor([False,  True])
  )");

const Op<Tensor(Tensor, Tensor)> lt = comparison("lt", kernels::lt, "less", "lt", R"(
    Whether elements are less than those of `other`.

    >>> torch.lt(torch.tensor([1, 2]), 2)
    tensor([ True, False])
  )");

const Op<Tensor(Tensor, Tensor)> le = comparison("le", kernels::le, "less_equal", "le", R"(
    Whether elements are at most those of `other`.

    >>> torch.le(torch.tensor([1, 3]), 2)
    tensor([ True, False])
  )");

const Op<Tensor(Tensor, Tensor)> gt = comparison("gt", kernels::gt, "greater", "gt", R"(
    Whether elements are greater than those of `other`.

    >>> torch.gt(torch.tensor([1, 3]), 2)
    tensor([False,  True])
  )");

const Op<Tensor(Tensor, Tensor)> ge = comparison("ge", kernels::ge, "greater_equal", "ge", R"(
    Whether elements are at least those of `other`.

    >>> torch.ge(torch.tensor([1, 2]), 2)
    tensor([False,  True])
  )");

const Op<Tensor(Tensor, Tensor)> logical_and = logic("logical_and", kernels::logical_and, R"(
    Whether both elements are nonzero.

    >>> torch.logical_and(torch.tensor([1, 2]), torch.tensor([0, 3]))
    tensor([False,  True])
  )");

const Op<Tensor(Tensor, Tensor)> logical_or = logic("logical_or", kernels::logical_or, R"(
    Whether one element, or both, are nonzero.

    >>> torch.logical_or(torch.tensor([1, 0]), torch.tensor([0, 0]))
    tensor([ True, False])
  )");

const auto logical_xor = logic("logical_xor", kernels::logical_xor, R"(
    Whether just one of two elements is nonzero.

    >>> torch.logical_xor(torch.tensor([1, 2]), torch.tensor([0, 3]))
    tensor([ True, False])
  )");

const Op<Tensor(Tensor)> logical_not = test_of("logical_not", kernels::logical_not, kAllForms, R"(
    Whether elements are zero.

    >>> torch.logical_not(torch.tensor([0, 2]))
    tensor([ True, False])
  )");

// ---- Tests of numbers

const Op<Tensor(Tensor)> isnan = test_of("isnan", kernels::isnan_, Function | Method, R"(
    Whether elements are NaN.

    >>> torch.isnan(torch.tensor([1., float("nan")]))
    tensor([False,  True])
  )");

const auto isinf = test_of("isinf", kernels::isinf_, Function | Method, R"(
    Whether elements are infinite.

    >>> torch.isinf(torch.tensor([1., -float("inf")]))
    tensor([False,  True])
  )");

const Op<Tensor(Tensor)> isfinite = test_of("isfinite", kernels::isfinite_, Function | Method, R"(
    Whether elements are neither infinite nor NaN.

    >>> torch.isfinite(torch.tensor([1., float("nan")]))
    tensor([ True, False])
  )");

const auto isposinf = test_of("isposinf", kernels::isposinf, Function | Method | Out, R"(
    Whether elements are positive infinity.

    >>> torch.isposinf(torch.tensor([float("inf"), -float("inf")]))
    tensor([ True, False])
  )")
  .exact_out()
  .infer([](Infer&, const Tensor& self) {
    check(!self.is_complex(), "isposinf does not support complex inputs.");
  });

const auto isneginf = test_of("isneginf", kernels::isneginf, Function | Method | Out, R"(
    Whether elements are negative infinity.

    >>> torch.isneginf(torch.tensor([float("inf"), -float("inf")]))
    tensor([False,  True])
  )")
  .exact_out()
  .infer([](Infer&, const Tensor& self) {
    check(!self.is_complex(), "isneginf does not support complex inputs.");
  });

const auto isreal = define<Tensor(Tensor)>("isreal(Tensor self) -> Tensor")
  .doc(R"(
    Whether elements have no imaginary part.

    >>> torch.isreal(torch.tensor([1 + 0j, 1j]))
    tensor([ True, False])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self) {
    if (self.is_complex()) return Tensor(eq(imag(self), Scalar(0)));
    const bool without_zero = self.dtype() == DType::Float8_e8m0fnu;
    return Tensor(eq(zeros_like(without_zero ? to_dtype(self, DType::Float) : self), Scalar(0)));
  });

const Op<Tensor(Tensor, MaybeDouble, MaybeDouble, MaybeDouble)> nan_to_num =
    define<Tensor(Tensor, MaybeDouble, MaybeDouble, MaybeDouble)>(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor")
  .doc(R"(
    Replaces NaN by `nan` (0), and infinities by `posinf` and `neginf` (the dtype's extremes).

    >>> torch.nan_to_num(torch.tensor([float("nan"), 1.]), nan=2.)
    tensor([2., 1.])
  )")
  .out({.dtype = OutDType::Exact,
        .text = "nan_to_num: dtype of out: %G should be same as input: %W"})
  .forms(kAllForms)
  .choose([](const Tensor& self, const MaybeDouble& nan,
             const MaybeDouble& posinf, const MaybeDouble& neginf) {
    check(!self.is_complex() || !grad_enabled() || !requires_grad(self), "nan_to_num does not "
          "support automatic differentiation for outputs with complex dtype.");
    const double most = largest(self.dtype());
    return Choice{&kernels::nan_to_num, Promote::None, 3,
                  {nan.value_or(0), posinf.value_or(most), neginf.value_or(-most)}};
  })
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * isfinite(self);
  });

// ---- Choice

namespace {

void check_condition(const Tensor& condition) {
  check(!condition.is_meta() || condition.dtype() == DType::Bool, "expected predicate to be bool, "
        "got torch.", name_of(condition.dtype()));
  if (condition.dtype() == DType::UInt8) {
    warn("where received a uint8 condition tensor. This behavior is deprecated and will be removed "
         "in a future version of PyTorch. Use a boolean condition instead.");
    return;
  }
  check(condition.dtype() == DType::Bool,
        "where expected condition to be a boolean tensor, but got "
        "a tensor with dtype ", type_name_of(condition.dtype()));
}

}  // namespace

const auto where_condition = define<Tensors(Tensor)>("where(Tensor condition) -> Tensor[]")
  .forms(Function)
  .composite([](const Tensor& condition) { return nonzero_numpy(condition); });

const Op<Tensor(Tensor, Tensor, Tensor)> where = define<Tensor(Tensor, Tensor, Tensor)>(
    "where.self(Tensor condition, Tensor input, Tensor other) -> Tensor")
  .doc(R"(
    Takes elements of `input` where the condition holds, of `other` elsewhere.

    >>> torch.where(torch.tensor([True, False]), torch.tensor([1., 2.]), 0)
    tensor([1., 0.])
  )")
  .out({.dtype = OutDType::Exact, .tensors_only = true,
        .text = "Expected out type to be %W but got %G"})
  .forms(Function | Out)
  .pointwise(kernels::where)
  .infer([](Infer&, const Tensor& condition, const Tensor&, const Tensor&) {
    check_condition(condition);
  })
  .grad("input", "grad, condition", [](const Tensor& grad, const Tensor& condition) {
    return where(condition, grad, Scalar(0));
  })
  .grad("other", "grad, condition", [](const Tensor& grad, const Tensor& condition) {
    return where(condition, Scalar(0), grad);
  });

const auto where_number_self = define<Tensor(Tensor, Scalar, Tensor)>(
    "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor")
  .forms(Function)
  .composite([](const Tensor& condition, const Scalar& self, const Tensor& other) {
    return Tensor(where(condition, self, other));
  });
const auto where_number_other = define<Tensor(Tensor, Tensor, Scalar)>(
    "where.ScalarOther(Tensor condition, Tensor input, Scalar other) -> Tensor")
  .forms(Function)
  .composite([](const Tensor& condition, const Tensor& input, const Scalar& other) {
    return Tensor(where(condition, input, other));
  });
const auto where_numbers = define<Tensor(Tensor, Scalar, Scalar)>(
    "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor")
  .forms(Function)
  .composite([](const Tensor& condition, const Scalar& self, const Scalar& other) {
    return Tensor(where(condition, self, other));
  });

const auto where_method = define<Tensor(Tensor, Tensor, Tensor)>(
    "where.method(Tensor self, Tensor condition, Tensor other) -> Tensor")
  .doc("The input's elements where the condition holds, those of `other` elsewhere.")
  .forms(Method)
  .number("other")
  .composite([](const Tensor& self, const Tensor& condition, const Tensor& other) {
    return where(condition, self, other);
  });

// ---- Whole tensors

const Op<Tensor(Tensor, Tensor, double, double, bool)> isclose =
    define<Tensor(Tensor, Tensor, double, double, bool)>(
        "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
        "bool equal_nan=False) -> Tensor")
  .doc(R"(
    Whether |input - other| <= atol + rtol * |other|.

    >>> torch.isclose(torch.tensor([1., 2.]), torch.tensor([1.000001, 3.]))
    tensor([ True, False])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, const Tensor& other, double rtol, double atol,
                bool equal_nan) {
    check(self.dtype() == other.dtype(), type_name_of(self.dtype()), " did not match ",
          type_name_of(other.dtype()));
    check(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
    check(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
    const bool fraction = is_differentiable(self.dtype());
    Tensor close = eq(self, other);
    if (equal_nan && fraction) close = logical_or(close, logical_and(isnan(self), isnan(other)));
    if (rtol == 0 && atol == 0) return close;
    const Tensor given = self.dtype() == DType::Bool ? to_dtype(self, default_dtype()) : self;
    const Tensor reference = fraction ? other : to_dtype(other, default_dtype());
    const Tensor allowed = abs(reference * Scalar(rtol)) + Scalar(atol);
    const Tensor actual = abs(given - reference);
    return Tensor(logical_or(close, logical_and(isfinite(actual), le(actual, allowed))));
  });

namespace {

bool all_true(const Tensor& t, const char* refusal) {
  check(!differs_by_sample(t), refusal);
  return !t.numel() || !std::memchr(contiguous(t).data(), 0, size_t(t.numel()));
}

}  // namespace

const auto allclose = define<bool(Tensor, Tensor, double, double, bool)>(
    "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
    "bool equal_nan=False) -> bool")
  .doc(R"(
    Whether all elements are close, in the sense of `isclose`.

    >>> torch.allclose(torch.tensor([1.]), torch.tensor([1.000001]))
    True
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, const Tensor& other, double rtol, double atol,
                bool equal_nan) {
    const Tensor close = isclose(self, other, rtol, atol, equal_nan);
    check(!close.is_meta(), "Tensor.item() cannot be called on meta tensors");
    return all_true(close, "vmap over torch.allclose isn't supported yet. Please file an issue at "
                           "https://github.com/pytorch/pytorch/issues if you need this feature.");
  });

const auto equal = define<bool(Tensor, Tensor)>("equal(Tensor self, Tensor other) -> bool")
  .doc(R"(
    Whether two tensors have the same size and the same elements.

    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, const Tensor& other) {
    refuse_meta("equal", self);
    refuse_meta("equal", other);
    return self.sizes() == other.sizes() &&
           all_true(eq(self, other), "Batching rule not implemented for aten::equal. We could not "
                                     "generate a fallback.");
  });

}  // namespace rl::ops
