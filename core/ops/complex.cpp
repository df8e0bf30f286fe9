// Complex numbers: the conjugate and negative views, real and imaginary parts.
#include "kernels/pointwise_table.h"
#include "ops/fft.h"
#include "tensor/iterator.h"

namespace rl::ops {

const Op<Tensor(Tensor)> conj_view = define<Tensor(Tensor)>("_conj(Tensor(a) self) -> Tensor(a)")
  .doc("The conjugate as a view that sets a bit; for complex tensors.")
  .node("ConjBackward0")
  .accepts_conj()
  .view([](const Tensor& self) {
    Tensor r = alias(self);
    r->set(kConj, !self.is_conj());
    return r;
  })
  .grad("self", "grad", [](const Tensor& grad) { return rl::conj(grad); });

const Op<Tensor(Tensor)> conj = define<Tensor(Tensor)>("conj(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    The complex conjugate, as a view; a real tensor is returned as it is.

    >>> torch.conj(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self) { return self.is_complex() ? Tensor(conj_view(self)) : self; });

const auto neg_view = define<Tensor(Tensor)>("_neg_view(Tensor(a) self) -> Tensor(a)")
  .doc("The negative as a view that sets a bit.")
  .node("NegViewBackward0")
  .accepts_conj()
  .view([](const Tensor& self) {
    Tensor r = alias(self);
    r->set(kNegative, !self.is_negative());
    return r;
  })
  .grad("self", "grad", [](const Tensor& grad) { return -grad; });

namespace {

// Writes the values that a conjugate or negative view stands for.
template <class T> void resolve(const Tensor& out, const Tensor& in, bool flip, bool turn) {
  StridedLoop over(out.sizes());
  over.add(out);
  over.add(in);
  over.prepare();
  over.run([&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      T v = *reinterpret_cast<const T*>(p[1] + i * s[1]);
      if constexpr (std::is_same_v<T, ComplexHalf>) {
        if (turn) v.real.bits ^= 0x8000;
        if (turn != flip) v.imag.bits ^= 0x8000;
      } else {
        if constexpr (!std::is_arithmetic_v<T>) {
          if (flip) v = std::conj(v);
        }
        if (turn) v = T(-v);
      }
      *reinterpret_cast<T*>(p[0] + i * s[0]) = v;
    }
  });
}

void resolve_into(const Tensor& out, const Tensor& in) {
  const bool flip = in.is_conj(), turn = in.is_negative();
  switch (in.dtype()) {
    case DType::ComplexHalf: return resolve<ComplexHalf>(out, in, flip, turn);
    case DType::ComplexFloat: return resolve<std::complex<float>>(out, in, flip, turn);
    case DType::ComplexDouble: return resolve<std::complex<double>>(out, in, flip, turn);
    case DType::Float: return resolve<float>(out, in, flip, turn);
    case DType::Double: return resolve<double>(out, in, flip, turn);
    default: fail(ErrorKind::Runtime, "a ", name_of(in.dtype()), " tensor has no such bits");
  }
}

}  // namespace

const auto resolve_physical = define<Tensor(Tensor)>("_resolve_bits(Tensor self) -> Tensor")
  .doc("A copy whose conjugate and negative bits are carried out.")
  .node("CloneBackward0")
  .forms(Hidden)
  .accepts_conj()
  .infer([](Infer& r, const Tensor& self) { r.like(self); })
  .kernel([](Tensor& result, const Tensor& self) { resolve_into(result, self); })
  .grad("self", "grad", [](const Tensor& grad) { return grad; });

const Op<Tensor(Tensor)> resolve_conj = define<Tensor(Tensor)>(
    "resolve_conj(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    A copy with the conjugation carried out where the conjugate bit is set, else the tensor itself.

    >>> torch.tensor([1 + 2j]).conj().resolve_conj().is_conj()
    False
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self) {
    return self.is_conj() ? Tensor(resolve_physical(self)) : self;
  });

const auto conj_values = define<Tensor(Tensor)>("_conj_physical(Tensor self) -> Tensor")
  .doc("The conjugate with its values carried out.")
  .node("ConjPhysicalBackward0")
  .forms(Hidden | Inplace)
  .pointwise(kernels::conj_physical)
  .grad("self", "grad", [](const Tensor& grad) { return rl::conj(grad); });

