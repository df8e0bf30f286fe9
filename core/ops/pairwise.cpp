// Distances between all pairs of vectors: cdist and pdist.
#include <cmath>

#include "kernels/distance.h"
#include "ops/dense.h"
#include "ops/random.h"

namespace rl::ops {
namespace {

using Two = std::pair<Tensor, Tensor>;
using Mode = MaybeInt;

constexpr int64_t kManyRows = 25;  // from here on the Euclidean distance goes by a product

bool by_product(const Tensor& x1, const Tensor& x2, double p, Mode mode) {
  const int64_t m = mode.value_or(0);
  return p == 2 && (m == 1 || (m == 0 && (x1.size(-2) > kManyRows || x2.size(-2) > kManyRows)));
}

void check_float(const char* kernel, const Tensor& t) {
  if (t.dtype() != DType::Float && t.dtype() != DType::Double) not_for(kernel, t.dtype());
}

void check_cdist(const Tensor& x1, const Tensor& x2, double p, Mode mode) {
  check(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
  check(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
  check(x1.is_floating(), "cdist only supports floating-point dtypes, X1 got: ",
        type_name_of(x1.dtype()));
  check(x2.is_floating(), "cdist only supports floating-point dtypes, X2 got: ",
        type_name_of(x2.dtype()));
  check(x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: ",
        x1.size(-1), " X2: ", x2.size(-1));
  check(p >= 0, "cdist only supports non-negative p values");
  const int64_t m = mode.value_or(0);
  check(m >= 0 && m <= 2, "possible modes: 0, 1, 2, but was: ", m);
}

// The sizes of t with its leading dimensions broadcast to `lead`.
Dims with_lead(Ints lead, const Tensor& t) {
  Dims sizes(lead);
  sizes.push_back(t.size(-2));
  sizes.push_back(t.size(-1));
  return sizes;
}

Dims lead_of(const Tensor& x1, const Tensor& x2) {
  return broadcast(Ints(x1.sizes().data(), size_t(x1.dim() - 2)),
                   Ints(x2.sizes().data(), size_t(x2.dim() - 2)));
}

Dims distance_sizes(const Tensor& x1, const Tensor& x2) {
  Dims sizes = lead_of(x1, x2);
  sizes.push_back(x1.size(-2));
  sizes.push_back(x2.size(-2));
  return sizes;
}

// Inside kernels: a dense copy with the leading dimensions spelled out.
Tensor spread(const Tensor& t, Ints sizes) {
  if (t.sizes() == sizes) return dense(t);
  NoGrad quiet;
  return dense(expand(detached(t), sizes, false));
}

kernels::Distances distances(const Tensor& a, const Tensor& b, double p) {
  kernels::Distances d{a.dtype(), 1, a.size(-2), b.size(-2), a.size(-1), p};
  for (int64_t k = 0; k + 2 < a.dim(); ++k) d.batch *= a->sizes[k];
  return d;
}

Tensor swapped(const Tensor& t) { return transpose(t, -2, -1); }

}  // namespace

// ---- The Euclidean distance by a product of matrices

const auto euclidean_dist = define<Tensor(Tensor, Tensor)>(
    "_euclidean_dist(Tensor x1, Tensor x2) -> Tensor")
  .doc("Euclidean distances by |x|^2 - 2 x.y + |y|^2, all in one product of matrices.")
  .produce([](const Tensor& x1, const Tensor& x2) {
    NoGrad quiet;
    const int64_t last = -1;
    const Tensor a = detached(x1), b = detached(x2);
    const auto squares = [&](const Tensor& t) { return sum_dim(t * t, Ints(&last, 1), true); };
    const Tensor a2 = squares(a), b2 = squares(b);
    const Tensor left[] = {a * Scalar(-2), a2, full(a2.sizes(), 1, a.dtype(), a.device())};
    const Tensor right[] = {b, full(b2.sizes(), 1, b.dtype(), b.device()), b2};
    return Tensor(sqrt(clamp_min(matmul(cat(TensorList(left, 3), -1),
                                        swapped(cat(TensorList(right, 3), -1))), Scalar(0))));
  })
  .grad("x1, x2", "grad, x1, x2, result",
        [](const Tensor& grad, const Tensor& x1, const Tensor& x2, const Tensor& far) {
    const int64_t row = -1, column = -2;
    const Tensor zero = full({}, 0, far.dtype(), far.device());
    const Tensor share = masked_fill(grad / far, eq(far, zero), Scalar(0));  // 0 where rows meet
    return Two(x1 * sum_dim(share, Ints(&row, 1), true) - matmul(share, x2),
               x2 * unsqueeze(sum_dim(share, Ints(&column, 1), false), -1) -
                   matmul(swapped(share), x1));
  });

// ---- cdist

const auto cdist_backward = define<Tensor(Tensor, Tensor, Tensor, double, Tensor)>(
    "_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor")
  .doc("The gradient of distances with respect to the first rows.")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
            const Tensor& cdist) {
    check_cdist(x1, x2, p, 0);
    check(grad.dtype() == x1.dtype() && x2.dtype() == x1.dtype() && cdist.dtype() == x1.dtype(),
          "expected one dtype");
    const Dims sizes = distance_sizes(x1, x2);
    check(grad.sizes() == Ints(sizes) && cdist.sizes() == Ints(sizes), "expected gradients and "
          "distances of shape ", Ints(sizes));
    const Dims spread_sizes = with_lead(lead_of(x1, x2), x1);
    if (!x1.is_meta()) check_float("cdist_backward", x1);
    r.result(spread_sizes, x1.dtype(), x1.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
             const Tensor& cdist) {
    const Dims lead = lead_of(x1, x2);
    const Tensor a = spread(x1, with_lead(lead, x1)), b = spread(x2, with_lead(lead, x2));
    const Tensor g = dense(grad), far = dense(cdist);
    kernels::cdist_backward(distances(a, b, p), g.data(), a.data(), b.data(), far.data(),
                            result.data());
  })
  .grad("grad, x1, x2, cdist", "grad",
        [](const Tensor&) -> std::tuple<Tensor, Tensor, Tensor, Tensor> {
    fail(ErrorKind::NotImplemented, "the derivative for '_cdist_backward' is not implemented.");
  });

const auto cdist_forward = define<Tensor(Tensor, Tensor, double, Mode)>(
    "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor")
  .doc("The p-norm distances between the rows of two batches.")
  .node("CdistBackward0")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& x1, const Tensor& x2, double p, Mode mode) {
    check_cdist(x1, x2, p, mode);
    const Dims sizes = distance_sizes(x1, x2);
    if (!x1.is_meta() && !x2.is_meta()) {
      check(x1.dtype() == x2.dtype(), "expected scalar type ", type_name_of(x1.dtype()),
            " but found ", type_name_of(x2.dtype()));
      check_float("cdist", x1);
    }
    r.result(sizes, x1.dtype(), x1.device());
  })
  .kernel([](Tensor& result, const Tensor& x1, const Tensor& x2, double p, Mode) {
    const Dims lead = lead_of(x1, x2);
    const Tensor a = spread(x1, with_lead(lead, x1)), b = spread(x2, with_lead(lead, x2));
    kernels::cdist(distances(a, b, p), a.data(), b.data(), result.data());
  })
  .grad("x1", "grad, x1, x2, p, result",
        [](const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& far) {
    return cdist_backward(grad, x1, x2, p, far);
  })
  .grad("x2", "grad, x1, x2, p, result",
        [](const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& far) {
    return cdist_backward(contiguous(swapped(grad), Format()), x2, x1, p,
                          contiguous(swapped(far), Format()));
  });

