// matmul for all ranks, and linear: products that fold dimensions together without copies.
#include "kernels/gemm.h"
#include "kernels/reduce.h"
#include "ops/expect.h"
#include "ops/view_edits.h"
#include "tensor/iterator.h"

namespace rl::ops {
namespace {

using kernels::MatrixProduct;

// The leading dimensions of operands, joined where all of them allow it.
struct Batches {
  Dims sizes, a, b, c;

  Batches(const Tensor& out, const Tensor& self, const Tensor& other) {
    const size_t rank = size_t(out.dim()) - 2;
    const Ints lead(out->sizes, rank);
    const Dims s = lead_strides(self, lead), o = lead_strides(other, lead);
    for (size_t d = 0; d < rank; ++d) {
      if (lead[d] == 1) continue;
      const int64_t n = lead[d], as = s[d], bs = o[d], cs = out->strides[d];
      if (!sizes.empty() && a.back() == as * n && b.back() == bs * n && c.back() == cs * n) {
        sizes.back() *= n;
        a.back() = as, b.back() = bs, c.back() = cs;
      } else {
        sizes.push_back(n), a.push_back(as), b.push_back(bs), c.push_back(cs);
      }
    }
  }

 private:
  static Dims lead_strides(const Tensor& t, Ints lead) {
    const size_t rank = size_t(t.dim()) - 2;
    return broadcast_strides({t->sizes, rank}, {t->strides, rank}, lead);
  }
};

MatrixProduct innermost(const Tensor& out, const Tensor& self, const Tensor& other) {
  const int64_t o = out.dim(), s = self.dim(), t = other.dim();
  MatrixProduct p;
  p.m = out->sizes[o - 2], p.n = out->sizes[o - 1], p.k = self->sizes[s - 1];
  p.a = self.data(), p.b = other.data(), p.c = out.data();
  p.a_row = self->strides[s - 2], p.a_col = self->strides[s - 1];
  p.b_row = other->strides[t - 2], p.b_col = other->strides[t - 1];
  p.c_row = p.n, p.c_col = 1;
  return p;
}

void multiply_stacks(const Tensor& out, const Tensor& self, const Tensor& other) {
  if (out.numel() == 0) return;
  MatrixProduct p = innermost(out, self, other);
  Batches lead(out, self, other);
  const size_t n = lead.sizes.size();
  if (n == 1 && lead.b[0] == 0 && lead.a[0] == p.m * p.a_row && lead.c[0] == p.m * p.c_row) {
    p.m *= lead.sizes[0];  // one matrix for all: the rows of the stack are those of one product
    kernels::gemm(out.dtype(), p);
    return;
  }
  for (size_t d = 0; d < 2 && d < n; ++d) {
    const size_t from = n - 1 - d, to = 1 - d;
    p.batch[to] = lead.sizes[from];
    p.a_batch[to] = lead.a[from], p.b_batch[to] = lead.b[from], p.c_batch[to] = lead.c[from];
  }
  int64_t outer = 1;
  for (size_t d = 0; d + 2 < n; ++d) outer *= lead.sizes[d];
  const int64_t item = out.element_size();
  for (int64_t i = 0; i < outer; ++i) {
    int64_t rest = i, a = 0, b = 0, c = 0;
    for (size_t d = n > 2 ? n - 2 : 0; d-- > 0;) {
      const int64_t at = rest % lead.sizes[d];
      rest /= lead.sizes[d];
      a += at * lead.a[d], b += at * lead.b[d], c += at * lead.c[d];
    }
    MatrixProduct q = p;
    q.a = self.data() + a * item, q.b = other.data() + b * item, q.c = out.data() + c * item;
    kernels::gemm(out.dtype(), q);
  }
}

int64_t count_of(Ints sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

Tensor mT(const Tensor& t) { return transpose(t, -2, -1); }

// What a product of stacks must satisfy; the errors are those of the mm or bmm it stands for.
void check_stacks(const Tensor& self, const Tensor& other, const Dims& lead) {
  const int64_t s = self.dim(), t = other.dim();
  const int64_t k = self->sizes[s - 1], k2 = other->sizes[t - 2];
  if (t == 2) {
    check(k == k2, "mat1 and mat2 shapes cannot be multiplied (",
          count_of({self->sizes, size_t(s) - 1}), "x", k, " and ", k2, "x", other->sizes[1], ")");
    check(self.dtype() == other.dtype(), "expected m1 and m2 to have the same dtype, but got: ",
          c_name_of(self.dtype()), " != ", c_name_of(other.dtype()));
  } else {
    const int64_t n = count_of(lead);
    check(k == k2, "Expected size for first two dimensions of batch2 tensor to be: [", n, ", ", k,
          "] but got: [", n, ", ", k2, "].");
    check(self.dtype() == other.dtype(), "expected scalar type ", type_name_of(self.dtype()),
          " but found ", type_name_of(other.dtype()));
  }
  check(self.device() == other.device(), "Expected all tensors to be on the same device, but found "
        "at least two devices, ", name_of(self.device().type), " and ",
        name_of(other.device().type), "!");
  check(self.dtype() != DType::Bool || self.is_meta(), ErrorKind::NotImplemented, "\"",
        t == 2 ? "addmm_impl_cpu_" : "bmm", "\" not implemented for 'Bool'");
}

// Both of rank two or more, one at least of three: PyTorch's view of a bmm, or of a folded mm.
const auto stacked_matmul = define<Tensor(Tensor, Tensor)>(
    "_stacked_matmul(Tensor self, Tensor other) -> Tensor")
  .doc("The products of two stacks of matrices whose leading dimensions broadcast.")
  .node("UnsafeViewBackward0")
  .forms(Hidden)
  .autocast(Autocast::Lower)
  .infer([](Infer& r, const Tensor& self, const Tensor& other) {
    const size_t s = size_t(self.dim()) - 2, t = size_t(other.dim()) - 2;
    Dims sizes = broadcast({self->sizes, s}, {other->sizes, t});
    check_stacks(self, other, sizes);
    sizes.push_back(self->sizes[s]);
    sizes.push_back(other->sizes[t + 1]);
    r.result(sizes, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& other) {
    multiply_stacks(result, self, other);
  })
  .cost([](double& flops, double&, const Tensor& result, const Tensor& self, const Tensor&) {
    flops = 2.0 * double(result.numel()) * double(self->sizes[self.dim() - 1]);
  })
  .grad("self", "grad, other", [](const Tensor& grad, const Tensor& other) {
    return matmul(grad, rl::conj(mT(other)));
  })
  .grad("other", "grad, self, other.sizes",
        [](const Tensor& grad, const Tensor& self, Ints sizes) {
    if (sizes.size() == 2 && grad.numel() && self.numel()) {
      return mm(rl::conj(t(reshape(self, Dims{-1, self->sizes[self.dim() - 1]}))),
                reshape(grad, Dims{-1, sizes[1]}));
    }
    return matmul(rl::conj(mT(self)), grad);
  });

// v (k) @ t (..., k, n). Where v needs a gradient, PyTorch folds t's transpose into one matrix.
Tensor vector_times_stack(const Tensor& v, const Tensor& t) {
  const int64_t b = t.dim(), k = t->sizes[b - 2];
  Dims sizes(Ints(t->sizes, size_t(b) - 2));
  sizes.push_back(t->sizes[b - 1]);
  const bool folds = grad_enabled() && requires_grad(v) && v->sizes[0] == k;
  const Tensor made = folds ? mv(reshape(mT(t), Dims{count_of(sizes), k}), v)
                            : Tensor(stacked_matmul(unsqueeze(v, 0), t));
  return unsafe_view(made, Ints(sizes));
}

// What the products that matmul consists of say of out='s dtype.
void check_matmul_out(const Arg* args, const Tensor* targets) {
  const Tensor &self = args[0].as_tensor(), &other = args[1].as_tensor();
  const DType wanted = self.dtype(), given = targets->dtype();
  if (other.dim() >= 2 && self.dim() && self->sizes[self.dim() - 1] != 0)
    refuse_internal_overlap(*targets);  // zeros go anywhere
  if (wanted == given || other.dtype() != wanted || other.dim() != 1) return;
  check(self.dim() != 1, "result dtype ", type_name_of(given), " does not match input dtype ",
        type_name_of(wanted));
  fail(ErrorKind::Runtime, "addmv input tensors must have the same dtype, but got ",
       type_name_of(given), ", ", type_name_of(wanted), ", and ", type_name_of(wanted));
}

}  // namespace

const Op<Tensor(Tensor, Tensor)> matmul = define<Tensor(Tensor, Tensor)>(
    "matmul(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    The product of vectors, matrices or stacks of matrices; leading dimensions broadcast.

    >>> torch.matmul(torch.ones(2, 1, 3), torch.ones(3)).shape
    torch.Size([2, 1])
  )")
  .out({.dtype = OutDType::Exact, .internal = true, .check = check_matmul_out})
  .forms(Function | Method | Out)
  .autocast(Autocast::Lower)
  .dunder("matmul", Reflected)
  .composite([](const Tensor& self, const Tensor& other) -> Tensor {
    const int64_t a = self.dim(), b = other.dim();
    check(a > 0 && b > 0, "both arguments to matmul need to be at least 1D, but they are ", a,
          "D and ", b, "D");
    if (a == 2 && b == 2) return mm(self, other);
    if (a == 1 && b == 1) return dot(self, other);
    if (a == 2 && b == 1) return mv(self, other);
    if (a == 1 && b == 2) return squeeze_dim_(mm(unsqueeze(self, 0), other), 0);
    if (a == 1) return vector_times_stack(self, other);
    if (b > 1) return stacked_matmul(self, other);
    const Dims lead(Ints(self->sizes, size_t(a) - 1));
    return unsafe_view(mv(reshape(self, Dims{count_of(lead), self->sizes[a - 1]}), other), Ints(lead));
  });

const auto inner = define<Tensor(Tensor, Tensor)>("inner(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    Sums of products over the last dimensions of two tensors.

    >>> torch.inner(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor(11.)
  )")
  .out({.check = [](const Arg* args, const Tensor* targets) {
    const Tensor &self = args[0].as_tensor(), &other = args[1].as_tensor();
    check(self.dim() == 0 || other.dim() == 0 || targets->dtype() == self.dtype(), "tensordot: "
          "Expected the output tensor to have dtype ", type_name_of(self.dtype()),
          ", but got an output tensor with dtype ", type_name_of(targets->dtype()));
  }})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, const Tensor& other) -> Tensor {
    if (self.dim() == 0 || other.dim() == 0) return self * other;
    const int64_t a = self.dim(), b = other.dim(), k = self->sizes[a - 1];
    check(k == other->sizes[b - 1], "inner() the last dimension must match on both input tensors "
          "but got shapes ", self.sizes(), " and ", other.sizes());
    check(self.dtype() == other.dtype(), "both inputs should have same dtype");
    if (a == 1 && b == 1) return view(dot(self, other), Ints());
    Dims sizes(Ints(self->sizes, size_t(a) - 1));
    for (int64_t d = 0; d + 1 < b; ++d) sizes.push_back(other->sizes[d]);
    const Tensor left = reshape(self, Dims{count_of({self->sizes, size_t(a) - 1}), k});
    const Tensor right = reshape(other, Dims{count_of({other->sizes, size_t(b) - 1}), k});
    return view(mm(left, t(right)), Ints(sizes));
  });

// ---- linear

namespace {

// The input as rows, if its leading dimensions have one stride.
bool as_rows(const Tensor& t, int64_t& rows, int64_t& stride) {
  const int64_t last = t.dim() - 1;
  rows = count_of({t->sizes, size_t(last)});
  stride = t->sizes[last];
  if (t.is_contiguous()) return true;
  int64_t expected = -1;
  for (int64_t d = last - 1; d >= 0; --d) {
    if (t->sizes[d] == 1) continue;
    if (expected < 0) expected = stride = t->strides[d];
    else if (t->strides[d] != expected) return false;
    expected *= t->sizes[d];
  }
  return true;
}

Tensor row_form(const Tensor& t, int64_t& rows, int64_t& stride) {
  if (as_rows(t, rows, stride)) return t;
  const Tensor dense = empty(t.sizes(), t.dtype());
  copy_data(dense, t);
  stride = t->sizes[t.dim() - 1];
  return dense;
}

void linear_infer(Infer& r, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  expect(input.dim() > 0 && weight.dim() == 2, "linear", "the weight has two dimensions");
  const int64_t last = input.dim() - 1, k = input->sizes[last];
  const int64_t rows = count_of({input->sizes, size_t(last)}), n = weight->sizes[0];
  if (bias) {
    check(bias.dtype() == weight.dtype(), "self and mat2 must have the same dtype, but got ",
          type_name_of(bias.dtype()), " and ", type_name_of(weight.dtype()));
    check(input.dtype() == weight.dtype(), "mat1 and mat2 must have the same dtype, but got ",
          type_name_of(input.dtype()), " and ", type_name_of(weight.dtype()));
  }
  check(k == weight->sizes[1], "mat1 and mat2 shapes cannot be multiplied (", rows, "x", k,
        " and ", weight->sizes[1], "x", n, ")");
  check(input.dtype() == weight.dtype(), "expected m1 and m2 to have the same dtype, but got: ",
        c_name_of(input.dtype()), " != ", c_name_of(weight.dtype()));
  check(input.device() == weight.device() && (!bias || bias.device() == weight.device()),
        "Expected all tensors to be on the same device, but found at least two devices, ",
        name_of(input.device().type), " and ", name_of(weight.device().type), "!");
  check(input.dtype() != DType::Bool || input.is_meta() || input.numel() == 0, ErrorKind::NotImplemented,
        "\"addmm_impl_cpu_\" not implemented for 'Bool'");
  if (bias && !(bias.dim() == 1 && bias->sizes[0] == n)) {
    NoGrad quiet;
    expand(detached(bias), Dims{rows, n}, false);
  }
  Dims sizes(input.sizes());
  sizes[size_t(last)] = n;
  r.result(sizes, input.dtype(), input.device());
}

void linear_kernel(Tensor& result, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  MatrixProduct p;
  int64_t stride = 0;
  const Tensor rows = row_form(input, p.m, stride);
  p.n = weight->sizes[0];
  p.k = weight->sizes[1];
  p.a = rows.data(), p.b = weight.data(), p.c = result.data();
  p.a_row = stride, p.a_col = rows->strides[rows.dim() - 1];
  p.b_row = weight->strides[1], p.b_col = weight->strides[0];
  p.c_row = p.n;
  if (bias && bias.dim() == 1 && bias->sizes[0] == p.n && bias.is_contiguous()) {
    p.bias = bias.data();
  } else if (bias) {
    NoGrad quiet;
    copy_data(alias(result, Dims{p.m, p.n}, Dims{p.n, 1}, 0), expand(detached(bias), Dims{p.m, p.n}, false));
    p.beta = 1;
  }
  if (result.numel()) kernels::gemm(result.dtype(), p);
}

// sum over rows of a dense [rows, n], pairwise.
Tensor sum_of_rows(const Tensor& t, int64_t rows, int64_t n) {
  using kernels::Fold;
  const DType wide = kernels::accumulator_of(Fold::Sum, t.dtype());
  const Tensor total = empty({n}, wide);
  kernels::fold_begin(Fold::Sum, wide, total.data(), n);
  const int64_t item = t.element_size();
  if (t.numel()) {
    kernels::fold_columns(Fold::Sum, t.dtype(), total.data(), t.data(), rows, n * item, n, item);
  }
  if (wide == t.dtype()) return total;
  const Tensor out = empty({n}, t.dtype());
  copy_data(out, total);
  return out;
}

using Three = std::tuple<Tensor, Tensor, Tensor>;

void expect_linear_gradient(const Tensor& grad, const Tensor& input, const Tensor& weight) {
  const char* op = "_linear_backward";
  expect(weight.dim() == 2 && grad.dim() > 0, op,
         "the weight has two dimensions, the gradient one");
  const DType t = grad.dtype();
  expect(is_floating(t) && weight.dtype() == t, op, "operands are floating, of one dtype");
  Dims sizes(grad.sizes());
  expect(sizes.back() == weight->sizes[0], op, "the gradient is as wide as the weight is high");
  sizes.back() = weight->sizes[1];
  expect_like(input, sizes, t, op, "self");
}

Three linear_gradients_of_meta(const Tensor& grad, const Tensor& input, const Tensor& weight,
                               int64_t mask) {
  const auto like = [&](int64_t bit, Ints sizes) {
    return mask & bit ? empty(sizes, grad.dtype(), grad.device()) : Tensor();
  };
  return Three(like(1, input.sizes()), like(2, weight.sizes()), like(4, {weight->sizes[0]}));
}

}  // namespace

// All three gradients in one call; results that are not in the mask are undefined.
const auto linear_backward = define<Three(Tensor, Tensor, Tensor, int64_t)>(
    "_linear_backward(Tensor grad_output, Tensor self, Tensor weight, int output_mask) "
    "-> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)")
  .doc("The gradients of linear's input, weight and one-dimensional bias, as a mask names them.")
  .forms(Hidden)
  .produce([](const Tensor& grad, const Tensor& self, const Tensor& weight, int64_t mask) {
    expect_linear_gradient(grad, self, weight);
    if (grad.is_meta()) return linear_gradients_of_meta(grad, self, weight, mask);
    Three made;
    const int64_t n = weight->sizes[0], k = weight->sizes[1];
    int64_t rows = 0, stride = 0, x_stride = 0;
    const Tensor g = row_form(grad, rows, stride);
    const int64_t g_col = g->strides[g.dim() - 1];
    MatrixProduct p;
    if (mask & 1) {
      Dims sizes(grad.sizes());
      sizes.back() = k;
      const Tensor dx = empty(sizes, grad.dtype());
      p.m = rows, p.n = k, p.k = n;
      p.a = g.data(), p.a_row = stride, p.a_col = g_col;
      p.b = weight.data(), p.b_row = weight->strides[0], p.b_col = weight->strides[1];
      p.c = dx.data(), p.c_row = k;
      if (dx.numel()) kernels::gemm(dx.dtype(), p);
      std::get<0>(made) = dx;
    }
    if (mask & 2) {
      const Tensor x = row_form(self, rows, x_stride), dw = empty({n, k}, grad.dtype());
      p.m = n, p.n = k, p.k = rows;
      p.a = g.data(), p.a_row = g_col, p.a_col = stride;
      p.b = x.data(), p.b_row = x_stride, p.b_col = x->strides[x.dim() - 1];
      p.c = dw.data(), p.c_row = k;
      if (rows == 0) set_zero(dw);
      else if (dw.numel()) kernels::gemm(dw.dtype(), p);
      std::get<1>(made) = dw;
    }
    if (mask & 4) {
      Tensor dense = g;
      if (!g.is_contiguous()) copy_data(dense = empty(g.sizes(), g.dtype()), g);
      std::get<2>(made) = sum_of_rows(dense, rows, n);
    }
    return made;
  })
  .cost([](double& flops, double&, const Tensor&, const Tensor& grad, const Tensor& self,
           const Tensor& weight, int64_t mask) {
    const double product = 2.0 * double(self.numel()) * double(weight->sizes[0]);
    flops = product * double((mask & 1) + (mask >> 1 & 1));
    if (mask & 4) flops += double(grad.numel());
  })
  .grad("grad_output, self, weight",
        "grad.grad_input, grad.grad_weight, grad.grad_bias, grad_output, self, weight, needs",
        [](const Tensor& dx, const Tensor& dw, const Tensor& db, const Tensor& grad,
           const Tensor& self, const Tensor& weight, Needs needs) {
    Three made;
    if (needs[0]) {
      Tensor g;
      if (dx) g = linear(dx, rl::conj(weight));
      if (dw) g = g ? Tensor(g + linear(self, dw)) : Tensor(linear(self, dw));
      if (db) g = g ? Tensor(g + db) : Tensor(expand(db, grad.sizes(), false));
      std::get<0>(made) = g;
    }
    if (needs[1] && dw) std::get<1>(made) = matmul(grad, dw);
    if (needs[2] && dx) {
      const int64_t n = grad->sizes[grad.dim() - 1], k = dx->sizes[dx.dim() - 1];
      std::get<2>(made) = mm(t(reshape(grad, Dims{-1, n})), reshape(dx, Dims{-1, k}));
    }
    return made;
  });

namespace {

Three linear_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight,
                       const Tensor& bias, Needs needs) {
  const bool plain = !bias || (bias.dim() == 1 && bias->sizes[0] == grad->sizes[grad.dim() - 1]);
  if (grad.is_complex() || !plain) {
    Three made;
    const int64_t n = grad->sizes[grad.dim() - 1];
    const Tensor rows = reshape(grad, Dims{grad.numel() / std::max<int64_t>(n, 1), n});
    const Tensor x = needs[1] ? reshape(input, Dims{rows->sizes[0], input->sizes[input.dim() - 1]})
                              : Tensor();
    if (needs[0]) std::get<0>(made) = matmul(grad, rl::conj(weight));
    if (needs[1]) std::get<1>(made) = mm(t(rows), rl::conj(x));
    if (needs[2]) std::get<2>(made) = sum_to_size(rows, bias.sizes());
    return made;
  }
  return linear_backward(grad, input, weight, int64_t(needs.mask));
}

#define RL_LINEAR(NAME, TEXT, NODE)                                                              \
  const auto NAME = define<Tensor(Tensor, Tensor, Tensor)>(                                      \
      TEXT "(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")                         \
    .doc("linear where PyTorch's outermost node is " NODE ".")                                   \
    .node(NODE)                                                                                  \
    .forms(Hidden)                                                                               \
    .autocast(Autocast::Lower)                                                                   \
    .infer([](Infer& r, const Tensor& input, const Tensor& weight, const Tensor& bias) {         \
      linear_infer(r, input, weight, bias);                                                      \
    })                                                                                           \
    .kernel([](Tensor& result, const Tensor& input, const Tensor& weight, const Tensor& bias) {  \
      linear_kernel(result, input, weight, bias);                                                \
    })                                                                                           \
    .cost([](double& flops, double&, const Tensor&, const Tensor& input, const Tensor& weight,   \
             const Tensor&) { flops = 2.0 * double(input.numel()) * double(weight->sizes[0]); }) \
    .grad("input, weight, bias", "grad, input, weight, bias.layout, needs",                      \
          [](const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& bias,  \
             Needs needs) { return linear_gradients(grad, input, weight, bias, needs); })
RL_LINEAR(linear_addmm, "_linear_addmm", "AddmmBackward0");
RL_LINEAR(linear_mm, "_linear_mm", "MmBackward0");
RL_LINEAR(linear_view, "_linear_view", "ViewBackward0");
RL_LINEAR(linear_unsafe_view, "_linear_unsafe_view", "UnsafeViewBackward0");
RL_LINEAR(linear_squeeze, "_linear_squeeze", "SqueezeBackward4");
#undef RL_LINEAR

}  // namespace

const Op<Tensor(Tensor, Tensor, Tensor)> linear = define<Tensor(Tensor, Tensor, Tensor)>(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")
  .doc(R"(
    `input @ weight.T + bias`: a layer of `weight.shape[0]` outputs.

    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2), torch.zeros(3))
    tensor([[2., 2., 2.]])
  )")
  .out({.dtype = OutDType::Exact, .internal = true, .check = check_matmul_out})
  .forms(NN | Out)
  .exact_out()
  .autocast(Autocast::Lower)
  .composite([](const Tensor& input, const Tensor& weight, const Tensor& bias) -> Tensor {
    check(input.dim() > 0 && weight.dim() > 0, "both arguments to linear need to be at least 1D, "
          "but they are ", input.dim(), "D and ", weight.dim(), "D");
    check(weight.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ",
          weight.dim(), "D");
    if (weight.dim() == 2 && input.dim() > 0) {
      if (bias) return input.dim() == 2 ? linear_addmm(input, weight, bias)
                                        : linear_view(input, weight, bias);
      return input.dim() == 2 ? linear_mm(input, weight)
           : input.dim() == 1 ? linear_squeeze(input, weight) : linear_unsafe_view(input, weight);
    }
    if (bias && input.dim() == 2) return addmm(bias, input, t(weight));
    const Tensor product = matmul(input, t(weight));
    return bias ? Tensor(product + bias) : product;
  });

}  // namespace rl::ops
