// Products of matrices and vectors: mm, bmm, matmul, their sums with a tensor, and linear.
#include "kernels/gemm.h"
#include "kernels/pointwise_table.h"
#include "ops/ops.h"
#include "ops/out_rule.h"
#include "ops/pointwise.h"
#include "ops/promotion.h"
#include "tensor/iterator.h"

namespace rl::ops {
namespace {

using kernels::MatrixProduct;

void same_dtype(const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), "expected m1 and m2 to have the same dtype, but got: ",
        c_name_of(a.dtype()), " != ", c_name_of(b.dtype()));
}

void same_scalar_type(const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), "expected scalar type ", type_name_of(a.dtype()), " but found ",
        type_name_of(b.dtype()));
}

// PyTorch has no products of bool; `kernel` is the name its message gives.
void refuse_bool(const Tensor& t, const char* kernel) {
  check(t.dtype() != DType::Bool, ErrorKind::NotImplemented, "\"", kernel,
        "\" not implemented for 'Bool'");
}

void multiplies(int64_t m, int64_t k, int64_t k2, int64_t n) {
  check(k == k2, "mat1 and mat2 shapes cannot be multiplied (", m, "x", k, " and ", k2, "x", n,
        ")");
}

void same_device(const Tensor& a, const Tensor& b) {
  check(a.device() == b.device(), "Expected all tensors to be on the same device, but found at "
        "least two devices, ", name_of(a.device().type), " and ", name_of(b.device().type), "!");
}

// The last two dimensions of a, b and c as one product.
MatrixProduct last_two(const Tensor& c, const Tensor& a, const Tensor& b) {
  const int64_t ad = a.dim(), bd = b.dim(), cd = c.dim();
  MatrixProduct p;
  p.m = c->sizes[cd - 2];
  p.n = c->sizes[cd - 1];
  p.k = a->sizes[ad - 1];
  p.a = a.data();
  p.b = b.data();
  p.c = c.data();
  p.a_row = a->strides[ad - 2];
  p.a_col = a->strides[ad - 1];
  p.b_row = b->strides[bd - 2];
  p.b_col = b->strides[bd - 1];
  p.c_row = c->strides[cd - 2];
  p.c_col = c->strides[cd - 1];
  return p;
}

// c = alpha * a @ b + beta * c, all of rank 2.
void multiply(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& alpha = 1,
              const Scalar& beta = 0) {
  MatrixProduct p = last_two(c, a, b);
  p.alpha = alpha;
  p.beta = beta;
  kernels::gemm(c.dtype(), p);
}

void multiply_batches(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& alpha = 1,
                      const Scalar& beta = 0) {
  MatrixProduct p = last_two(c, a, b);
  p.alpha = alpha;
  p.beta = beta;
  p.batch[1] = c->sizes[0];
  p.a_batch[1] = a->strides[0];
  p.b_batch[1] = b->strides[0];
  p.c_batch[1] = c->strides[0];
  if (c.numel()) kernels::gemm(c.dtype(), p);
}

// c (m) = alpha * a (m x k) @ v (k) + beta * c.
void multiply_vector(const Tensor& c, const Tensor& a, const Tensor& v, const Scalar& alpha = 1,
                     const Scalar& beta = 0) {
  MatrixProduct p;
  p.m = a->sizes[0];
  p.k = a->sizes[1];
  p.n = 1;
  p.a = a.data();
  p.b = v.data();
  p.c = c.data();
  p.a_row = a->strides[0];
  p.a_col = a->strides[1];
  p.b_row = v->strides[0];
  p.c_row = c->strides[0];
  p.alpha = alpha;
  p.beta = beta;
  kernels::gemm(c.dtype(), p);
}

bool is_column_major(const Tensor& t) {
  return t.dim() == 2 && t->strides[0] == 1 && t->strides[1] == t->sizes[0] && t->sizes[0] > 1 &&
         t->sizes[1] > 1;
}

