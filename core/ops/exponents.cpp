// Mantissas and exponents: frexp takes numbers apart, ldexp puts them together.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "tensor/iterator.h"

namespace rl::ops {
namespace {

template <class T>
void take_apart(const Tensor& mantissa, const Tensor& exponent, const Tensor& x) {
  StridedLoop over(mantissa.sizes());
  over.add(mantissa);
  over.add(exponent);
  over.add(x);
  over.prepare();
  over.run([&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      T v;
      std::memcpy(&v, p[2] + i * s[2], sizeof v);
      int e = 0;
      if constexpr (std::is_same_v<T, Half>) v = to_half(std::frexp(to_float(v), &e));
      else if constexpr (std::is_same_v<T, BFloat16>) v = to_bfloat16(std::frexp(to_float(v), &e));
      else v = std::frexp(v, &e);
      const int32_t whole = e;
      std::memcpy(p[0] + i * s[0], &v, sizeof v);
      std::memcpy(p[1] + i * s[1], &whole, sizeof whole);
    }
  });
}

}  // namespace

const auto frexp = define<std::pair<Tensor, Tensor>(Tensor)>(
    "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)")
  .doc(R"(
    Mantissas in [0.5, 1) and whole exponents of 2 whose product is the input.

    >>> torch.frexp(torch.tensor([8.]))
    torch.return_types.frexp(
    mantissa=tensor([0.5000]),
    exponent=tensor([4], dtype=torch.int32))
  )")
  .node("FrexpBackward0")
  .nondiff("exponent")
  .forms(Function | Method | Out)
  .out({.dtype = OutDType::Exact, .check = [](const Arg* args, const Tensor* targets) {
    const DType wanted = args[0].as_tensor().dtype(), mantissa = targets[0].dtype(),
                exponent = targets[1].dtype();
    check(mantissa == wanted, "torch.frexp() expects mantissa to have dtype ", c_name_of(wanted),
          " but got ", c_name_of(mantissa));
    check(exponent == DType::Int32, "torch.frexp() expects exponent to have int dtype but got ",
          c_name_of(exponent));
  }})
  .infer([](Infer& r, const Tensor& self) {
    check(self.is_floating(), "torch.frexp() only supports floating-point dtypes");
    r.like(self);
    r.result(self.sizes(), dense_strides_like(self), DType::Int32, self.device());
  })
  .kernel([](Tensor& mantissa, Tensor& exponent, const Tensor& self) {
    switch (self.dtype()) {
      case DType::Half: return take_apart<Half>(mantissa, exponent, self);
      case DType::BFloat16: return take_apart<BFloat16>(mantissa, exponent, self);
      case DType::Float: return take_apart<float>(mantissa, exponent, self);
      default: return take_apart<double>(mantissa, exponent, self);
    }
  })
  .grad("self", "grad.mantissa, exponent", [](const Tensor& grad, const Tensor& exponent) {
    return grad / to_dtype(pow_of_number(Scalar(2.0), to_dtype(exponent, grad.dtype())),
                           grad.dtype());
  });

namespace {

template <class T> void scale_into(const Tensor& out, const Tensor& x, const Tensor& exponent) {
  StridedLoop over(out.sizes());
  over.add(out);
  over.add(expand(x, out.sizes()));
  over.add(expand(exponent, out.sizes()));
  over.prepare();
  over.run([&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      T v;
      int64_t e;
      std::memcpy(&v, p[1] + i * s[1], sizeof v);
      std::memcpy(&e, p[2] + i * s[2], sizeof e);
      const int most = int(std::min<int64_t>(std::max<int64_t>(e, -100000), 100000));
      if constexpr (std::is_same_v<T, Half>) v = to_half(std::ldexp(to_float(v), most));
      else if constexpr (std::is_same_v<T, BFloat16>) {
        v = to_bfloat16(std::ldexp(to_float(v), most));
      }
      else v = std::ldexp(v, most);
      std::memcpy(p[0] + i * s[0], &v, sizeof v);
    }
  });
}

// A floating input and whole exponents: exact, also where 2^other is out of range.
Tensor scale_by_whole(const Tensor& self, const Tensor& other) {
  const Arg args[] = {self, other};
  const ResultMeta m = pointwise_infer(mul.record(), args);
  const Tensor out = m.strided ? empty_strided(m.sizes, m.strides, m.dtype, m.device)
                               : empty(m.sizes, m.dtype, m.device);
  if (m.device.is_meta()) return out;
  check(other.dtype() != DType::Bool, ErrorKind::NotImplemented,
        "\"ldexp_cpu_exp\" not implemented for 'Bool'");
  const Tensor x = to_dtype(self, m.dtype), e = to_dtype(other, DType::Int64);
  switch (m.dtype) {
    case DType::Half: scale_into<Half>(out, x, e); break;
    case DType::BFloat16: scale_into<BFloat16>(out, x, e); break;
    case DType::Float: scale_into<float>(out, x, e); break;
    default: scale_into<double>(out, x, e);
  }
  return out;
}
Scalar two_for(const Tensor& self) {
  return self.is_complex() ? Scalar(std::complex<double>(2)) : Scalar(2.0);
}

}  // namespace

const auto ldexp = define<Tensor(Tensor, Tensor)>("ldexp(Tensor self, Tensor other) -> Tensor")
  .doc(R"(
    The input times 2 to the power of `other`.

    >>> torch.ldexp(torch.tensor([1., 3.]), torch.tensor([2, 1]))
    tensor([4., 6.])
  )")
  .out({.inputs = true, .text = "ldexp can't be cast to the desired output type %G",
        .inplace_text = "ldexp can't be cast to the desired output type %G"})
  .forms(kAllForms)
  .produce([](const Tensor& self, const Tensor& other) {
    NoGrad quiet;
    if (self.is_floating() && !is_differentiable(other.dtype())) return scale_by_whole(self, other);
    // PyTorch has no power with a row of halves here, but one with a single half.
    const bool single = self.is_complex() && other.dim() == 0 && is_half(other.dtype());
    return self * pow_of_number(two_for(self), single ? to_dtype(other, DType::Float) : other);
  })
  .grad("self", "grad, other", [](const Tensor& grad, const Tensor& other) {
    // As in PyTorch the power is one of integers for whole exponents: 0 for negative ones.
    if (is_integral(other.dtype())) return grad * pow_of_number(Scalar(int64_t(2)), other);
    return grad * rl::conj(pow_of_number(Scalar(2.0), other));
  })
  .grad("other", "grad, result", [](const Tensor& grad, const Tensor& result) {
    return grad * rl::conj(result) * Scalar(M_LN2);
  });

}  // namespace rl::ops
