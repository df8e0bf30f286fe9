// Tensors made from no tensor: empty, zeros, ones, full, ranges; and their like.
#include "kernels/vectorised.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "tensor/iterator.h"

namespace rl::ops {
namespace {

void infer_sizes(Infer& r, Ints size, DType dtype, MaybeDevice device) {
  int64_t bytes = item_size(dtype);
  bool over = false, none = false;
  for (int64_t s : size) {
    none |= s == 0;
    over |= s > 0 && __builtin_mul_overflow(bytes, s, &bytes);
  }
  check(!over || none, "Storage size calculation overflowed with sizes=", size);
  r.result(size, dtype, device_or_cpu(device));
}

void infer_like(Infer& r, const Tensor& self, MaybeDType dtype, MaybeDevice device, Format format) {
  const MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  const Device to = device ? device_or_cpu(device) : self.device();
  r.result(self.sizes(), f == MemoryFormat::Preserve ? dense_strides_like(self)
                                                     : format_strides(self.sizes(), f),
           dtype.value_or(self.dtype()), to);
}

}  // namespace

Device device_or_cpu(MaybeDevice d) {
  if (d && d->type == DeviceType::CUDA) {
    fail(ErrorKind::Assertion, "Torch not compiled with CUDA enabled");
  }
  check(!d || d->is_cpu() || d->is_meta(), "PyTorch is not linked with support for this device");
  return d && d->is_meta() ? *d : Device{};
}

#define RL_OPTIONS "ScalarType? dtype=None, Device? device=None"

const auto empty_op = define<Tensor(Ints, MaybeDType, MaybeDevice, Format)>(
    "empty(int[] size, *, " RL_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor")
  .doc(R"(
    A tensor of the given sizes whose values are whatever the memory held.

    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
  )")
  .forms(Function | Out)
  .infer([](Infer& r, Ints size, MaybeDType dtype, MaybeDevice device, Format format) {
    const DType t = dtype.value_or(default_dtype());
    if (format && *format != MemoryFormat::Contiguous) {
      check(*format != MemoryFormat::Preserve, "unsupported memory format option Preserve");
      r.result(size, format_strides(size, *format), t, device_or_cpu(device));
    } else {
      infer_sizes(r, size, t, device);
    }
  })
  .factory([](Tensor&, Ints, MaybeDType, MaybeDevice, Format) {});

const auto zeros_op = define<Tensor(Ints, MaybeDType, MaybeDevice)>(
    "zeros(int[] size, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    A tensor of zeros.

    >>> torch.zeros(2)
    tensor([0., 0.])
  )")
  .out({.internal = true, .quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, Ints size, MaybeDType dtype, MaybeDevice device) {
    for (int64_t s : size) check(s >= 0, "zeros: Dimension size must be non-negative.");
    infer_sizes(r, size, dtype.value_or(default_dtype()), device);
  })
  .factory([](Tensor& result, Ints, MaybeDType, MaybeDevice) { set_value(result, 0); });

const auto ones_op = define<Tensor(Ints, MaybeDType, MaybeDevice)>(
    "ones(int[] size, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    A tensor of ones.

    >>> torch.ones(2)
    tensor([1., 1.])
  )")
  .out({.internal = true, .quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, Ints size, MaybeDType dtype, MaybeDevice device) {
    infer_sizes(r, size, dtype.value_or(default_dtype()), device);
  })
  .factory([](Tensor& result, Ints, MaybeDType, MaybeDevice) { set_value(result, 1); });

const auto full_op = define<Tensor(Ints, Scalar, MaybeDType, MaybeDevice)>(
    "full(int[] size, Scalar fill_value, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    A tensor filled with one value; its dtype follows from the value where none is given.

    >>> torch.full((2,), 7)
    tensor([7, 7])
  )")
  .out({.internal = true, .quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, Ints size, const Scalar& value, MaybeDType dtype, MaybeDevice device) {
    const DType t = value.is_float() ? default_dtype()
                  : value.is_complex() ? complex_of(default_dtype()) : value.dtype();
    check_fits(value, dtype.value_or(t));
    infer_sizes(r, size, dtype.value_or(t), device);
  })
  .factory([](Tensor& result, Ints, const Scalar& value, MaybeDType, MaybeDevice) {
    set_value(result, value);
  });

const auto empty_like = define<Tensor(Tensor, MaybeDType, MaybeDevice, Format)>(
    "empty_like(Tensor self, *, " RL_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor")
  .doc(R"(
    An uninitialised tensor with the sizes, dtype and order of dimensions of another.

    >>> torch.empty_like(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
  )")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, MaybeDType dtype, MaybeDevice device, Format format) {
    infer_like(r, self, dtype, device, format);
  })
  .factory([](Tensor&, const Tensor&, MaybeDType, MaybeDevice, Format) {});

const auto zeros_like_op = define<Tensor(Tensor, MaybeDType, MaybeDevice, Format)>(
    "zeros_like(Tensor self, *, " RL_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor")
  .doc(R"(
    Zeros with the sizes, dtype and order of dimensions of another tensor.

    >>> torch.zeros_like(torch.ones(2))
    tensor([0., 0.])
  )")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, MaybeDType dtype, MaybeDevice device, Format format) {
    infer_like(r, self, dtype, device, format);
  })
  .factory([](Tensor& result, const Tensor&, MaybeDType, MaybeDevice, Format) {
    set_value(result, 0);
  });

const auto ones_like_op = define<Tensor(Tensor, MaybeDType, MaybeDevice, Format)>(
    "ones_like(Tensor self, *, " RL_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor")
  .doc(R"(
    Ones with the sizes, dtype and order of dimensions of another tensor.

    >>> torch.ones_like(torch.zeros(2))
    tensor([1., 1.])
  )")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, MaybeDType dtype, MaybeDevice device, Format format) {
    infer_like(r, self, dtype, device, format);
  })
  .factory([](Tensor& result, const Tensor&, MaybeDType, MaybeDevice, Format) {
    set_value(result, 1);
  });

