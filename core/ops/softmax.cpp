// Softmax and log-softmax along a dimension, and their gradients.
#include "kernels/softmax.h"

#include <limits>

#include "ops/attention.h"
#include "ops/dense.h"
#include "ops/refusals.h"
#include "tensor/iterator.h"

namespace rl::ops {
namespace {

// A dense tensor seen as [outer, n, inner] around `dim`.
struct Around {
  int64_t outer = 1, n = 1, inner = 1;
  Around(const Tensor& t, int64_t dim) {
    if (t.dim() == 0) return;
    const int64_t d = wrap_dim(dim, t.dim());
    for (int64_t i = 0; i < d; ++i) outer *= t->sizes[i];
    n = t->sizes[d];
    for (int64_t i = d + 1; i < t.dim(); ++i) inner *= t->sizes[i];
  }
};

void check_softmax(const Tensor& self, int64_t dim, const char* name) {
  const int64_t d = wrap_dim(dim, self.dim());
  if (self.is_floating() || self.is_meta() || self.numel() == 0) return;
  const bool last = self.dim() == 0 || d == self.dim() - 1;
  fail(ErrorKind::NotImplemented, "\"", name, last ? "_lastdim" : "",
       "_kernel_impl", "\" not implemented for '",
       type_name_of(self.dtype()), "'");
}

// self as `dtype`, converted under the graph where it must be.
Tensor as_dtype(const Tensor& self, MaybeDType dtype) {
  return dtype ? to_dtype(self, *dtype) : self;
}

using Forward = Op<Tensor(Tensor, int64_t, bool)>;
using Backward = Op<Tensor(Tensor, Tensor, int64_t, DType)>;

Tensor softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType dtype);
Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType dtype);

Tensor total(const Tensor& t, int64_t dim) {
  return t.dim() == 0 ? t : Tensor(sum_dim(t, Ints(&dim, 1), true));
}

}  // namespace

const Forward softmax_op = define<Tensor(Tensor, int64_t, bool)>(
    "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")
  .doc("Softmax along a dimension.")
  .node("SoftmaxBackward0")
  .forms(Function | Out)
  .infer([](Infer& r, const Tensor& self, int64_t dim, bool half_to_float) {
    check(!half_to_float, "softmax with half to float conversion is not supported on CPU");
    check_softmax(self, dim, "softmax");
    refuse_complex_gradient("_softmax", self);
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim, bool) {
    const Around a(self, dim);
    if (self.numel() == 0) return;
    if (self.is_contiguous()) {
      kernels::softmax(self.dtype(), self.data(), result.data(), a.outer, a.n, a.inner);
      return;
    }
    copy_data(result, self);
    kernels::softmax(self.dtype(), result.data(), result.data(), a.outer, a.n, a.inner);
  })
  .grad("self", "grad, result, dim, self.dtype",
        [](const Tensor& grad, const Tensor& result, int64_t dim, DType dtype) {
    return softmax_backward(grad, result, dim, dtype);
  });

const Op<Tensor(Tensor, int64_t, MaybeDType)> safe_softmax =
    define<Tensor(Tensor, int64_t, MaybeDType)>(
    "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    Softmax along a dimension, where a row of nothing but -inf gives zeros, not NaN.

    >>> torch._safe_softmax(torch.tensor([0., -torch.inf]), 0)
    tensor([1., 0.])
    >>> torch._safe_softmax(torch.tensor([-torch.inf, -torch.inf]), 0)
    tensor([0., 0.])
  )")
  .node("SafeSoftmaxBackward0")
  .infer([](Infer& r, const Tensor& self, int64_t dim, MaybeDType dtype) {
    if (!dtype) check_softmax(self, dim, "softmax");
    refuse_complex_gradient("_safe_softmax", self);
    r.result(self.sizes(), dtype.value_or(self.dtype()), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim, MaybeDType dtype) {
    NoGrad quiet;
    if (self.numel() == 0) return;
    const Tensor scores = dtype ? to_dtype(self, *dtype) : self;
    const Tensor never = full({}, -std::numeric_limits<double>::infinity(), scores.dtype());
    const Tensor counted = amax(scores, Ints(&dim, 1), true);
    copy_data(result, where(eq(counted, never), Scalar(0), softmax_op(scores, dim, false)));
  })
  .grad("self", "grad, result, dim, self.dtype",
        [](const Tensor& grad, const Tensor& result, int64_t dim, DType dtype) {
    return softmax_backward(grad, result, dim, dtype);
  });

const Forward log_softmax_op = define<Tensor(Tensor, int64_t, bool)>(
    "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")
  .doc("The logarithm of softmax along a dimension.")
  .node("LogSoftmaxBackward0")
  .forms(Function | Out)
  .infer([](Infer& r, const Tensor& self, int64_t dim, bool half_to_float) {
    check(!half_to_float, "softmax with half to float conversion is not supported on CPU");
    check_softmax(self, dim, "log_softmax");
    refuse_complex_gradient("_log_softmax", self);
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim, bool) {
    const Around a(self, dim);
    if (self.numel() == 0) return;
    if (self.is_contiguous()) {
      kernels::log_softmax(self.dtype(), self.data(), result.data(), a.outer, a.n, a.inner);
      return;
    }
    copy_data(result, self);
    kernels::log_softmax(self.dtype(), result.data(), result.data(), a.outer, a.n, a.inner);
  })
  .grad("self", "grad, result, dim, self.dtype",
        [](const Tensor& grad, const Tensor& result, int64_t dim, DType dtype) {
    return log_softmax_backward(grad, result, dim, dtype);
  });

namespace {

void check_gradient(const char* op, const Tensor& grad, const Tensor& output, int64_t dim) {
  wrap_dim(dim, output.dim());
  check(grad.sizes() == output.sizes(), "Expected tensor for argument #1 'grad' to have same size "
        "as tensor for argument #2 'output'; but ", grad.sizes(), " does not equal ",
        output.sizes(), " (while checking arguments for ", op, ")");
  check(grad.dtype() == output.dtype(), "expected scalar type ", type_name_of(output.dtype()),
        " but found ", type_name_of(grad.dtype()));
  check(output.is_floating() || output.is_meta(), ErrorKind::NotImplemented, "\"", op,
        "\" not implemented for '", type_name_of(output.dtype()), "'");
}

}  // namespace

const auto softmax_backward_data = define<Tensor(Tensor, Tensor, int64_t, DType)>(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) "
    "-> Tensor")
  .doc("The gradient of softmax, from its result.")
  .node("SoftmaxBackwardDataBackward0")
  .forms(Function | Out)
  .dense()
  .infer([](Infer& r, const Tensor& grad, const Tensor& output, int64_t dim, DType) {
    check_gradient("softmax_backward", grad, output, dim);
    r.result(output.sizes(), grad.dtype(), output.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& output, int64_t dim, DType) {
    const Around a(output, dim);
    kernels::softmax_backward(output.dtype(), grad.data(), output.data(), result.data(), a.outer,
                              a.n, a.inner);
  })
  .grad("grad_output", "grad, output, dim, input_dtype",
        [](const Tensor& grad, const Tensor& output, int64_t dim, DType dtype) {
    return softmax_backward(grad, output, dim, dtype);
  })
  .grad("output", "grad, grad_output, output, dim",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim) {
    return grad_output * grad - total(output * grad_output, dim) * grad -
           grad_output * total(output * grad, dim);
  });

