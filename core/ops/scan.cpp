// Running sums, products, extremes and log-sums; differences and integrals along a dimension.
#include "kernels/scan.h"

#include "ops/expect.h"
#include "ops/out_rule.h"
#include "ops/reduce.h"
#include "ops/refusals.h"

namespace rl::ops {
namespace {

using Pair = std::pair<Tensor, Tensor>;
using Loop = void (*)(const kernels::Scan& s, const void* x, void* y);

kernels::Scan scan_of(const Tensor& self, int64_t dim) {
  kernels::Scan s{self.dtype(), 1, 1, 1};
  if (self.dim() == 0) return s;
  const int64_t d = wrap_dim(dim, self.dim());
  s.size = self.sizes()[d];
  for (int64_t i = 0; i < d; ++i) s.outer *= self.sizes()[i];
  for (int64_t i = d + 1; i < self.dim(); ++i) s.inner *= self.sizes()[i];
  return s;
}
Tensor dense_in(const Tensor& self, DType dtype) {
  if (self.dtype() == dtype && self.is_contiguous()) return self;
  const Tensor r = empty(self.sizes(), dtype);
  copy_data(r, self);
  return r;
}
void scan_into(const Tensor& out, const Tensor& self, int64_t dim, Loop loop) {
  if (self.numel() == 0) return;
  const Tensor in = dense_in(self, out.dtype());
  loop(scan_of(in, dim), in.data(), out.data());
}
DType scan_dtype(const Tensor& self, MaybeDType dtype) {
  if (!dtype) return category(self.dtype()) < 2 ? DType::Int64 : self.dtype();
  refuse_whole_history(self, *dtype);
  return *dtype;
}
void infer_scan(Infer& r, const Tensor& self, int64_t dim, DType dtype) {
  wrap_dim(dim, self.dim());
  r.result(self.sizes(), dtype, self.device());
}
void refuse_bool(const char* kernel, const Tensor& out) {
  check(!is_bool(out.dtype()) || out.dim() == 0 || out.numel() == 0, ErrorKind::NotImplemented,
        "\"", kernel, "\" not implemented for 'Bool'");
}

// Every element's neighbour: forward [edge, t[0], ..., t[n-2]], else [t[1], ..., t[n-1], edge].
Tensor moved(const Tensor& t, int64_t dim, bool forward, double edge) {
  dim = wrap_dim(dim, t.dim());
  if (t.dim() == 0) return full(t.sizes(), edge, t.dtype(), t.device());
  const int64_t n = t.sizes()[dim];
  Dims sizes(t.sizes());
  sizes[dim] = 1;
  const Tensor first = full(sizes, edge, t.dtype(), t.device());
  if (n <= 1) return first;
  return forward ? cat(Tensors{first, slice(t, dim, 0, n - 1, 1)}, dim)
                 : cat(Tensors{slice(t, dim, 1, n, 1), first}, dim);
}

Tensor turned(const Tensor& t, int64_t dim) { return flip(t, Ints{dim}); }

// y[k] = b[k] + a[k] y[k-1], or y[k+1] if reversed, along dense rows.
template <class T> void recur(const Tensor& out, const Tensor& b, const Tensor& a, int64_t dim,
                              bool reversed) {
  if (out.numel() == 0) return;
  const kernels::Scan s = scan_of(out, dim);
  const T *pb = b.ptr<T>(), *pa = a.ptr<T>();
  T* const y = out.ptr<T>();
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t k = 0; k < s.size; ++k) {
      const int64_t row = (o * s.size + (reversed ? s.size - 1 - k : k)) * s.inner;
      const int64_t before = row + (reversed ? s.inner : -s.inner);
      for (int64_t i = 0; i < s.inner; ++i) {
        y[row + i] = k ? T(pb[row + i] + pa[row + i] * y[before + i]) : pb[row + i];
      }
    }
  }
}

}  // namespace