namespace {

void infer_arange(Infer& r, const Scalar& start, const Scalar& end, const Scalar& step,
                  MaybeDType dtype, MaybeDevice device) {
  check(step.to_double() != 0, "step must be nonzero");
  check(std::isfinite(start.to_double()) && std::isfinite(end.to_double()),
        "unsupported range: ", start.to_double(), " -> ", end.to_double());
  check((step.to_double() > 0) == (end.to_double() >= start.to_double()) ||
            end.to_double() == start.to_double(),
        "upper bound and lower bound inconsistent with step sign");
  const bool integral = !start.is_float() && !end.is_float() && !step.is_float();
  const DType t = dtype.value_or(integral ? DType::Int64 : default_dtype());
  check(!is_complex(t) && t != DType::Bool, ErrorKind::NotImplemented,
        "\"arange_cpu\" not implemented for '", type_name_of(t), "'");
  check(t != DType::Int64 || step.to_int() != 0, ErrorKind::Value, "step must be nonzero");
  // In 64 bits the sum wraps around, as in PyTorch; the least number over -1 would be a trap.
  const auto steps = [by = step.to_int()](int64_t from, int64_t to) {
    const uint64_t round_up = by > 0 ? uint64_t(-1) : 1;
    return double(__int128(int64_t(uint64_t(to) - uint64_t(from) + uint64_t(by) + round_up)) / by);
  };
  const double count = t == DType::Int64 || (is_integral(t) && integral)
      ? steps(start.to_int(), end.to_int())
      : std::ceil((end.to_double() - start.to_double()) / step.to_double());
  check(count >= 0 && count <= 9e18, "invalid size, possible overflow?");
  infer_sizes(r, {int64_t(count)}, t, device);
}
template <class T, class S>
RL_VECTORISED void fill_steps(T* out, S start, S step, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) out[i] = T(start + S(i) * step);
}
void fill_arange(const Tensor& result, const Scalar& start, const Scalar& step) {
  dispatch(result.dtype(), [&](auto* p) {
    using T = pointee<decltype(p)>;
    T* const out = result.ptr<T>();
    parallel_for(0, result.numel(), StridedLoop::kGrain, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        fill_steps(out, uint64_t(start.to_int()), uint64_t(step.to_int()), begin, end);
      } else if constexpr (std::is_floating_point_v<T>) {
        fill_steps(out, start.to_double(), step.to_double(), begin, end);
      } else {
        const double a = start.to_double(), s = step.to_double();
        for (int64_t i = begin; i < end; ++i) out[i] = Scalar(a + double(i) * s).to<T>();
      }
    });
  });
}

}  // namespace

const auto arange_op = define<Tensor(Scalar, Scalar, Scalar, MaybeDType, MaybeDevice)>(
    "arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " RL_OPTIONS ") -> Tensor")
  .doc("Numbers from `start` to before `end` in steps of `step`.")
  .forms(Function | Out)
  .infer([](Infer& r, const Scalar& start, const Scalar& end, const Scalar& step, MaybeDType dtype,
            MaybeDevice device) { infer_arange(r, start, end, step, dtype, device); })
  .factory([](Tensor& result, const Scalar& start, const Scalar&, const Scalar& step, MaybeDType,
              MaybeDevice) { fill_arange(result, start, step); });