const auto log_softmax_backward_data = define<Tensor(Tensor, Tensor, int64_t, DType)>(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, "
    "ScalarType input_dtype) -> Tensor")
  .doc("The gradient of log_softmax, from its result.")
  .node("LogSoftmaxBackwardDataBackward0")
  .forms(Function | Out)
  .dense()
  .infer([](Infer& r, const Tensor& grad, const Tensor& output, int64_t dim, DType) {
    check_gradient("log_softmax_backward", grad, output, dim);
    r.result(output.sizes(), grad.dtype(), output.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& output, int64_t dim, DType) {
    const Around a(output, dim);
    kernels::log_softmax_backward(output.dtype(), grad.data(), output.data(), result.data(),
                                  a.outer, a.n, a.inner);
  })
  .grad("grad_output", "grad, output, dim",
        [](const Tensor& grad, const Tensor& output, int64_t dim) {
    return grad - total(grad * exp(output), dim);
  })
  .grad("output", "grad, grad_output, output, dim",
        [](const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim) {
    return -(exp(output) * total(grad_output, dim) * grad);
  });

namespace {

Tensor softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType dtype) {
  return softmax_backward_data(grad, output, dim, dtype);
}
Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType dtype) {
  return log_softmax_backward_data(grad, output, dim, dtype);
}

}  // namespace

const Op<Tensor(Tensor, int64_t, MaybeDType)> softmax = define<Tensor(Tensor, int64_t, MaybeDType)>(
    "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    exp(x) / sum(exp(x)) along `dim`: positive numbers that sum to one.

    >>> torch.softmax(torch.zeros(2), 0)
    tensor([0.5000, 0.5000])
  )")
  .out({.dtype = OutDType::Exact})
  .forms(Function | Method | Out)
  .exact_out()
  .composite([](const Tensor& self, int64_t dim, MaybeDType dtype) {
    return softmax_op(as_dtype(self, dtype), dim, false);
  });

const Op<Tensor(Tensor, int64_t, MaybeDType)> log_softmax =
    define<Tensor(Tensor, int64_t, MaybeDType)>(
    "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    log(softmax(x)) along `dim`, without overflow.

    >>> torch.log_softmax(torch.zeros(2), 0)
    tensor([-0.6931, -0.6931])
  )")
  .out({.dtype = OutDType::Exact})
  .forms(Function | Method | Out)
  .exact_out()
  .composite([](const Tensor& self, int64_t dim, MaybeDType dtype) {
    return log_softmax_op(as_dtype(self, dtype), dim, false);
  });

const auto special_softmax = define<Tensor(Tensor, int64_t, MaybeDType)>(
    "special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
  .doc("softmax by its name in torch.special.")
  .forms(Special)
  .composite([](const Tensor& self, int64_t dim, MaybeDType dtype) {
    return softmax(self, dim, dtype);
  });

const auto special_log_softmax = define<Tensor(Tensor, int64_t, MaybeDType)>(
    "special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
  .doc("log_softmax by its name in torch.special.")
  .forms(Special)
  .composite([](const Tensor& self, int64_t dim, MaybeDType dtype) {
    return log_softmax(self, dim, dtype);
  });

}  // namespace rl::ops