const Op<Tensor(Tensor, Tensor, int64_t, bool)> recurrence =
    define<Tensor(Tensor, Tensor, int64_t, bool)>(
    "_recurrence(Tensor self, Tensor factor, int dim, bool reversed) -> Tensor")
  .doc("y[k] = self[k] + factor[k] y[k-1] along a dimension: gradients of running products.")
  .forms(Hidden)
  .dense()
  .infer([](Infer& r, const Tensor& self, const Tensor& factor, int64_t dim, bool) {
    wrap_dim(dim, self.dim());
    expect_like(factor, self.sizes(), self.dtype(), "_recurrence", "factor");
    expect(is_differentiable(self.dtype()), "_recurrence", "factors are floating or complex");
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& factor, int64_t dim, bool reversed) {
    switch (self.dtype()) {
      case DType::Double: return recur<double>(result, self, factor, dim, reversed);
      case DType::ComplexFloat:
        return recur<std::complex<float>>(result, self, factor, dim, reversed);
      case DType::ComplexDouble:
        return recur<std::complex<double>>(result, self, factor, dim, reversed);
      default: break;
    }
    const Tensor b = dense_in(self, DType::Float), a = dense_in(factor, DType::Float);
    const Tensor y = empty(self.sizes(), DType::Float);
    recur<float>(y, b, a, dim, reversed);
    copy_data(result, y);
  })
  .grad("self, factor", "grad, factor, result, dim, reversed",
        [](const Tensor& grad, const Tensor& factor, const Tensor& result, int64_t dim,
           bool reversed) {
    const Tensor next = moved(rl::conj(factor), dim, reversed, 0);
    const Tensor reached = recurrence(grad, next, dim, !reversed);
    return Pair(reached, reached * rl::conj(moved(result, dim, !reversed, 0)));
  });

const Op<Tensor(Tensor, int64_t, MaybeDType)> cumsum = define<Tensor(Tensor, int64_t, MaybeDType)>(
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    The running sum along a dimension. Integers are summed as int64.

    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
  )")
  .out({.dtype = OutDType::Chosen, .inputs = true, .structured = true})
  .forms(Function | Method | Inplace | Out)
  .linear()
  .infer([](Infer& r, const Tensor& self, int64_t dim, MaybeDType dtype) {
    infer_scan(r, self, dim, scan_dtype(self, dtype));
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim, MaybeDType) {
    refuse_bool("cumsum_out_cpu", result);
    scan_into(result, self, dim, kernels::cumsum);
  })
  .grad("self", "grad, dim", [](const Tensor& grad, int64_t dim) {
    if (grad.numel() <= 1 || grad.size(dim) == 1) return grad;
    return turned(cumsum(turned(grad, dim), dim), dim);
  });