const auto cdist = define<Tensor(Tensor, Tensor, double, Mode)>(
    "cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor")
  .doc("The p-norm distance of every row of (..., P, M) to every row of (..., R, M): (..., P, R).")
  .forms(Hidden)
  .autocast(Autocast::Float)
  .composite([](const Tensor& x1, const Tensor& x2, double p, Mode mode) -> Tensor {
    check_cdist(x1, x2, p, mode);
    if (!by_product(x1, x2, p, mode) || x1.numel() == 0 || x2.numel() == 0)
      return cdist_forward(x1, x2, p, mode);
    const Dims lead = lead_of(x1, x2), sizes = distance_sizes(x1, x2);
    const auto rows = [&](const Tensor& t) {
      int64_t batch = 1;
      for (int64_t n : lead) batch *= n;
      const Tensor all = expand(t, Ints(with_lead(lead, t)), false);
      return reshape(all, Dims{batch, t.size(-2), t.size(-1)});
    };
    return view(euclidean_dist(rows(x1), rows(x2)), Ints(sizes));
  });

// ---- pdist

namespace {

int64_t pairs_of(const Tensor& rows) {
  const int64_t n = rows->sizes[0];
  return n <= 1 ? 0 : n % 2 ? (n - 1) / 2 * n : n / 2 * (n - 1);
}

}  // namespace

const auto pdist_backward = define<Tensor(Tensor, Tensor, double, Tensor)>(
    "_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor")
  .doc("The gradient of the distances between rows.")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& grad, const Tensor& self, double, const Tensor& pdist) {
    check(self.is_contiguous(), "_pdist_backward requires self to be contiguous");
    check(pdist.is_contiguous(), "_pdist_backward requires pdist to be contiguous");
    check(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
    check(grad.dtype() == self.dtype() && pdist.dtype() == self.dtype(), "expected one dtype");
    check(grad.numel() == pairs_of(self) && pdist.numel() == pairs_of(self),
          "expected a gradient and a distance per pair of rows");
    if (!self.is_meta()) check_float("pdist_backward", self);
    r.result(self.sizes(), self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& self, double p,
             const Tensor& pdist) {
    const Tensor g = dense(grad), rows = dense(self), far = dense(pdist);
    kernels::pdist_backward(distances(rows, rows, p), g.data(), rows.data(), far.data(),
                            result.data());
  })
  .grad("grad, self, pdist", "grad",
        [](const Tensor&) -> std::tuple<Tensor, Tensor, Tensor> {
    fail(ErrorKind::NotImplemented, "the derivative for '_pdist_backward' is not implemented.");
  });

const auto pdist_forward = define<Tensor(Tensor, double)>(
    "_pdist_forward(Tensor self, float p=2) -> Tensor")
  .doc("The p-norm distances between all pairs of rows.")
  .node("PdistBackward0")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& self, double) {
    check(self.is_contiguous(), "_pdist_forward requires contiguous input");
    check(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
    if (!self.is_meta()) check_float("pdist", self);
    r.result({pairs_of(self)}, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, double p) {
    const Tensor rows = dense(self);
    kernels::pdist(distances(rows, rows, p), rows.data(), result.data());
  })
  .grad("self", "grad, self, p, result",
        [](const Tensor& grad, const Tensor& self, double p, const Tensor& far) {
    return pdist_backward(grad, self, p, far);
  });

const auto pdist = define<Tensor(Tensor, double)>("pdist(Tensor self, float p=2) -> Tensor")
  .doc("The p-norm distances between the rows of a matrix, each pair once.")
  .composite([](const Tensor& self, double p) {
    check(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
    check(self.is_floating(), "pdist only supports floating-point dtypes");
    check(p >= 0, "pdist only supports non-negative p values");
    return pdist_forward(contiguous(self, Format()), p);
  });

}  // namespace rl::ops