const Op<Tensor(Tensor)> conj_physical = define<Tensor(Tensor)>(
    "conj_physical(Tensor self) -> Tensor")
  .doc(R"(
    The complex conjugate with its values carried out; a real tensor is returned as it is.

    >>> torch.conj_physical(torch.tensor([1 + 2j])).is_conj()
    False
  )")
  .out({.dtype = OutDType::Exact, .inputs = true,
        .text = "Found dtype %G but expected %W"})
  .forms(Function | Method | Inplace | Out)
  .composite([](const Tensor& self) {
    return self.is_complex() ? Tensor(conj_values(self)) : self;
  });

const Op<Tensor(Tensor)> resolve_neg = define<Tensor(Tensor)>(
    "resolve_neg(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    A copy with the negation carried out where the negative bit is set, else the tensor itself.

    >>> torch.tensor([1 + 2j]).conj().imag.resolve_neg()
    tensor([-2.])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self) {
    return self.is_negative() ? Tensor(resolve_physical(self)) : self;
  });

const Op<Tensor(Tensor)> view_as_real = define<Tensor(Tensor)>(
    "view_as_real(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    A complex tensor's memory as a real tensor with a last dimension of size two.

    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
  )")
  .forms(Function)
  .accepts_conj()
  .view([](const Tensor& self) {
    check(self.is_complex(), "view_as_real is only supported for complex tensors");
    check(!self.is_conj(),
          "view_as_real doesn't work on unresolved conjugated tensors.  To resolve "
          "the conjugate tensor so you can view it as real, use self.resolve_conj(); however, be "
          "warned that the resulting tensor will NOT alias the original.");
    Dims sizes(self.sizes()), strides;
    for (int64_t s : self.strides()) strides.push_back(2 * s);
    sizes.push_back(2);
    strides.push_back(1);
    Tensor r = alias(self);
    r->dtype = real_of(self.dtype());
    r->offset = 2 * self.offset();
    r->set_layout(sizes, strides);
    return r;
  })
  .grad("self", "grad", [](const Tensor& grad) { return view_as_complex(contiguous(grad)); });

const Op<Tensor(Tensor)> view_as_complex = define<Tensor(Tensor)>(
    "view_as_complex(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    A real tensor whose last dimension has size two as a complex tensor over the same memory.

    >>> torch.view_as_complex(torch.tensor([[1., 2.]]))
    tensor([1.+2.j])
  )")
  .forms(Function)
  .autocast(Autocast::Float)
  .view([](const Tensor& self) {
    check(self.dtype() == DType::Float || self.dtype() == DType::Double ||
              self.dtype() == DType::Half,
          "view_as_complex is only supported for half, float and double tensors, but got a "
          "tensor of scalar type: ", type_name_of(self.dtype()));
    check(self.dim() != 0, "Input tensor must have one or more dimensions");
    check(self.sizes().back() == 2, "Tensor must have a last dimension of size 2");
    check(self.strides().back() == 1, "Tensor must have a last dimension with stride 1");
    check(self.offset() % 2 == 0, "Tensor must have a storage_offset divisible by 2");
    Dims sizes, strides;
    for (int64_t i = 0; i + 1 < self.dim(); ++i) {
      check(self.strides()[i] % 2 == 0,
            "Tensor must have a stride divisible by 2 for all but last dimension");
      sizes.push_back(self.sizes()[i]);
      strides.push_back(self.strides()[i] / 2);
    }
    Tensor r = alias(self);
    r->dtype = complex_of(self.dtype());
    r->offset = self.offset() / 2;
    r->set_layout(sizes, strides);
    return r;
  })
  .grad("self", "grad", [](const Tensor& grad) { return view_as_real(resolve_conj(grad)); });

const Op<Tensor(Tensor)> real = define<Tensor(Tensor)>("real(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    The real part, as a view.

    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
  )")
  .forms(Function)
  .composite([](const Tensor& self) {
    if (!self.is_complex()) return self;
    const Tensor plain = self.is_conj() ? Tensor(conj_view(self)) : self;
    return Tensor(select(view_as_real(plain), -1, 0));
  });

const Op<Tensor(Tensor)> imag = define<Tensor(Tensor)>("imag(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    The imaginary part, as a view.

    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
  )")
  .forms(Function)
  .composite([](const Tensor& self) {
    check(self.is_complex(), "imag is not implemented for tensors with non-complex dtypes.");
    const bool flip = self.is_conj();
    const Tensor plain = flip ? Tensor(conj_view(self)) : self;
    const Tensor part = select(view_as_real(plain), -1, 1);
    return flip ? Tensor(neg_view(part)) : part;
  });

}  // namespace rl::ops
