// Powers, exponentials and chains of matrices; tensors taken for matrices; condition numbers.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/linalg.h"

namespace rl::ops {
namespace {

using Text = std::string_view;

// ---- The exponential: Taylor's polynomial of a scaled matrix, squared again.

struct Degree {
  int terms;              // the highest power
  double single, wide;    // the largest 1-norm for which it is exact (Bader, Blanes, Casas 2019)
};
constexpr Degree kDegrees[] = {
    {1, 1.192092800768788e-07, 2.220446049250313e-16},
    {2, 5.978858893805233e-04, 2.580956802971767e-08},
    {4, 5.116619363445086e-02, 3.397168839976962e-04},
    {8, 5.800524627688768e-01, 4.991228871115323e-02},
    {12, 1.461661507209034e+00, 2.996158913811580e-01},
    {18, 3.010066362817634e+00, 1.090863719290036e+00},
};

// sum of A^i / i! for i <= n, by powers of A up to a step (Paterson & Stockmeyer 1973).
Tensor taylor(const Tensor& A, int n) {
  const int step = n <= 2 ? n : n <= 4 ? 2 : n <= 12 ? 4 : 6;
  std::vector<Tensor> powers(size_t(step) + 1);
  powers[1] = A;
  for (int i = 2; i <= step; ++i)
    powers[size_t(i)] = matmul(powers[size_t(i / 2)], powers[size_t(i - i / 2)]);
  double factorial[19] = {1};
  for (int i = 1; i <= n; ++i) factorial[i] = factorial[i - 1] * i;
  // The terms from `low` on, up to the power `low + most`.
  const auto block = [&](int low, int most) {
    Tensor sum;
    for (int i = 1; i <= most; ++i) {
      const Scalar factor(1 / factorial[low + i]);
      if (sum) sum = add(sum, powers[size_t(i)], factor);
      else sum = powers[size_t(i)] * factor;
    }
    const Tensor made = sum ? sum : zeros_like(A);
    const Tensor diagonal_view = main_diagonal(made);
    add.in_place(diagonal_view, Scalar(1 / factorial[low]));
    return made;
  };
  const int blocks = (n + step - 1) / step;
  Tensor made = block((blocks - 1) * step, n - (blocks - 1) * step);
  for (int b = blocks - 2; b >= 0; --b) {
    made = matmul(made, powers[size_t(step)]);
    const Tensor more = block(b * step, step - 1);
    made = made + more;
  }
  return made;
}

Tensor exponential(const Tensor& A) {
  if (A.numel() == 0) return clone(A);
  if (columns(A) == 1) return exp(A);
  const int64_t n = rows(A);
  const Tensor flat = reshape(A, Dims{-1, n, n});
  const Tensor norms = to_dtype(amax(sum_dim(abs(flat), Ints{-2}, false), Ints{-1}, false),
                                DType::Double);
  const bool wide = real_of(A.dtype()) == DType::Double;
  double most = 0;
  for (int64_t i = 0; i < norms.numel(); ++i) {
    const double x = norms.ptr<double>()[i];
    most = std::isfinite(x) ? std::max(most, x) : most;
  }
  for (const Degree& d : kDegrees)
    if (most <= (wide ? d.wide : d.single)) return reshape(taylor(flat, d.terms), A.sizes());
  // Each matrix is halved often enough, and its result squared as often.
  const double limit = wide ? kDegrees[5].wide : kDegrees[5].single;
  const Tensor factors = empty({flat.size(0), 1, 1}, DType::Double);
  std::vector<int> squarings(size_t(flat.size(0)));
  int longest = 0;
  for (size_t i = 0; i < squarings.size(); ++i) {
    const double x = norms.ptr<double>()[i];
    squarings[i] = std::isfinite(x) && x > limit ? int(std::ceil(std::log2(x / limit))) : 0;
    longest = std::max(longest, squarings[i]);
    factors.ptr<double>()[i] = std::ldexp(1.0, -squarings[i]);
  }
  Tensor made = taylor(flat * to_dtype(factors, real_of(A.dtype())), 18);
  for (int s = 0; s < longest; ++s) {
    const Tensor square = matmul(made, made);
    if (std::all_of(squarings.begin(), squarings.end(), [&](int k) { return k > s; })) {
      made = square;
      continue;
    }
    const Tensor wanted = empty({flat.size(0), 1, 1}, DType::Bool);
    for (size_t i = 0; i < squarings.size(); ++i) wanted.ptr<bool>()[i] = squarings[i] > s;
    made = where(wanted, square, made);
  }
  return reshape(made, A.sizes());
}

}  // namespace

const Op<Tensor(Tensor)> matrix_exp = define<Tensor(Tensor)>(
    "linalg_matrix_exp(Tensor self) -> Tensor")
  .doc(R"(
    Exponentials (..., n, n) of square matrices: the sum of A^i / i!. Bader, Blanes & Casas 2019,
    "Computing the matrix exponential with an optimized Taylor polynomial approximation", table 1.

    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
  )")
  .forms(Linalg)
  .produce([](const Tensor& A) {
    check_square("linalg.matrix_exp", A);
    check_float("linalg.matrix_exp", A);
    NoGrad quiet;
    if (A.is_meta()) return empty(A.sizes(), A.dtype(), A.device());
    return exponential(detached(A));
  })
  // The upper right block of the exponential of [[A^H, G], [0, A^H]] (Mathias 1996).
  .grad("self", "grad, self", [](const Tensor& grad, const Tensor& A) {
    const int64_t n = rows(A);
    const Tensor h = adjoint_of(A);
    const Tensor top = cat(Tensors{h, grad}, -1), low = cat(Tensors{zeros_like(h), h}, -1);
    const Tensor made = matrix_exp(cat(Tensors{top, low}, -2));
    return narrow(narrow(made, -2, 0, n), -1, n, n);
  });

const auto matrix_exp_plain = define<Tensor(Tensor)>("matrix_exp(Tensor self) -> Tensor")
  .doc("The same as `linalg.matrix_exp`.")
  .forms(Function | Method)
  .composite([](const Tensor& self) { return matrix_exp(self); });

// ---- Powers

namespace {

Tensor power(const Tensor& A, int64_t n) {
  check_square("linalg.matrix_power", A);
  if (n == 0) {
    const Tensor made = clone(A, MemoryFormat::Contiguous);
    const Tensor ones = diag_embed(full({rows(A)}, Scalar(1), A.dtype(), A.device()), 0, -2, -1);
    copy_(made, expand(ones, A.sizes(), false), false);
    return made;
  }
  if (n == 1) return clone(A);
  if (n == -1) return linalg_inv(A);
  const Tensor base = n < 0 ? Tensor(linalg_inv(A)) : A;
  uint64_t left = n < 0 ? uint64_t(-(n + 1)) + 1 : uint64_t(n);
  if (left == 2) return matmul(base, base);
  if (left == 3) return matmul(matmul(base, base), base);
  Tensor square, made;
  while (left) {
    square = square ? Tensor(matmul(square, square)) : base;
    if (left & 1) made = made ? Tensor(matmul(made, square)) : square;
    left >>= 1;
  }
  return made;
}

}  // namespace

namespace {

// Powers 0 and 1 are copies, which cast; the others are products, which do not.
void check_power_out(const Arg* args, const Tensor* targets) {
  const DType made = args[0].as_tensor().dtype(), given = targets->dtype();
  const int64_t n = args[1].scalar().to_int();
  check(made == given || n == 0 || n == 1 || !can_cast(made, given), "Expected out tensor to have "
        "dtype ", c_name_of(made), ", but got ", c_name_of(given), " instead");
}

}  // namespace

const auto linalg_matrix_power = define<Tensor(Tensor, int64_t)>(
    "linalg_matrix_power(Tensor self, int n) -> Tensor")
  .doc(R"(
    Powers (..., n, n) of square matrices; negative ones are those of the inverse.

    >>> torch.linalg.matrix_power(torch.tensor([[1., 1.], [0., 1.]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
  )")
  .out({.text = "matrix_power: Expected result to be safely castable from %W dtype, but got "
                "result with dtype %G",
        .check = check_power_out})
  .forms(Linalg | Out)
  .composite([](const Tensor& A, int64_t n) { return power(A, n); });

const auto matrix_power = define<Tensor(Tensor, int64_t)>(
    "matrix_power(Tensor self, int n) -> Tensor")
  .doc("The same as `linalg.matrix_power`.")
  .out({.text = "matrix_power: Expected result to be safely castable from %W dtype, but got "
                "result with dtype %G",
        .check = check_power_out})
  .forms(Function | Method | Out)
  .composite([](const Tensor& A, int64_t n) { return power(A, n); });

// ---- Chains

namespace {

// Where to split products of matrices d[i] x d[i + 1] for the fewest multiplications (Cormen,
// Leiserson, Rivest & Stein, Introduction to Algorithms, section 15.2).
class Chain {
 public:
  explicit Chain(TensorList matrices) : matrices_(matrices), n_(matrices.size()) {
    std::vector<double> d(n_ + 1), cost(n_ * n_, 0.0);
    d[0] = double(matrices[0].size(0));
    for (size_t i = 0; i < n_; ++i) d[i + 1] = double(matrices[i].size(1));
    split_.resize(n_ * n_);
    for (size_t length = 1; length < n_; ++length) {
      for (size_t i = 0; i + length < n_; ++i) {
        const size_t j = i + length;
        double best = -1;
        for (size_t k = i; k < j; ++k) {
          const double c = cost[i * n_ + k] + cost[(k + 1) * n_ + j] + d[i] * d[k + 1] * d[j + 1];
          if (best < 0 || c < best) best = c, split_[i * n_ + j] = k;
        }
        cost[i * n_ + j] = best;
      }
    }
  }
  Tensor product(size_t i, size_t j) const {
    if (i == j) return matrices_[i];
    const size_t k = split_[i * n_ + j];
    return mm(product(i, k), product(k + 1, j));
  }

 private:
  TensorList matrices_;
  size_t n_;
  std::vector<size_t> split_;
};

Tensor multi_dot(TensorList given) {
  const size_t n = given.size();
  check(n >= 2, "multi_dot(): expected at least 2 tensors but got ", int64_t(n));
  Tensors list(given);
  Dims sizes;
  const Tensor &first = given[0], &last = given[n - 1];
  check(first.dim() == 1 || first.dim() == 2, "multi_dot(): the first tensor must be 1D or 2D but "
        "got ", first.dim(), "D");
  if (first.dim() == 1) list[0] = unsqueeze(first, 0);
  else sizes.push_back(first.size(0));
  check(last.dim() == 1 || last.dim() == 2, "multi_dot(): the last tensor must be 1D or 2D but "
        "got ", last.dim(), "D");
  if (last.dim() == 1) list[n - 1] = unsqueeze(last, -1);
  else sizes.push_back(last.size(1));
  for (size_t i = 0; i + 1 < n; ++i) {
    check(list[i + 1].dim() == 2, "multi_dot(): tensor ", int64_t(i + 1), " must be 2D but got ",
          list[i + 1].dim(), "D");
    check(list[i + 1].dtype() == first.dtype(), "multi_dot(): all tensors must have be the same "
          "dtype but tensor 0 is ", c_name_of(first.dtype()), " and tensor ", int64_t(i + 1), " ",
          c_name_of(list[i + 1].dtype()));
    check(list[i].size(-1) == list[i + 1].size(-2), "multi_dot(): tensors ", int64_t(i), " and ",
          int64_t(i + 1), " with shapes ", list[i].sizes(), " and ", list[i + 1].sizes(),
          " cannot be multiplied");
  }
  return view(Chain(list).product(0, n - 1), Ints(sizes));
}

}  // namespace

const auto linalg_multi_dot = define<Tensor(TensorList)>(
    "linalg_multi_dot(Tensor[] tensors) -> Tensor")
  .doc(R"(
    The product of two or more matrices in the order that takes the fewest multiplications; the
    first and the last may be vectors.

    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
    tensor([12., 12.])
  )")
  .out({.text = "multi_dot(): expected out tensor to have dtype %w but got %g"})
  .forms(Linalg | Out)
  .exact_out()
  .composite([](TensorList tensors) { return multi_dot(tensors); });

const auto chain_matmul = define<Tensor(TensorList)>("chain_matmul(Tensor[] matrices) -> Tensor")
  .doc("What `torch.chain_matmul` calls; deprecated in favor of `linalg.multi_dot`.")
  .out({.text = "multi_dot(): expected out tensor to have dtype %w but got %g"})
  .forms(Hidden | Out)
  .exact_out()
  .composite([](TensorList matrices) -> Tensor {
    static bool said = false;
    warn_once(said, "torch.chain_matmul is deprecated and will be removed in a future PyTorch "
              "release. Use torch.linalg.multi_dot instead, which accepts a list of two or more "
              "tensors rather than multiple parameters.");
    check(matrices.size() > 0, "chain_matmul(): Expected one or more matrices");
    for (const Tensor& t : matrices)
      check(t.dim() == 2, "Tensor dimension is ", t.dim(), ", expected 2 instead.");
    return matrices.size() == 1 ? Tensor(clone(matrices[0])) : multi_dot(matrices);
  });

// ---- Tensors as matrices

namespace {

int64_t product_of(Ints sizes, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t i = from; i < to && i < sizes.size(); ++i) n *= sizes[i];
  return n;
}

}  // namespace

const auto tensorinv = define<Tensor(Tensor, int64_t)>(
    "linalg_tensorinv(Tensor self, int ind=2) -> Tensor")
  .doc("The inverse of a tensor as a map from its dimensions from `ind` on to those before it.")
  .out({.text = "tensorinv: Expected result to be safely castable from %W dtype, but got "
                "result with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& self, int64_t ind) -> Tensor {
    check(ind > 0, "Expected a strictly positive integer for 'ind', but got ", ind);
    const size_t rank = size_t(self.dim()), at = std::min(size_t(ind), rank);
    const int64_t back = product_of(self.sizes(), at, rank);
    const int64_t front = product_of(self.sizes(), 0, at);
    check(back == front, "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
          "prod(self.shape[:ind]), but got ", back, " != ", front);
    Dims sizes;
    for (size_t i = at; i < rank; ++i) sizes.push_back(self->sizes[i]);
    for (size_t i = 0; i < at; ++i) sizes.push_back(self->sizes[i]);
    const Two made = inv_ex(reshape(self, Dims{front, back}));
    check_infos("inv", made.second, true);
    return reshape(made.first, Ints(sizes));
  });

const auto tensorsolve = define<Tensor(Tensor, Tensor, MaybeInts)>(
    "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor")
  .doc("The X for which `tensordot(self, X, X.ndim)` is `other`; `dims` are moved last before.")
  .out({.text = "tensorsolve: Expected result to be safely castable from %W dtype, but got "
                "result with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& self, const Tensor& other, MaybeInts dims) -> Tensor {
    Tensor A = self;
    if (dims) {
      Dims order;
      const Dims moved = wrap_dims(*dims, self.dim());
      for (int64_t d = 0; d < self.dim(); ++d)
        if (std::find(moved.begin(), moved.end(), d) == moved.end()) order.push_back(d);
      for (int64_t d : moved) order.push_back(d);
      A = permute(self, Ints(order));
    }
    const size_t rank = size_t(A.dim()), at = size_t(other.dim());
    const int64_t back = product_of(A.sizes(), at, rank), front = other.numel();
    check(back == front, "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) "
          "== prod(self.shape[:other.ndim]), but got ", back, " != ", front);
    Dims sizes;
    for (size_t i = at; i < rank; ++i) sizes.push_back(A->sizes[i]);
    const Tensor flat = reshape(A, Dims{back, back});
    return reshape(linalg_solve(flat, reshape(other, Dims{-1})), Ints(sizes));
  });

// ---- Condition numbers

namespace {

constexpr int64_t kMatrix[] = {-2, -1};

bool any_singular(const Tensor& info) {
  bool any_one = false;
  for (int64_t i = 0; !info.is_meta() && i < info.numel(); ++i) any_one |= ints_of(info)[i] != 0;
  return any_one;
}

// |A| |A^-1|, infinite where A is singular.
template <class Order> Tensor by_inverse(const Tensor& A, const Order& ord, const char* shown) {
  check_square(text("linalg.cond(ord=", shown, ")"), A);
  const Two made = inv_ex(A);
  const Tensor norm = matrix_norm_of(A, ord, Ints(kMatrix, 2), false, std::nullopt);
  const Tensor other = matrix_norm_of(made.first, ord, Ints(kMatrix, 2), false, std::nullopt);
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor product = norm * other;
  if (any_singular(made.second))
    product = where(ne(made.second, Scalar(0)), Scalar(infinity), product);
  return nan_to_num(product, infinity, infinity, -infinity);
}

Tensor empty_condition(const Tensor& A) {
  return zeros(batch_sizes(A), real_of(A.dtype()), A.device());
}

void check_cond(const Tensor& A) {
  check(A.dim() >= 2, "linalg.cond: The input tensor must have at least 2 dimensions.");
}

}  // namespace

const auto cond = define<Tensor(Tensor, MaybeScalar)>(
    "linalg_cond(Tensor self, Scalar? p=None) -> Tensor")
  .doc(R"(
    Condition numbers (...) of matrices in a matrix norm: by default the largest singular value over
    the smallest.

    >>> torch.linalg.cond(torch.diag(torch.tensor([1., 4.])))
    tensor(4.)
  )")
  .out({.text = "linalg.cond: Expected result to be safely castable from %W dtype, but got "
                "result with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& A, const MaybeScalar& p) -> Tensor {
    check_cond(A);
    const double ord = p ? p->to_double() : 2, size = std::abs(ord);
    if (A.numel() == 0) return empty_condition(A);
    if (size == 2) {
      const Tensor s = svdvals(A);
      const Tensor most = narrow(s, -1, 0, 1), least = narrow(s, -1, s.size(-1) - 1, 1);
      return squeeze_dim(ord > 0 ? most / least : least / most, -1);
    }
    check(size == 1 || std::isinf(size), "linalg.cond got an invalid norm type: ",
          p->is_int() ? text(p->to_int()) : text(ord));
    return by_inverse(A, *p, std::isinf(size) ? ord > 0 ? "inf" : "-inf" : ord > 0 ? "1" : "-1");
  });

const auto cond_named = define<Tensor(Tensor, Text)>(
    "linalg_cond.p_str(Tensor self, str p) -> Tensor")
  .out({.text = "linalg.cond: Expected result to be safely castable from %W dtype, but got "
                "result with dtype %G"})
  .forms(Linalg | Out)
  .composite([](const Tensor& A, Text p) -> Tensor {
    check_cond(A);
    check(p == "fro" || p == "nuc", "linalg.cond got an invalid norm type: ", p);
    if (A.numel() == 0) return empty_condition(A);
    if (p == "fro") return by_inverse(A, p, "fro");
    check_square("linalg.cond(ord=nuc)", A);
    const Two made = inv_ex(A);
    const bool singular = any_singular(made.second);
    const Tensor none = ne(made.second, Scalar(0));
    const Tensor bad = unsqueeze(unsqueeze(none, -1), -1);
    const Tensor inverse = singular ? where(bad, Scalar(0), made.first) : made.first;
    const Tensor product = matrix_norm_of(A, p, Ints(kMatrix, 2), false, std::nullopt) *
                           matrix_norm_of(inverse, p, Ints(kMatrix, 2), false, std::nullopt);
    const Scalar infinity(std::numeric_limits<double>::infinity());
    return singular ? where(none, infinity, product) : product;
  });

}  // namespace rl::ops