const auto arange_end = define<Tensor(Scalar, MaybeDType, MaybeDevice)>(
    "arange(Scalar end, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    Numbers from `start` (0) to before `end` in steps of `step` (1).

    >>> torch.arange(1, 7, 2)
    tensor([1, 3, 5])
  )")
  .forms(Function | Out)
  .infer([](Infer& r, const Scalar& end, MaybeDType dtype, MaybeDevice device) {
    infer_arange(r, 0, end, 1, dtype, device);
  })
  .factory([](Tensor& result, const Scalar&, MaybeDType, MaybeDevice) {
    fill_arange(result, 0, 1);
  });

const auto full_like = define<Tensor(Tensor, Scalar, MaybeDType, MaybeDevice, Format)>(
    "full_like(Tensor self, Scalar fill_value, *, " RL_OPTIONS
    ", MemoryFormat? memory_format=None) -> Tensor")
  .doc(R"(
    One value, with the sizes, dtype and order of dimensions of another tensor.

    >>> torch.full_like(torch.zeros(2), 7)
    tensor([7., 7.])
  )")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, const Scalar& value, MaybeDType dtype, MaybeDevice device,
            Format format) {
    check_fits(value, dtype.value_or(self.dtype()));
    infer_like(r, self, dtype, device, format);
  })
  .factory([](Tensor& result, const Tensor&, const Scalar& value, MaybeDType, MaybeDevice, Format) {
    set_value(result, value);
  });

const auto empty_strided_op = define<Tensor(Ints, Ints, MaybeDType, MaybeDevice)>(
    "empty_strided(int[] size, int[] stride, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    An uninitialised tensor with the given sizes and strides.

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
  )")
  .forms(Function)
  .infer([](Infer& r, Ints size, Ints stride, MaybeDType dtype, MaybeDevice device) {
    check(size.size() == stride.size(), "dimensionality of sizes (", int64_t(size.size()),
          ") must match dimensionality of strides (", int64_t(stride.size()), ")");
    for (int64_t s : size) {
      check(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", size);
    }
    for (int64_t s : stride) {
      check(s >= 0, "Storage size calculation overflowed with sizes=", size, " and strides=",
            stride);
    }
    r.result(size, stride, dtype.value_or(default_dtype()), device_or_cpu(device));
  })
  .factory([](Tensor&, Ints, Ints, MaybeDType, MaybeDevice) {});

const auto empty_permuted = define<Tensor(Ints, Ints, MaybeDType, MaybeDevice)>(
    "empty_permuted(int[] size, int[] physical_layout, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    An uninitialised dense tensor whose dimensions lie in memory in the given order.

    >>> torch.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
  )")
  .forms(Function)
  .infer([](Infer& r, Ints size, Ints order, MaybeDType dtype, MaybeDevice device) {
    check(size.size() == order.size(),
          "Number of dimensions in size does not match the length of the physical_layout; i.e. "
          "len(size) = ", int64_t(size.size()), " is not equal to len(physical_layout) = ",
          int64_t(order.size()));
    Dims strides, seen;
    strides.resize(size.size(), 0);
    seen.resize(size.size(), 0);
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0;) {
      check(order[i] >= 0 && order[i] < int64_t(size.size()),
            "Dimension out of range (expected to be between 0 and ", int64_t(size.size()) - 1,
            ", but got ", order[i], " at index ", int64_t(i),
            ").  NB: negative dims not currently supported; file an issue if you want it.");
      check(!seen[size_t(order[i])], "Duplicate dim not allowed");
      seen[size_t(order[i])] = 1;
      strides[size_t(order[i])] = step;
      step *= std::max<int64_t>(size[size_t(order[i])], 1);
    }
    r.result(size, strides, dtype.value_or(default_dtype()), device_or_cpu(device));
  })
  .factory([](Tensor&, Ints, Ints, MaybeDType, MaybeDevice) {});

const auto scalar_tensor_op = define<Tensor(Scalar, MaybeDType, MaybeDevice)>(
    "scalar_tensor(Scalar s, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    A 0-d tensor of one number, of the default dtype unless another is given.

    >>> torch.scalar_tensor(2)
    tensor(2.)
  )")
  .forms(Function)
  .infer([](Infer& r, const Scalar&, MaybeDType dtype, MaybeDevice device) {
    infer_sizes(r, {}, dtype.value_or(default_dtype()), device);
  })
  .factory([](Tensor& result, const Scalar& s, MaybeDType, MaybeDevice) { set_value(result, s); });