Tensor scaled(const Tensor& t, const Scalar& by) { return by.equal(1) ? t : t * conj_of(by); }

// The gradients of the operands of a @ b, in the operand's own layout.
Tensor left_gradient(const Tensor& grad, const Tensor& left, const Tensor& right) {
  if (is_column_major(left)) return t(mm(rl::conj(right), t(grad)));
  return mm(grad, rl::conj(t(right)));
}
Tensor right_gradient(const Tensor& grad, const Tensor& left, const Tensor& right) {
  if (is_column_major(right)) return t(mm(t(grad), rl::conj(left)));
  return mm(rl::conj(t(left)), grad);
}

// What `self` is to be copied from before a product is added: PyTorch's errors of expand.
Tensor spread_to(const Tensor& self, Ints sizes) {
  NoGrad quiet;
  return self.sizes() == sizes ? self : Tensor(expand(detached(self), sizes, false));
}

void addmm_checks(const Tensor& self, const Tensor& mat1, const Tensor& mat2) {
  check(self.dtype() == mat2.dtype(), "self and mat2 must have the same dtype, but got ",
        type_name_of(self.dtype()), " and ", type_name_of(mat2.dtype()));
  check(mat1.dtype() == mat2.dtype(), "mat1 and mat2 must have the same dtype, but got ",
        type_name_of(mat1.dtype()), " and ", type_name_of(mat2.dtype()));
  check(mat1.dim() == 2, "mat1 must be a matrix, got ", mat1.dim(), "-D tensor");
  check(mat2.dim() == 2, "mat2 must be a matrix, got ", mat2.dim(), "-D tensor");
  multiplies(mat1->sizes[0], mat1->sizes[1], mat2->sizes[0], mat2->sizes[1]);
}

// Result = beta * self + whatever `add` puts on top; self is not read where beta is 0.
template <class F> void on_top_of(Tensor& result, const Tensor& self, const Scalar& beta, F add) {
  const bool empty = beta.equal(0);
  if (!empty) copy_data(result, spread_to(self, result.sizes()));
  add(empty ? Scalar(0) : beta);
}

void dot_checks(const Tensor& self, const Tensor& other) {
  check(self.dim() == 1 && other.dim() == 1, "1D tensors expected, but got ", self.dim(),
        "D and ", other.dim(), "D tensors");
  check(self.dtype() == other.dtype(), "dot : expected both vectors to have same dtype, but found ",
        type_name_of(self.dtype()), " and ", type_name_of(other.dtype()));
  check(self.numel() == other.numel(), "inconsistent tensor size, expected tensor [",
        self.numel(), "] and src [", other.numel(),
        "] to have the same number of elements, but got ", self.numel(), " and ", other.numel(),
        " elements respectively");
}

// Long vectors are cut into parts, whose products are added in pairs: a batch for the threads, and
// the same sum however many there are.
void dot_into(const Tensor& out, const Tensor& a, const Tensor& b) {
  constexpr int64_t kPart = 8192;
  const int64_t parts = a.numel() / kPart;
  MatrixProduct p;
  p.m = p.n = 1;
  p.k = a.numel();
  p.a = a.data();
  p.b = b.data();
  p.c = out.data();
  p.a_col = a->strides[0];
  p.b_row = b->strides[0];
  p.b_col = std::max<int64_t>(p.k, 2);  // of the only column: not to be taken for dense
  if (parts < 2 || is_half(out.dtype())) return kernels::gemm(out.dtype(), p);
  const Tensor sums = empty({parts + 1}, out.dtype());
  const int64_t item = out.element_size();
  p.k = a.numel() - parts * kPart;
  p.a = a.data() + parts * kPart * p.a_col * item;
  p.b = b.data() + parts * kPart * p.b_row * item;
  p.c = sums.data() + parts * item;
  kernels::gemm(out.dtype(), p);
  p.k = kPart;
  p.a = a.data();
  p.b = b.data();
  p.c = sums.data();
  p.batch[1] = parts;
  p.a_batch[1] = kPart * p.a_col;
  p.b_batch[1] = kPart * p.b_row;
  p.c_batch[1] = 1;
  kernels::gemm(out.dtype(), p);
  NoGrad quiet;
  copy_data(out, sum(sums));
}