const Op<Tensor(Tensor, int64_t, MaybeDType)> cumprod = define<Tensor(Tensor, int64_t, MaybeDType)>(
    "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
  .doc(R"(
    The running product along a dimension. Integers are multiplied as int64.

    >>> torch.cumprod(torch.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
  )")
  .out({.dtype = OutDType::Chosen, .inputs = true, .structured = true})
  .forms(Function | Method | Inplace | Out)
  .infer([](Infer& r, const Tensor& self, int64_t dim, MaybeDType dtype) {
    infer_scan(r, self, dim, scan_dtype(self, dtype));
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim, MaybeDType) {
    refuse_bool("cumprod_out_cpu", result);
    scan_into(result, self, dim, kernels::cumprod);
  })
  // d/dx[k] = (x[0] ... x[k-1]) (g[k] + x[k+1] (g[k+1] + x[k+2] (...))): right where x has zeros.
  .grad("self", "grad, self, result, dim",
        [](const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
    if (self.dim() == 0 || self.numel() == 0) return grad;
    const int64_t d = wrap_dim(dim, self.dim());
    const Tensor x = to_dtype(rl::conj(self), grad.dtype());
    const Tensor before = rl::conj(moved(result, d, true, 1));
    return before * recurrence(grad, moved(x, d, false, 0), d, true);
  });

// The product of all but the element itself, right where some are zero.
Tensor products_of_others(const Tensor& self, int64_t dim) {
  const Tensor before = cumprod(moved(self, dim, true, 1), dim);
  return before * turned(cumprod(moved(turned(self, dim), dim, true, 1), dim), dim);
}

namespace {

// The least finite number.
double lowest(DType dtype) {
  switch (dtype) {
    case DType::Double: return std::numeric_limits<double>::lowest();
    case DType::Half: return -65504;
    case DType::BFloat16: return -0x1.fep127;
    default: return std::numeric_limits<float>::lowest();
  }
}
Tensor reversed_logcumsumexp(const Tensor& t, int64_t dim) {
  return turned(logcumsumexp(turned(t, dim), dim), dim);
}

}  // namespace

const Op<Tensor(Tensor, int64_t)> logcumsumexp = define<Tensor(Tensor, int64_t)>(
    "logcumsumexp(Tensor self, int dim) -> Tensor")
  .doc(R"(
    The logarithm of the running sum of exponentials along a dimension.

    >>> torch.logcumsumexp(torch.zeros(2), 0)
    tensor([0.0000, 0.6931])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true, .text = "expected scalar_type %W but found %G"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, int64_t dim) { infer_scan(r, self, dim, self.dtype()); })
  .kernel([](Tensor& result, const Tensor& self, int64_t dim) {
    check(is_differentiable(self.dtype()), ErrorKind::NotImplemented,
          "\"logcumsumexp_out_cpu\" not implemented for '", type_name_of(self.dtype()), "'");
    scan_into(result, self, dim, kernels::logcumsumexp);
  })
  .grad("self", "grad, self, result, dim",
        [](const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
    if (grad.dim() == 0 || grad.numel() == 0) return grad;
    if (grad.is_complex()) {
      const Tensor reached = reversed_logcumsumexp(log(rl::conj(grad)) - result, dim);
      return rl::conj(exp(reached + self));
    }
    // Logarithms of the gradient's positive and negative parts go apart; the logarithm of nothing
    // stays finite, or second derivatives would be differences of infinities.
    const Scalar least = lowest(grad.dtype());
    const Tensor plus = where(gt(grad, Scalar(0)), log(grad), least);
    const Tensor minus = where(lt(grad, Scalar(0)), log(-grad), least);
    return exp(reversed_logcumsumexp(plus - result, dim) + self) -
           exp(reversed_logcumsumexp(minus - result, dim) + self);
  });

namespace {

using ExtremeLoop = void (*)(const kernels::Scan& s, const void* x, void* y, int64_t* indices);

void infer_extremes(Infer& r, const Tensor& self, int64_t dim) {
  infer_scan(r, self, dim, self.dtype());
  r.result(self.sizes(), DType::Int64, self.device());
}
void extremes_into(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t dim,
                   const char* kernel, ExtremeLoop loop) {
  check(!self.is_complex() || self.dim() == 0 || self.numel() == 0, ErrorKind::NotImplemented,
        "\"", kernel, "_cpu\" not implemented for '", type_name_of(self.dtype()), "'");
  refuse_complex_gradient(kernel, self);
  if (self.numel() == 0) return;
  if (self.is_complex()) {
    copy_data(values, self);
    set_zero(indices);
    return;
  }
  const Tensor in = dense_in(self, self.dtype());
  loop(scan_of(in, dim), in.data(), values.data(), indices.ptr<int64_t>());
}

// Several results may be the same element.
Tensor running_extreme_backward(const Tensor& grad, int64_t dim, const Tensor& indices,
                                Ints sizes) {
  const Tensor whole = zeros(sizes, grad.dtype(), grad.device());
  scatter_add.in_place(whole, dim, indices, grad);
  return whole;
}

constexpr OutRule kRunningExtremeOut{.dtype = OutDType::Exact, .internal = true,
                                     .text = "expected scalar_type %W but found %G"};

}  // namespace

const auto cummax = define<Pair(Tensor, int64_t)>(
    "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)")
  .doc(R"(
    The running maximum along a dimension, and the index of each.

    >>> torch.cummax(torch.tensor([1, 3, 2]), 0).values
    tensor([1, 3, 3])
  )")
  .out(kRunningExtremeOut)
  .forms(Function | Method | Out)
  .nondiff("indices")
  .infer([](Infer& r, const Tensor& self, int64_t dim) { infer_extremes(r, self, dim); })
  .kernel([](Tensor& values, Tensor& indices, const Tensor& self, int64_t dim) {
    extremes_into(values, indices, self, dim, "cummax", kernels::cummax);
  })
  .grad("self", "grad, dim, indices, self.sizes",
        [](const Tensor& grad, int64_t dim, const Tensor& indices, Ints sizes) {
    return running_extreme_backward(grad, dim, indices, sizes);
  });

const auto cummin = define<Pair(Tensor, int64_t)>(
    "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)")
  .doc(R"(
    The running minimum along a dimension, and the index of each.

    >>> torch.cummin(torch.tensor([3, 1, 2]), 0).values
    tensor([3, 1, 1])
  )")
  .out(kRunningExtremeOut)
  .forms(Function | Method | Out)
  .nondiff("indices")
  .infer([](Infer& r, const Tensor& self, int64_t dim) { infer_extremes(r, self, dim); })
  .kernel([](Tensor& values, Tensor& indices, const Tensor& self, int64_t dim) {
    extremes_into(values, indices, self, dim, "cummin", kernels::cummin);
  })
  .grad("self", "grad, dim, indices, self.sizes",
        [](const Tensor& grad, int64_t dim, const Tensor& indices, Ints sizes) {
    return running_extreme_backward(grad, dim, indices, sizes);
  });

namespace {

void check_joined(const Tensor& self, const Tensor& edge, int64_t dim) {
  if (!edge) return;
  check(edge.dim() == self.dim(),
        "diff expects prepend or append to be the same dimension as input");
  for (int64_t i = 0; i < self.dim(); ++i) {
    check(i == dim || edge.sizes()[i] == self.sizes()[i], "diff expects the shape of tensor to "
          "prepend or append to match that of input except along the differencing dimension; "
          "input.size(", i, ") = ", self.sizes()[i], ", but got tensor.size(", i, ") = ",
          edge.sizes()[i]);
  }
}
Tensor part(const Tensor& t, int64_t dim, int64_t begin, int64_t end) {
  return slice(t, dim, begin, end, 1);
}

}  // namespace

const auto diff = define<Tensor(Tensor, int64_t, int64_t, Tensor, Tensor)>(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor")
  .doc(R"(
    The differences of neighbours along a dimension, taken `n` times.

    >>> torch.diff(torch.tensor([1, 4, 9]))
    tensor([3, 5])
  )")
  .out({.check = [](const Arg* args, const Tensor* targets) {
    if (args[1].scalar().to_int() != 0) return;  // a copy, with rules of its own
    const Tensor& self = args[0].as_tensor();
    check(targets->dtype() == self.dtype(), "expected scalar_type ", type_name_of(self.dtype()),
          " but found ", type_name_of(targets->dtype()));
    refuse_shared(*targets, self, false);
  }})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend,
                const Tensor& append) {
    check(self.dim() >= 1, "diff expects input to be at least one-dimensional");
    const int64_t d = wrap_dim(dim, self.dim());
    check(n >= 0, "order must be non-negative but got ", n);
    check_joined(self, prepend, d);
    check_joined(self, append, d);
    Tensor t = self;
    if (prepend || append) {
      Tensors parts;
      if (prepend) parts.push_back(prepend);
      parts.push_back(self);
      if (append) parts.push_back(append);
      t = cat(parts, d);
    }
    if (n == 0) {
      const Tensor same = zeros_like(t);
      copy_(same, t);  // a node of its own, as PyTorch's
      return same;
    }
    for (int64_t left = std::min(n, t.sizes()[d]); left > 0; --left) {
      const int64_t size = t.sizes()[d];
      const Tensor after = part(t, d, 1, size), before = part(t, d, 0, size - 1);
      t = is_bool(t.dtype()) ? Tensor(ne(after, before)) : after - before;
    }
    return t;
  });