// ---- Methods: dtype and device of the tensor they are called on

const auto new_empty = define<Tensor(Tensor, Ints, MaybeDType, MaybeDevice)>(
    "new_empty(Tensor self, int[] size, *, " RL_OPTIONS ") -> Tensor")
  .doc("An uninitialised tensor of this one's dtype and device.")
  .forms(Method)
  .infer([](Infer& r, const Tensor& self, Ints size, MaybeDType dtype, MaybeDevice device) {
    infer_sizes(r, size, dtype.value_or(self.dtype()), device ? device : self.device());
  })
  .factory([](Tensor&, const Tensor&, Ints, MaybeDType, MaybeDevice) {});

const Op<Tensor(Tensor, Ints, Ints, MaybeDType, MaybeDevice)> new_empty_strided =
    define<Tensor(Tensor, Ints, Ints, MaybeDType, MaybeDevice)>(
    "new_empty_strided(Tensor self, int[] size, int[] stride, *, " RL_OPTIONS ") -> Tensor")
  .doc("An uninitialised tensor with the given strides, of this one's dtype and device.")
  .forms(Method)
  .infer([](Infer& r, const Tensor& self, Ints size, Ints stride, MaybeDType dtype,
            MaybeDevice device) {
    check(size.size() == stride.size(), "dimensionality of sizes (", int64_t(size.size()),
          ") must match dimensionality of strides (", int64_t(stride.size()), ")");
    r.result(size, stride, dtype.value_or(self.dtype()),
             device ? device_or_cpu(device) : self.device());
  })
  .factory([](Tensor&, const Tensor&, Ints, Ints, MaybeDType, MaybeDevice) {});

const auto new_zeros = define<Tensor(Tensor, Ints, MaybeDType, MaybeDevice)>(
    "new_zeros(Tensor self, int[] size, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    Zeros of this tensor's dtype and device.

    >>> torch.tensor([1]).new_zeros(2)
    tensor([0, 0])
  )")
  .forms(Method)
  .infer([](Infer& r, const Tensor& self, Ints size, MaybeDType dtype, MaybeDevice device) {
    infer_sizes(r, size, dtype.value_or(self.dtype()), device ? device : self.device());
  })
  .factory([](Tensor& result, const Tensor&, Ints, MaybeDType, MaybeDevice) {
    set_value(result, 0);
  });

const auto new_ones = define<Tensor(Tensor, Ints, MaybeDType, MaybeDevice)>(
    "new_ones(Tensor self, int[] size, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    Ones of this tensor's dtype and device.

    >>> torch.tensor([1]).new_ones(2)
    tensor([1, 1])
  )")
  .forms(Method)
  .infer([](Infer& r, const Tensor& self, Ints size, MaybeDType dtype, MaybeDevice device) {
    infer_sizes(r, size, dtype.value_or(self.dtype()), device ? device : self.device());
  })
  .factory([](Tensor& result, const Tensor&, Ints, MaybeDType, MaybeDevice) {
    set_value(result, 1);
  });

const auto new_full = define<Tensor(Tensor, Ints, Scalar, MaybeDType, MaybeDevice)>(
    "new_full(Tensor self, int[] size, Scalar fill_value, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    One value, of this tensor's dtype and device.

    >>> torch.tensor([1]).new_full((2,), 7)
    tensor([7, 7])
  )")
  .forms(Method)
  .infer([](Infer& r, const Tensor& self, Ints size, const Scalar& value, MaybeDType dtype,
            MaybeDevice device) {
    check_fits(value, dtype.value_or(self.dtype()));
    infer_sizes(r, size, dtype.value_or(self.dtype()), device ? device : self.device());
  })
  .factory([](Tensor& result, const Tensor&, Ints, const Scalar& value, MaybeDType, MaybeDevice) {
    set_value(result, value);
  });

Tensor zeros(Ints sizes, DType dtype, Device device) { return zeros_op(sizes, dtype, device); }
Tensor zeros_like(const Tensor& t) { return zeros_like_op(t); }
Tensor ones_like(const Tensor& t) { return ones_like_op(t); }
Tensor full(Ints sizes, const Scalar& value, DType dtype, Device device) {
  return full_op(sizes, value, dtype, device);
}
Tensor arange(int64_t end, DType dtype) { return arange_op(0, end, 1, dtype); }

}  // namespace rl::ops