void bmm_checks(const Tensor& a, const Tensor& b) {
  check(a.dim() == 3, "batch1 must be a 3D tensor");
  check(b.dim() == 3, "batch2 must be a 3D tensor");
  check(b->sizes[0] == a->sizes[0] && b->sizes[1] == a->sizes[2],
        "Expected size for first two dimensions of batch2 tensor to be: [", a->sizes[0], ", ",
        a->sizes[2], "] but got: [", b->sizes[0], ", ", b->sizes[1], "].");
}

}  // namespace

const Op<Tensor(Tensor, Tensor)> mm = define<Tensor(Tensor, Tensor)>(
    "mm(Tensor self, Tensor mat2) -> Tensor")
  .doc(R"(
    The product of two matrices, (n, m) and (m, p).

    >>> torch.mm(torch.tensor([[1., 2.]]), torch.tensor([[3.], [4.]]))
    tensor([[11.]])
  )")
  .out({.dtype = OutDType::Exact, .internal = true, .check = [](const Arg* args, const Tensor* t) {
    const Tensor &a = args[0].as_tensor(), &b = args[1].as_tensor();
    const bool fits = a.dim() == 2 && b.dim() == 2 &&
                      t->sizes() == Ints(Dims{a->sizes[0], b->sizes[1]});
    if (fits && a->sizes[1] != 0) refuse_internal_overlap(*t);  // zeros go anywhere
  }})
  .forms(Function | Method | Out)
  .autocast(Autocast::Lower)
  .infer([](Infer& r, const Tensor& self, const Tensor& mat2) {
    check(self.dim() == 2, "self must be a matrix");
    check(mat2.dim() == 2, "mat2 must be a matrix");
    multiplies(self->sizes[0], self->sizes[1], mat2->sizes[0], mat2->sizes[1]);
    same_dtype(self, mat2);
    same_device(self, mat2);
    if (!self.is_meta() && self.numel() && mat2.numel()) refuse_bool(self, "addmm_impl_cpu_");
    r.result({self->sizes[0], mat2->sizes[1]}, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& mat2) {
    multiply(result, self, mat2);
  })
  .cost([](double& flops, double& bytes, const Tensor& result, const Tensor& self, const Tensor&) {
    flops = 2.0 * double(result.numel()) * double(self->sizes[1]);
    bytes = 0;
  })
  .grad("self", "grad, self.layout, mat2",
        [](const Tensor& grad, const Tensor& self, const Tensor& mat2) {
    return left_gradient(grad, self, mat2);
  })
  .grad("mat2", "grad, self, mat2.layout",
        [](const Tensor& grad, const Tensor& self, const Tensor& mat2) {
    return right_gradient(grad, self, mat2);
  });

const Op<Tensor(Tensor, Tensor)> bmm = define<Tensor(Tensor, Tensor)>(
    "bmm(Tensor self, Tensor mat2) -> Tensor")
  .doc(R"(
    The products of two stacks of matrices, (b, n, m) and (b, m, p).

    >>> torch.bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1)).flatten()
    tensor([3., 3.])
  )")
  .out({.dtype = OutDType::Exact, .internal = true})
  .forms(Function | Method | Out)
  .autocast(Autocast::Lower)
  .infer([](Infer& r, const Tensor& self, const Tensor& mat2) {
    bmm_checks(self, mat2);
    same_scalar_type(self, mat2);
    same_device(self, mat2);
    if (!self.is_meta() && self.numel()) refuse_bool(self, "bmm");
    r.result({self->sizes[0], self->sizes[1], mat2->sizes[2]}, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& mat2) {
    multiply_batches(result, self, mat2);
  })
  .cost([](double& flops, double&, const Tensor& result, const Tensor& self, const Tensor&) {
    flops = 2.0 * double(result.numel()) * double(self->sizes[2]);
  })
  .grad("self", "grad, mat2", [](const Tensor& grad, const Tensor& mat2) {
    return bmm(grad, rl::conj(transpose(mat2, 1, 2)));
  })
  .grad("mat2", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return bmm(rl::conj(transpose(self, 1, 2)), grad);
  });