namespace {

// The widths between the points of x, against y's dimensions.
Tensor widths(const char* name, const Tensor& y, const Tensor& x, int64_t dim) {
  if (x.dim() == 1) {
    check(x.sizes()[0] == y.sizes()[dim], name,
          ": There must be one `x` value for each sample point");
    Dims sizes;
    sizes.resize(size_t(y.dim()), 1);
    sizes[dim] = x.sizes()[0];
    const Tensor lined = view_or_reshape(x, sizes);
    return part(lined, dim, 1, sizes[dim]) - part(lined, dim, 0, sizes[dim] - 1);
  }
  Tensor lined = x;
  while (lined.dim() < y.dim()) lined = unsqueeze(lined, 0);
  const int64_t n = lined.sizes()[dim];
  return part(lined, dim, 1, n) - part(lined, dim, 0, n - 1);
}
Tensor pair_sums(const Tensor& y, int64_t dim) {
  const int64_t n = y.sizes()[dim];
  return part(y, dim, 0, n - 1) + part(y, dim, 1, n);
}
void refuse_bools(const char* name, const Tensor& y, const Tensor& x) {
  check(!is_bool(y.dtype()) && !(x && is_bool(x.dtype())), name, ": received a bool input for ",
        x ? "`x` or `y`" : "`y`", ", but bool is not supported");
}

// Products with a number whose nodes have the names of PyTorch's C++ overloads.
const auto mul_number = define<Tensor(Tensor, Scalar)>(
    "mul.Scalar(Tensor self, Scalar other) -> Tensor")
  .doc("The product with a number.")
  .node("MulBackward1")
  .forms(Hidden)
  .produce([](const Tensor& self, const Scalar& other) {
    NoGrad quiet;
    return self * other;
  })
  .grad("self", "grad, other", [](const Tensor& grad, const Scalar& other) {
    return grad * conj_of(other);
  });
const auto div_number = define<Tensor(Tensor, Scalar)>(
    "div.Scalar(Tensor self, Scalar other) -> Tensor")
  .doc("The quotient by a number.")
  .node("DivBackward1")
  .forms(Hidden)
  .produce([](const Tensor& self, const Scalar& other) {
    NoGrad quiet;
    return self / other;
  })
  .grad("self", "grad, other", [](const Tensor& grad, const Scalar& other) {
    return grad / conj_of(other);
  });

Tensor scaled(const Tensor& t, double dx) { return mul_number(t, Scalar(dx / 2)); }

}  // namespace

