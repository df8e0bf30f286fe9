// Copies: clone, contiguous, copy_, conversions of dtype and device, fills, resizing.
#include <cmath>
#include <cstring>

#include "kernels/cast.h"
#include "kernels/copy.h"
#include "kernels/streaming.h"
#include "ops/copying.h"
#include "tensor/iterator.h"

namespace rl::ops {
namespace {

constexpr int64_t kBlock = 64;  // a transposed copy works on blocks that fit the cache
constexpr int64_t kStreamedRun = 1024;  // bytes: shorter runs leave too many lines in parts

bool is_transposed(const Tensor& to, const Tensor& from) {
  return to.dim() == 2 && to.dtype() == from.dtype() && to.is_contiguous() &&
         from.strides()[0] == 1 && from.strides()[1] >= from.sizes()[0] && from.numel() >= 4096;
}

void copy_transposed(const Tensor& to, const Tensor& from) {
  const int64_t item = to.element_size(), rows = to.sizes()[0], columns = to.sizes()[1];
  char* out = to.data();
  const char* in = from.data();
  const int64_t out_stride = to.strides()[0] * item, in_stride = from.strides()[1] * item;
  parallel_for(0, rows, std::max<int64_t>(kBlock, StridedLoop::kGrain / columns),
               [&](int64_t begin, int64_t end) {
    kernels::transpose_items(out + begin * out_stride, out_stride, in + begin * item, in_stride,
                             end - begin, columns, item);
  });
}

bool is_one_element(const Tensor& t) {  // perhaps seen at many places
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.sizes()[d] != 1 && t.strides()[d] != 0) return false;
  return true;
}

// `bits` is a value as the tensor's memory has it.
void fill_bits(const Tensor& t, const char* bits) {
  const int64_t item = t.element_size();
  if (t.is_contiguous() && t.numel() <= StridedLoop::kGrain) {
    kernels::fill_items(t.data(), item, t.numel(), bits, item);
    return;
  }
  const auto fill = [&](char* const* p, const int64_t* s, int64_t n) {
    kernels::fill_items(p[0], s[0], n, bits, item);
  };
  const bool large = kernels::worth_streaming(t.numel() * item);
  StridedLoop over(t.sizes());
  over.add(t);
  over.prepare();
  over.run_longest([&](char* const* p, const int64_t* s, int64_t n) {
    if (large && s[0] == item) kernels::in_streamed_tiles(fill, 0, p, s, n);
    else fill(p, s, n);
  });
}

void fill_value(const Tensor& t, const Scalar& value) {
  alignas(16) char bits[16];
  dispatch_stored(t.dtype(), [&](auto* p) {
    using T = pointee<decltype(p)>;
    *reinterpret_cast<T*>(bits) = value.to<T>();
  });
  fill_bits(t, bits);
}

}  // namespace

void check_fits(const Scalar& value, DType dtype) {
  const char* name = nullptr;
  double low = 0, high = 0;
  switch (dtype) {
    case DType::UInt8: name = "uint8_t", low = value.is_float() ? 0 : -255, high = 255; break;
    case DType::Int8: name = "int8_t", low = -128, high = 127; break;
    case DType::Int16: name = "int16_t", low = -32768, high = 32767; break;
    case DType::Int32: name = "int", low = -2147483648.0, high = 2147483647.0; break;
    case DType::Int64: name = "int64_t", low = -0x1p63, high = 0x1p63; break;
    case DType::UInt16: name = "uint16_t", low = value.is_float() ? 0 : -65535, high = 65535; break;
    case DType::UInt32:
      name = "uint32_t", low = value.is_float() ? 0 : -4294967295.0, high = 4294967295.0;
      break;
    case DType::UInt64: name = "uint64_t", low = value.is_float() ? 0 : -0x1p63, high = 0x1p64; break;
    case DType::Half: name = "at::Half", high = 65504; break;
    case DType::BFloat16: name = "at::BFloat16", high = 0x1.fep127; break;
    case DType::Float: name = "float", high = 0x1.fffffep127; break;
    case DType::Float8_e5m2: case DType::Float8_e5m2fnuz: name = c_name_of(dtype), high = 57344; break;
    case DType::Float8_e4m3fn: name = c_name_of(dtype), high = 448; break;
    case DType::Float8_e4m3fnuz: name = c_name_of(dtype), high = 240; break;
    case DType::Double: name = "double", high = 0x1.fffffffffffffp1023; break;
    default: return;
  }
  const double v = value.to_double();
  bool fits = !value.is_complex() || value.to_complex().imag() == 0;
  if (is_floating(dtype)) fits &= !std::isfinite(v) || std::abs(v) <= high;
  else fits &= v >= low && v <= high;
  check(fits, "value cannot be converted to type ", name, " without overflow");
}