const Op<Tensor(Tensor, Tensor)> mv = define<Tensor(Tensor, Tensor)>(
    "mv(Tensor self, Tensor vec) -> Tensor")
  .doc(R"(
    The product of a matrix (n, m) and a vector (m).

    >>> torch.mv(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
  )")
  .out({.dtype = OutDType::Exact, .internal = true,
        .text = "addmv input tensors must have the same dtype, but got %G, %W, and %W"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, const Tensor& vec) {
    check(self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got 1, ",
          self.dim(), ", ", vec.dim());
    check(self->sizes[1] == vec->sizes[0], "size mismatch, got input (", self->sizes[0],
          "), mat (", self->sizes[0], "x", self->sizes[1], "), vec (", vec->sizes[0], ")");
    check(self.dtype() == vec.dtype(), "addmv input tensors must have the same dtype, but got ",
          type_name_of(vec.dtype()), ", ", type_name_of(self.dtype()), ", and ",
          type_name_of(vec.dtype()));
    same_device(self, vec);
    if (!self.is_meta() && self.numel()) refuse_bool(self, "addmv_impl_cpu");
    r.result({self->sizes[0]}, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& vec) {
    multiply_vector(result, self, vec);
  })
  .cost([](double& flops, double&, const Tensor&, const Tensor& self, const Tensor&) {
    flops = 2.0 * double(self.numel());
  })
  .grad("self", "grad, vec", [](const Tensor& grad, const Tensor& vec) {
    return unsqueeze(grad, 1) * rl::conj(unsqueeze(vec, 0));
  })
  .grad("vec", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return mv(rl::conj(t(self)), grad);
  });

const Op<Tensor(Tensor, Tensor)> dot = define<Tensor(Tensor, Tensor)>(
    "dot(Tensor self, Tensor tensor) -> Tensor")
  .doc(R"(
    The inner product of two vectors; complex ones are not conjugated.

    >>> torch.dot(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor(11.)
  )")
  .out({.dtype = OutDType::Exact, .text = "result dtype %G does not match input dtype %W"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, const Tensor& other) {
    dot_checks(self, other);
    same_device(self, other);
    if (!self.is_meta()) refuse_bool(self, "dot");
    r.result({}, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& other) {
    dot_into(result, self, other);
  })
  .cost([](double& flops, double&, const Tensor&, const Tensor& self, const Tensor&) {
    flops = 2.0 * double(self.numel());
  })
  .grad("self", "grad, tensor", [](const Tensor& grad, const Tensor& other) {
    return grad * rl::conj(other);
  })
  .grad("tensor", "grad, self", [](const Tensor& grad, const Tensor& self) {
    return grad * rl::conj(self);
  });

const Op<Tensor(Tensor, Tensor)> vdot = define<Tensor(Tensor, Tensor)>(
    "vdot(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    The inner product of two vectors, the first one conjugated.

    >>> torch.vdot(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor(11.)
  )")
  .out({.dtype = OutDType::Exact, .text = "result dtype %G does not match input dtype %W"})
  .forms(Function | Method | Out)
  .accepts_conj()
  .infer([](Infer& r, const Tensor& self, const Tensor& other) {
    dot_checks(self, other);
    same_device(self, other);
    if (!self.is_meta()) refuse_bool(self, self.is_complex() ? "vdot" : "dot");
    r.result({}, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& other) {
    NoGrad quiet;
    const Tensor left = resolve_neg(resolve_conj(rl::conj(detached(self))));
    dot_into(result, left, resolve_neg(resolve_conj(detached(other))));
  })
  .cost([](double& flops, double&, const Tensor&, const Tensor& self, const Tensor&) {
    flops = 2.0 * double(self.numel());
  })
  .grad("self", "grad, other", [](const Tensor& grad, const Tensor& other) {
    return rl::conj(grad) * other;
  })
  .grad("other", "grad, self", [](const Tensor& grad, const Tensor& self) { return grad * self; });

const Op<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)> addmm =
    define<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)>(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
  .doc(R"(
    `beta * self + alpha * (mat1 @ mat2)`; `self` is broadcast, and not read where `beta` is 0.

    >>> torch.addmm(torch.ones(2), torch.ones(1, 3), torch.ones(3, 2))
    tensor([[4., 4.]])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true, .structured = true})
  .forms(Function | Method | Inplace | Out)
  .autocast(Autocast::Lower)
  .infer([](Infer& r, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar&,
            const Scalar&) {
    addmm_checks(self, mat1, mat2);
    same_device(self, mat1);
    same_device(mat1, mat2);
    const int64_t sizes[] = {mat1->sizes[0], mat2->sizes[1]};
    spread_to(self, {sizes, 2});
    r.result({sizes, 2}, mat1.dtype(), mat1.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
             const Scalar& beta, const Scalar& alpha) {
    if (is_bool(self.dtype()) && (!result.numel() || !mat1.numel())) {
      // No product to make, only beta * self, and that asks for a beta of bool.
      if (beta.equal(0)) return set_zero(result);
      check(!result.numel() || beta.is_bool(), "result type ", type_name_of(beta.dtype()),
            " can't be cast to the desired output type Bool");
      return copy_data(result, spread_to(self, result.sizes()));
    }
    refuse_bool(self, "addmm_impl_cpu_");
    on_top_of(result, self, beta, [&](const Scalar& b) { multiply(result, mat1, mat2, alpha, b); });
  })
  .cost([](double& flops, double&, const Tensor& result, const Tensor&, const Tensor& mat1,
           const Tensor&, const Scalar&, const Scalar&) {
    flops = 2.0 * double(result.numel()) * double(mat1->sizes[1]);
  })
  .grad("self", "grad, beta", [](const Tensor& grad, const Scalar& beta) {
    return scaled(grad, beta);
  })
  .grad("mat1", "grad, mat1.layout, mat2, alpha", [](const Tensor& grad, const Tensor& mat1,
                                                     const Tensor& mat2, const Scalar& alpha) {
    return scaled(left_gradient(grad, mat1, mat2), alpha);
  })
  .grad("mat2", "grad, mat1, mat2.layout, alpha", [](const Tensor& grad, const Tensor& mat1,
                                                     const Tensor& mat2, const Scalar& alpha) {
    return scaled(right_gradient(grad, mat1, mat2), alpha);
  });

const Op<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)> addmv =
    define<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)>(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
  .doc(R"(
    `beta * self + alpha * (mat @ vec)`.

    >>> torch.addmv(torch.ones(2), torch.ones(2, 3), torch.ones(3))
    tensor([4., 4.])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true, .structured = true, .inplace_internal = true})
  .forms(Function | Method | Inplace | Out)
  .infer([](Infer& r, const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar&,
            const Scalar&) {
    check(mat.dim() == 2 && vec.dim() == 1 && self.dim() <= 1,
          "vector + matrix @ vector expected, got ", self.dim(), ", ", mat.dim(), ", ", vec.dim());
    check(mat->sizes[1] == vec->sizes[0] &&
          (self.numel() == mat->sizes[0] || self.numel() == 1), "size mismatch, got input (",
          self.dim() ? self->sizes[0] : 1, "), mat (", mat->sizes[0], "x", mat->sizes[1],
          "), vec (", vec->sizes[0], ")");
    check(mat.dtype() == vec.dtype() && self.dtype() == mat.dtype(),
          "addmv input tensors must have the same dtype, but got ", type_name_of(self.dtype()),
          ", ", type_name_of(mat.dtype()), ", and ", type_name_of(vec.dtype()));
    same_device(mat, vec);
    r.result({mat->sizes[0]}, mat.dtype(), mat.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& mat, const Tensor& vec,
             const Scalar& beta, const Scalar& alpha) {
    if (mat.numel()) refuse_bool(self, "addmv_impl_cpu");
    on_top_of(result, self, beta,
              [&](const Scalar& b) { multiply_vector(result, mat, vec, alpha, b); });
  })
  .cost([](double& flops, double&, const Tensor&, const Tensor&, const Tensor& mat, const Tensor&,
           const Scalar&, const Scalar&) {
    flops = 2.0 * double(mat.numel());
  })
  .grad("self", "grad, beta", [](const Tensor& grad, const Scalar& beta) {
    return scaled(grad, beta);
  })
  .grad("mat", "grad, vec, alpha", [](const Tensor& grad, const Tensor& vec, const Scalar& alpha) {
    return scaled(unsqueeze(grad, 1) * rl::conj(unsqueeze(vec, 0)), alpha);
  })
  .grad("vec", "grad, mat, alpha", [](const Tensor& grad, const Tensor& mat, const Scalar& alpha) {
    return scaled(mv(rl::conj(t(mat)), grad), alpha);
  });

const Op<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)> baddbmm =
    define<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)>(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
  .doc(R"(
    `beta * self + alpha * (batch1 @ batch2)` for each pair of matrices of two stacks.

    >>> torch.baddbmm(torch.ones(1), torch.ones(2, 1, 3), torch.ones(2, 3, 1)).flatten()
    tensor([4., 4.])
  )")
  .out({.dtype = OutDType::Exact, .structured = true, .inplace_internal = true,
        .check = [](const Arg* args, const Tensor* targets) {
    const bool read = !args[3].scalar().equal(0);  // a beta of 0 leaves self unread
    for (int i = read ? 0 : 1; i < 3; ++i) refuse_shared(*targets, args[i].as_tensor(), false);
  }})
  .forms(Function | Method | Inplace | Out)
  .autocast(Autocast::Lower)
  .infer([](Infer& r, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
            const Scalar&, const Scalar&) {
    if (batch1.dim() == 3 && batch2.dim() == 3)
      spread_to(self, {batch1->sizes[0], batch1->sizes[1], batch2->sizes[2]});
    check(self.dtype() == batch1.dtype(), "Input dtypes must be the same, got: input ",
          c_name_of(self.dtype()), ", batch1: ", c_name_of(batch1.dtype()), ", batch2: ",
          c_name_of(batch2.dtype()));
    bmm_checks(batch1, batch2);
    same_scalar_type(batch1, batch2);
    same_device(batch1, batch2);
    r.result({batch1->sizes[0], batch1->sizes[1], batch2->sizes[2]}, batch1.dtype(),
             batch1.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
             const Scalar& beta, const Scalar& alpha) {
    refuse_bool(self, "baddbmm");
    on_top_of(result, self, beta,
              [&](const Scalar& b) { multiply_batches(result, batch1, batch2, alpha, b); });
  })
  .cost([](double& flops, double&, const Tensor& result, const Tensor&, const Tensor& batch1,
           const Tensor&, const Scalar&, const Scalar&) {
    flops = 2.0 * double(result.numel()) * double(batch1->sizes[2]);
  })
  .grad("self", "grad, beta", [](const Tensor& grad, const Scalar& beta) {
    return scaled(grad, beta);
  })
  .grad("batch1", "grad, batch2, alpha", [](const Tensor& grad, const Tensor& batch2,
                                            const Scalar& alpha) {
    return scaled(bmm(grad, rl::conj(transpose(batch2, 1, 2))), alpha);
  })
  .grad("batch2", "grad, batch1, alpha", [](const Tensor& grad, const Tensor& batch1,
                                            const Scalar& alpha) {
    return scaled(bmm(rl::conj(transpose(batch1, 1, 2)), grad), alpha);
  });

const Op<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)> addbmm =
    define<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)>(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
  .doc(R"(
    `beta * self + alpha * (the sum over the stack of batch1 @ batch2)`.

    >>> torch.addbmm(torch.ones(1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[7.]])
  )")
  .out({.dtype = OutDType::Exact, .inputs = true, .quiet = true,
        .text = "self and mat2 must have the same dtype, but got %G and %W"})
  .forms(Function | Method | Inplace | Out)
  .autocast(Autocast::Lower)
  .infer([](Infer& r, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
            const Scalar&, const Scalar&) {
    wrap_dim(2, batch2.dim());
    wrap_dim(1, batch1.dim());
    spread_to(self, {batch1->sizes[1], batch2->sizes[2]});
    check(batch1.dim() == 3, "batch1 must be a 3D tensor");
    check(batch2.dim() == 3, "batch2 must be a 3D tensor");
    check(batch1->sizes[0] == batch2->sizes[0], "batch1 and batch2 must have same number of "
          "batches, got ", batch1->sizes[0], " and ", batch2->sizes[0]);
    check(batch1->sizes[2] == batch2->sizes[1], "Incompatible matrix sizes for bmm (",
          batch1->sizes[1], "x", batch1->sizes[2], " and ", batch2->sizes[1], "x",
          batch2->sizes[2], ")");
    check(self.dtype() == batch2.dtype(), "self and mat2 must have the same dtype, but got ",
          type_name_of(self.dtype()), " and ", type_name_of(batch2.dtype()));
    check(batch1.dtype() == batch2.dtype(), "mat1 and mat2 must have the same dtype, but got ",
          type_name_of(batch1.dtype()), " and ", type_name_of(batch2.dtype()));
    same_device(batch1, batch2);
    if (!self.is_meta()) refuse_bool(self, "addmm_impl_cpu_");
    r.result({batch1->sizes[1], batch2->sizes[2]}, batch1.dtype(), batch1.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& batch1, const Tensor& batch2,
             const Scalar& beta, const Scalar& alpha) {
    Scalar factor = beta;
    if (beta.equal(0)) set_zero(result);
    else copy_data(result, spread_to(self, result.sizes()));
    MatrixProduct p = last_two(result, batch1, batch2);
    p.alpha = alpha;
    for (int64_t i = 0; i < batch1->sizes[0]; ++i) {
      p.a = batch1.data() + i * batch1->strides[0] * batch1.element_size();
      p.b = batch2.data() + i * batch2->strides[0] * batch2.element_size();
      p.beta = factor;
      kernels::gemm(result.dtype(), p);
      factor = 1;
    }
  })
  .cost([](double& flops, double&, const Tensor& result, const Tensor&, const Tensor& batch1,
           const Tensor&, const Scalar&, const Scalar&) {
    flops = 2.0 * double(result.numel()) * double(batch1->sizes[0] * batch1->sizes[2]);
  })
  .grad("self", "grad, beta", [](const Tensor& grad, const Scalar& beta) {
    return scaled(grad, beta);
  })
  .grad("batch1", "grad, batch1.sizes, batch2, alpha",
        [](const Tensor& grad, Ints sizes, const Tensor& batch2, const Scalar& alpha) {
    const Tensor g = expand(unsqueeze(grad, 0), Dims{sizes[0], grad->sizes[0], grad->sizes[1]});
    return scaled(bmm(g, rl::conj(transpose(batch2, 1, 2))), alpha);
  })
  .grad("batch2", "grad, batch1, alpha",
        [](const Tensor& grad, const Tensor& batch1, const Scalar& alpha) {
    const Tensor g = expand(unsqueeze(grad, 0), Dims{batch1->sizes[0], grad->sizes[0], grad->sizes[1]});
    return scaled(bmm(rl::conj(transpose(batch1, 1, 2)), g), alpha);
  });

const Op<Tensor(Tensor, Tensor)> outer = define<Tensor(Tensor, Tensor)>(
    "outer(Tensor self, Tensor vec2) -> Tensor")
  .doc(R"(
    All products of an element of one vector with one of another.

    >>> torch.outer(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
  )")
  .alias("ger")
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, const Tensor& vec2) {
    check(self.dim() == 1, "outer: Expected 1-D argument self, but got ", self.dim(), "-D");
    check(vec2.dim() == 1, "outer: Expected 1-D argument vec2, but got ", vec2.dim(), "-D");
    return reshape(self, Dims{self->sizes[0], 1}) * vec2;
  });

const auto addr = define<Tensor(Tensor, Tensor, Tensor, Scalar, Scalar)>(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
  .doc(R"(
    `beta * self + alpha * outer(vec1, vec2)`.

    >>> torch.addr(torch.zeros(1, 2), torch.ones(1), torch.tensor([3., 4.]))
    tensor([[3., 4.]])
  )")
  .out({.inputs = true, .inplace_check = [](const Arg* args) {
    const int64_t dims = args->as_tensor().dim();
    check(dims == 2, "2D tensor expected, got ", dims, "D tensor for input");
  }})
  .forms(Function | Method | Inplace | Out)
  .infer([](Infer& r, const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar&,
            const Scalar&) {
    check(vec1.dim() == 1, "addr: Expected 1-D argument vec1, but got ", vec1.dim(), "-D");
    check(vec2.dim() == 1, "addr: Expected 1-D argument vec2, but got ", vec2.dim(), "-D");
    const int64_t sizes[] = {vec1->sizes[0], vec2->sizes[0]};
    spread_to(self, {sizes, 2});
    Promotion p;
    p.add(self);
    p.add(vec1);
    p.add(vec2);
    // As an element-by-element op of self, a column and a row, whose order of dimensions it keeps.
    const Ints whole(sizes, 2);
    const Dims strides[] = {broadcast_strides(self.sizes(), self.strides(), whole),
                            Dims{vec1.strides()[0], 0}, Dims{0, vec2.strides()[0]}};
    const bool columns = order_of_dims(whole, Span<Dims>(strides, 3))[0] == 0;
    r.result(whole, columns ? Dims{1, sizes[0]} : Dims{std::max<int64_t>(sizes[1], 1), 1},
             p.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& vec1, const Tensor& vec2,
             const Scalar& beta, const Scalar& alpha) {
    const Tensor a = empty(vec1.sizes(), result.dtype()), b = empty(vec2.sizes(), result.dtype());
    copy_data(a, vec1);
    copy_data(b, vec2);
    if (beta.equal(1) && is_floating(result.dtype()) && !is_half(result.dtype()) &&
        self.dtype() == result.dtype()) {
      const Tensor column = alias(a, {a->sizes[0], 1}, {1, 1}, 0);
      const Tensor base = spread_to(self, result.sizes());
      return run_kernel(kernels::addcmul, result, result.dtype(), {Arg(base), Arg(column), Arg(b)},
                        {alpha});
    }
    on_top_of(result, self, beta, [&](const Scalar& keep) {
      multiply(result, alias(a, {a->sizes[0], 1}, {1, 1}, 0), alias(b, {1, b->sizes[0]}, {1, 1}, 0),
               alpha, keep);
    });
  })
  .grad("self", "grad, beta", [](const Tensor& grad, const Scalar& beta) {
    return scaled(grad, beta);
  })
  .grad("vec1", "grad, vec2, alpha", [](const Tensor& grad, const Tensor& v, const Scalar& alpha) {
    return scaled(mv(grad, rl::conj(v)), alpha);
  })
  .grad("vec2", "grad, vec1, alpha", [](const Tensor& grad, const Tensor& v, const Scalar& alpha) {
    return scaled(mv(t(grad), rl::conj(v)), alpha);
  });

}  // namespace rl::ops