const auto trapezoid_x = define<Tensor(Tensor, Tensor, int64_t)>(
    "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor")
  .alias("trapz")
  .composite([](const Tensor& y, const Tensor& x, int64_t dim) {
    const int64_t d = wrap_dim(dim, y.dim());
    if (y.sizes()[d] == 0) return Tensor(sum_dim(y, Ints{d}));
    refuse_bools("trapezoid", y, x);
    return Tensor(div_number(sum_dim(pair_sums(y, d) * widths("trapezoid", y, x, d), Ints{d}), 2.));
  });

const auto trapezoid = define<Tensor(Tensor, Scalar, int64_t)>(
    "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor")
  .doc(R"(
    The integral along a dimension by the trapezoidal rule.

    >>> torch.trapezoid(torch.tensor([1., 5., 10.]))
    tensor(10.5000)
  )")
  .alias("trapz")
  .composite([](const Tensor& y, const Scalar& dx, int64_t dim) {
    const int64_t d = wrap_dim(dim, y.dim(), false);
    if (y.sizes()[d] == 0) return Tensor(sum_dim(y, Ints{d}));
    refuse_bools("trapezoid", y, Tensor());
    // Twice every inner point is all points twice less the ends.
    const int64_t n = y.sizes()[d];
    const Tensor ends = select(y, d, 0) + select(y, d, n - 1);
    return Tensor(mul_number(sum_dim(y, Ints{d}) - div_number(ends, 2.), dx.to_double()));
  });

const auto cumulative_trapezoid_x = define<Tensor(Tensor, Tensor, int64_t)>(
    "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor")
  .composite([](const Tensor& y, const Tensor& x, int64_t dim) {
    const int64_t d = wrap_dim(dim, y.dim());
    refuse_bools("cumulative_trapezoid", y, x);
    const Tensor areas = pair_sums(y, d) * widths("cumulative_trapezoid", y, x, d);
    return Tensor(div_number(cumsum(areas, d), 2.));
  });

const auto cumulative_trapezoid = define<Tensor(Tensor, Scalar, int64_t)>(
    "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor")
  .doc(R"(
    The running integral along a dimension by the trapezoidal rule.

    >>> torch.cumulative_trapezoid(torch.tensor([1., 5., 10.]))
    tensor([ 3.0000, 10.5000])
  )")
  .composite([](const Tensor& y, const Scalar& dx, int64_t dim) {
    check(y.dim() > 0, ErrorKind::Index, "slice() cannot be applied to a 0-dim tensor.");
    const int64_t d = wrap_dim(dim, y.dim());
    refuse_bools("cumulative_trapezoid", y, Tensor());
    return Tensor(cumsum(scaled(pair_sums(y, d), dx.to_double()), d));
  });

}  // namespace rl::ops