void set_value(const Tensor& t, const Scalar& value) { fill_value(t, value); }
void set_zero(const Tensor& t) { fill_value(t, 0); }

void copy_data(const Tensor& to, const Tensor& from) {
  if (to.numel() == 0 || to.is_meta() || from.is_meta()) return;
  const bool flip = to.is_conj() != from.is_conj(), turn = to.is_negative() != from.is_negative();
  if (flip || turn) {
    NoGrad quiet;
    Tensor plain = from;
    if (from.is_conj()) plain = resolve_conj(plain);
    if (from.is_negative()) plain = resolve_neg(plain);
    Tensor target = alias(to);
    target->set(kConj, false);
    target->set(kNegative, false);
    if (to.is_conj()) plain = resolve_conj(ops::conj(plain));
    if (to.is_negative()) plain = neg(plain);
    copy_data(target, plain);
    return;
  }
  Tensor source = from;
  if (memory_meets(to, from) == Meets::Part) source = empty(from.sizes(), from.dtype()), copy_data(source, from);
  if (to.sizes() == source.sizes() && is_transposed(to, source)) {
    copy_transposed(to, source);
    return;
  }
  const int64_t item = to.element_size();
  const bool same = to.dtype() == source.dtype();
  const kernels::Cast cast = same ? nullptr : kernels::cast(source.dtype(), to.dtype());
  check(same || cast, ErrorKind::NotImplemented, "\"copy_kernel\" not implemented for '",
        type_name_of(to.dtype()), "'");
  if (to.numel() > 1 && is_one_element(source)) {
    alignas(16) char bits[16];
    if (cast) cast(bits, item, source.data(), 0, 1);
    else std::memcpy(bits, source.data(), size_t(item));
    fill_bits(to, bits);
    return;
  }
  StridedLoop over(to.sizes());
  over.add(to);
  over.add(source);
  over.prepare();
  const auto move = [&](char* const* p, const int64_t* s, int64_t n) {
    if (cast) cast(p[0], s[0], p[1], s[1], n);
    else kernels::copy_items(p[0], s[0], p[1], s[1], n, item);
  };
  const bool large = to.data() != source.data() &&
                     kernels::worth_streaming(to.numel() * (item + source.element_size()));
  if (same && over.has_short_rows()) {
    over.run_blocks([&](char* const* p, const int64_t* s, int64_t n, const int64_t* outer,
                        int64_t rows) {
      kernels::copy_grid({p[0], s[0], outer[0]}, {p[1], s[1], outer[1]}, rows, n, item);
    });
    return;
  }
  over.run_longest([&](char* const* p, const int64_t* s, int64_t n) {
    const bool streams = large && s[0] == item && n * item >= kStreamedRun;
    if (streams) kernels::in_streamed_tiles(move, 1, p, s, n);
    else move(p, s, n);
  });
}

namespace {

void infer_format(Infer& r, const Tensor& self, DType dtype, Device device, Format format) {
  const MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  if (f == MemoryFormat::Preserve) r.result(self.sizes(), dense_strides_like(self), dtype, device);
  else r.result(self.sizes(), format_strides(self.sizes(), f), dtype, device);
}

}  // namespace

const Op<Tensor(Tensor, Format)> clone = define<Tensor(Tensor, Format)>(
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor")
  .doc(R"(
    A copy with memory of its own; gradients flow through it.

    >>> x = torch.ones(2); y = x.clone(); y[0] = 5; x
    tensor([1., 1.])
  )")
  .forms(Function | Method)
  .linear()
  .infer([](Infer& r, const Tensor& self, Format format) {
    infer_format(r, self, self.dtype(), self.device(), format);
  })
  .kernel([](Tensor& result, const Tensor& self, Format) { copy_data(result, self); })
  .grad("self", "grad", [](const Tensor& grad) { return grad; });

const Op<Tensor(Tensor, Format)> contiguous = define<Tensor(Tensor, Format)>(
    "contiguous(Tensor self, *, MemoryFormat memory_format=0) -> Tensor")
  .doc(R"(
    The tensor itself where its memory is in row order, a copy in row order otherwise.

    >>> torch.zeros(2, 3).t().contiguous().stride()
    (2, 1)
  )")
  .forms(Method)
  .composite([](const Tensor& self, Format format) {
    const MemoryFormat f = format.value_or(MemoryFormat::Contiguous);
    check(f != MemoryFormat::Preserve, "preserve memory format is unsupported by the contiguous operator");
    return self.is_contiguous(f) ? self : clone(self, f);
  });

const Op<Tensor(Tensor, Tensor, bool)> copy_ = define<Tensor(Tensor, Tensor, bool)>(
    "copy_(Tensor(a!) self, Tensor other, bool non_blocking=False) -> Tensor(a!)")
  .doc(R"(
    Copies the values of `other`, broadcast and converted, into the tensor.

    >>> x = torch.zeros(2, 2); x.copy_(torch.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
  )")
  .node("CopyBackwards")
  .forms(Method)
  .number("other")
  .accepts_conj()
  .infer([](Infer&, const Tensor& self, const Tensor& src, bool) {
    const Dims sizes = broadcast(self.sizes(), src.sizes());
    check(Ints(sizes) == self.sizes(), "output with shape ", self.sizes(),
          " doesn't match the broadcast shape ", Ints(sizes));
    refuse_internal_overlap(self);
    refuse_partial_overlap(self, src);
    check(self.is_meta() || !src.is_meta(), ErrorKind::NotImplemented, "Cannot copy out of meta tensor; no data!");
  })
  .effect([](const Tensor& self, const Tensor& src, bool) { copy_data(self, src); })
  .grad("self", "grad", [](const Tensor& grad) { return zeros_like(grad); })
  .grad("other", "grad", [](const Tensor& grad) { return grad; });

const auto fill_tensor = define<Tensor(Tensor, Tensor)>(
    "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)")
  .doc("Sets all elements to the value of a 0-d tensor.")
  .node("FillBackward1")
  .forms(Method | Function)
  .accepts_conj()
  .infer([](Infer&, const Tensor& self, const Tensor& value) {
    refuse_internal_overlap(self);
    check(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
          value.dim(), " dimensions.");
  })
  .effect([](const Tensor& self, const Tensor& value) { copy_data(self, value); })
  .grad("self", "grad", [](const Tensor& grad) { return zeros_like(grad); })
  .grad("value", "grad", [](const Tensor& grad) { return sum(grad); });

const Op<Tensor(Tensor, Scalar)> fill_ = define<Tensor(Tensor, Scalar)>(
    "fill_(Tensor(a!) self, Scalar value) -> Tensor(a!)")
  .doc(R"(
    Sets all elements to `value`.

    >>> torch.empty(2).fill_(7.)
    tensor([7., 7.])
  )")
  .forms(Method | Function)
  .accepts_conj()
  .infer([](Infer&, const Tensor& self, const Scalar& value) { check_fits(value, self.dtype()); })
  .effect([](const Tensor& self, const Scalar& value) {
    fill_value(self, self.is_conj() ? Scalar(std::conj(value.to_complex()))
                                    : self.is_negative() ? -value : value);
  })
  .grad("self", "grad", [](const Tensor& grad) { return zeros_like(grad); });

const auto fill = define<Tensor(Tensor, Scalar)>("fill(Tensor self, Scalar value) -> Tensor")
  .doc(R"(
    A tensor of the input's sizes and dtype with one value in it.

    >>> torch.fill(torch.ones(2), 3)
    tensor([3., 3.])
  )")
  .forms(Function | Out)
  .infer([](Infer& r, const Tensor& self, const Scalar& value) {
    check_fits(value, self.dtype());
    r.like(self);
  })
  .kernel([](Tensor& result, const Tensor&, const Scalar& value) { fill_value(result, value); })
  .grad("self", "grad", [](const Tensor& grad) { return zeros_like(grad); });

const auto fill_from_tensor = define<Tensor(Tensor, Tensor)>(
    "fill.Tensor(Tensor self, Tensor value) -> Tensor")
  .doc("A tensor of the input's sizes and dtype with the value of a 0-d tensor in it.")
  .node("FillBackward1")
  .forms(Function | Out)
  .infer([](Infer& r, const Tensor& self, const Tensor& value) {
    check(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
          value.dim(), " dimensions.");
    r.like(self);
  })
  .kernel([](Tensor& result, const Tensor&, const Tensor& value) { copy_data(result, value); })
  .grad("self", "grad", [](const Tensor& grad) { return zeros_like(grad); })
  .grad("value", "grad", [](const Tensor& grad) { return sum(grad); });

const Op<Tensor(Tensor)> zero_ = define<Tensor(Tensor)>("zero_(Tensor(a!) self) -> Tensor(a!)")
  .doc(R"(
    Sets all elements to zero.

    >>> torch.ones(2).zero_()
    tensor([0., 0.])
  )")
  .forms(Method | Function)
  .accepts_conj()
  .infer([](Infer&, const Tensor&) {})
  .effect([](const Tensor& self) { fill_value(self, 0); })
  .grad("self", "grad", [](const Tensor& grad) { return zeros_like(grad); });

const auto to_copy_op = define<Tensor(Tensor, MaybeDType, MaybeDevice, Format)>(
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Device? device=None, "
    "MemoryFormat? memory_format=None) -> Tensor")
  .doc("A copy of another dtype, device or memory format: what Tensor.to makes.")
  .node("ToCopyBackward0")
  .forms(Hidden)
  .linear()
  .infer([](Infer& r, const Tensor& self, MaybeDType dtype, MaybeDevice device,
            Format format) {
    const Device to = device.value_or(self.device());
    check(to.is_meta() || !self.is_meta(), ErrorKind::NotImplemented, "Cannot copy out of meta tensor; no data!");
    infer_format(r, self, dtype.value_or(self.dtype()), to, format);
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeDType, MaybeDevice, Format) {
    copy_data(result, self);
  })
  .grad("self", "grad", [](const Tensor& grad) { return grad; });

Tensor to_copy(const Tensor& t, MaybeDType dtype, MaybeDevice device, Format format) {
  return to_copy_op(t, dtype, device, format);
}

Tensor to_dtype(const Tensor& t, DType dtype) {
  return t.dtype() == dtype ? t : Tensor(to_copy_op(t, dtype, std::nullopt, std::nullopt));
}

void resize_in_place(const Tensor& t, Ints sizes) {
  for (int64_t s : sizes) check(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", sizes);
  if (t.sizes() == sizes) return;
  const Dims strides = contiguous_strides(sizes);
  const size_t bytes = bytes_needed(sizes, strides, t.offset(), t.element_size());
  if (bytes > t->storage->nbytes()) {
    check(t->storage->resizable(), "Trying to resize storage that is not resizable");
    t->storage->resize(bytes);
  }
  t->set_layout(sizes, strides);
}

void resize_output(const Tensor& out, Ints sizes) {
  if (out.numel() != 0) {
    warn(text("An output with one or more elements was resized since it had shape ", out.sizes(),
              ", which does not match the required output shape ", sizes, ". This behavior is "
              "deprecated, and in a future PyTorch release outputs will not be resized unless they "
              "have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, "
              "to zero elements with t.resize_(0)."));
  }
  resize_in_place(out, sizes);
}

}  // namespace rl::ops
