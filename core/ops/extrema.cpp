// Largest and smallest elements, their places, and the gradients of what picks elements.
#include "ops/expect.h"
#include "ops/reduce.h"

namespace rl::ops {
namespace {

using Pair = std::pair<Tensor, Tensor>;

}  // namespace

Tensor selection_backward(const Tensor& grad, int64_t dim, const Tensor& indices, Ints sizes,
                          bool keepdim) {
  const bool cut = !keepdim && !sizes.empty();
  const int64_t d = wrap_dim(dim, int64_t(sizes.size()));
  const Tensor whole = zeros(sizes, grad.dtype(), grad.device());
  scatter.in_place(whole, d, cut ? Tensor(unsqueeze(indices, d)) : indices,
                   cut ? Tensor(unsqueeze(grad, d)) : grad);
  return whole;
}

namespace {

template <class T> bool same_value(T a, T b, bool nan) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return same_value(to_float(a), to_float(b), nan);
  } else {
    return a == b || (nan && a != a && b != b);
  }
}
void mark_equal(const Tensor& mask, const Tensor& self, const Tensor& extreme, bool nan) {
  dispatch(self.dtype(), [&](auto* none) {
    using T = pointee<decltype(none)>;
    StridedLoop over(self.sizes());
    over.add(mask);
    over.add(self);
    over.add(extreme);
    over.prepare();
    over.run([&](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        *reinterpret_cast<bool*>(p[0] + i * s[0]) =
            same_value(*reinterpret_cast<const T*>(p[1] + i * s[1]),
                       *reinterpret_cast<const T*>(p[2] + i * s[2]), nan);
      }
    });
  });
}
void share_out(const Tensor& shares, const Tensor& mask, const Tensor& count) {
  dispatch(shares.dtype(), [&](auto* none) {
    using T = pointee<decltype(none)>;
    StridedLoop over(shares.sizes());
    over.add(shares);
    over.add(mask);
    over.add(count);
    over.prepare();
    over.run([&](char* const* p, const int64_t* s, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const bool equal = *(p[1] + i * s[1]) != 0;
        const double all = double(*reinterpret_cast<const int64_t*>(p[2] + i * s[2]));
        *reinterpret_cast<T*>(p[0] + i * s[0]) = Scalar(double(equal) / all).to<T>();
      }
    });
  });
}

}  // namespace

// The gradient of an extreme is shared out evenly between the elements equal to it.
const Op<Tensor(Tensor, Tensor, Ints, bool)> equal_shares =
    define<Tensor(Tensor, Tensor, Ints, bool)>(
    "_equal_shares(Tensor self, Tensor extreme, int[] dim, bool nan) -> Tensor")
  .doc("One over how many elements along `dim` equal `extreme`, for those that do; 0 elsewhere. "
       "NaN equals NaN only if `nan`: without, no element shares and all are 0 / 0.")
  .forms(Hidden)
  .infer([](Infer& r, const Tensor& self, const Tensor& extreme, Ints dim, bool) {
    const uint64_t gone = reduced_mask(dim, self.dim());
    const bool kept = extreme.sizes() == Ints(reduced_sizes(self.sizes(), gone, true));
    expect(kept || extreme.sizes() == Ints(reduced_sizes(self.sizes(), gone, false)),
           "_equal_shares", "the extreme has other sizes");
    expect(extreme.dtype() == self.dtype(), "_equal_shares", "the extreme has another dtype");
    if (dim.empty()) r.result(self.sizes(), self.dtype(), self.device());
    else r.like(self);
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& extreme, Ints dim, bool nan) {
    const uint64_t gone = reduced_mask(dim, self.dim());
    const Tensor mask = empty_strided(self.sizes(), result.strides(), DType::Bool);
    const Tensor count = empty(reduced_sizes(self.sizes(), gone, true), DType::Int64);
    mark_equal(mask, self, keeping_dims(extreme, self.sizes(), gone), nan);
    fold_into(count, mask, gone, Fold::CountNonzero);
    share_out(result, mask, count);
  });

Tensor share_backward(const Tensor& grad, const Tensor& self, const Tensor& result, Ints dim,
                      bool keepdim, bool nan) {
  const Tensor shares = equal_shares(detached(self), detached(result), dim, nan);
  return spread(grad, self.sizes(), reduced_mask(dim, self.dim()), keepdim) * shares;
}

namespace {

void check_any_dim(const char* name, const Tensor& self) {
  check(self.numel() != 0, name, "(): Expected reduction dim to be specified for input.numel() == "
        "0. Specify the reduction dim with the 'dim' argument.");
}
void check_dim_size(const char* name, const Tensor& self, int64_t dim) {
  if (self.dim() == 0) return;
  check(self.sizes()[dim] != 0, ErrorKind::Index, name, "(): Expected reduction dim ", dim,
        " to have non-zero size.");
}
void refuse_complex(const char* kernel, const Tensor& self) {
  check(!self.is_complex(), ErrorKind::NotImplemented, "\"", kernel, "\" not implemented for '",
        type_name_of(self.dtype()), "'");
}

void infer_all(Infer& r, const char* name, const Tensor& self) {
  check_any_dim(name, self);
  r.result({}, self.dtype(), self.device());
}
void infer_indexed(Infer& r, const char* name, const Tensor& self, int64_t dim, bool keepdim) {
  const int64_t d = wrap_dim(dim, self.dim());
  check_dim_size(name, self, d);
  check(!self.is_complex(), name, "(): does not support complex input");
  const Dims sizes = reduced_sizes(self.sizes(), uint64_t(1) << d, keepdim);
  r.result(sizes, self.dtype(), self.device());
  r.result(sizes, DType::Int64, self.device());
}
// out gets the elements of self at `indices` along a dimension.
void pick_along(const Tensor& out, const Tensor& self, int64_t dim, const Tensor& indices) {
  Dims strides(self.strides());
  const int64_t item = self.element_size(), step = strides[dim] * item;
  strides[dim] = 0;
  StridedLoop over(indices.sizes());
  over.add(out);
  over.add(indices);
  over.add(self.data(), strides, item);
  over.prepare();
  over.run([&](char* const* p, const int64_t* s, int64_t n) {
    dispatch_stored(self.dtype(), [&](auto* none) {
      using T = pointee<decltype(none)>;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = *reinterpret_cast<const int64_t*>(p[1] + i * s[1]);
        std::memcpy(p[0] + i * s[0], p[2] + i * s[2] + at * step, sizeof(T));
      }
    });
  });
}
void indexed_into(const Tensor& values, const Tensor& indices, const Tensor& self, int64_t dim,
                  bool largest) {
  const int64_t d = wrap_dim(dim, self.dim());
  if (self.dim() == 0) {
    copy_data(values, self);
    set_zero(indices);
    return;
  }
  arg_extreme_into(indices, self, d, largest);
  const uint64_t mask = uint64_t(1) << d;
  pick_along(keeping_dims(values, self.sizes(), mask), self, d,
             keeping_dims(indices, self.sizes(), mask));
}
void infer_values(Infer& r, const char* name, const Tensor& self, Ints dim, bool keepdim) {
  const uint64_t mask = reduced_mask(dim, self.dim());
  if (dim.empty()) {
    check_any_dim(name, self);
  } else {
    for (int64_t d : dim) check_dim_size(name, self, wrap_dim(d, self.dim()));
  }
  r.result(reduced_sizes(self.sizes(), mask, keepdim), self.dtype(), self.device());
}
void values_into(const Tensor& out, const char* kernel, const Tensor& self, Ints dim, Fold fold) {
  refuse_complex(kernel, self);
  fold_into(out, self, reduced_mask(dim, self.dim()), fold);
}

constexpr OutRule kOfAllOut{
    .text = "Expected canCast( typeMetaToScalarType(self.dtype()), "
            "typeMetaToScalarType(out.dtype())) to be true, but got false.  "
            "(Could this error message be improved?  If so, please report an "
            "enhancement request to PyTorch.)"};
constexpr OutRule kValuesOut{
    .dtype = OutDType::Exact, .internal = true,
    .text = "Expected the dtype for input and out to match, but got %W for "
            "input's dtype and %G for out's dtype."};

}  // namespace

const auto max = define<Tensor(Tensor)>("max(Tensor self) -> Tensor")
  .doc(R"(
    The largest element; with `dim`, the largest along it and their first indices; with another
    tensor, the larger of the two, element by element. NaN counts as largest.

    >>> torch.max(torch.tensor([1., 3., 2.]))
    tensor(3.)
  )")
  .node("MaxBackward1")
  .out(kOfAllOut)
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self) { infer_all(r, "max", self); })
  .kernel([](Tensor& result, const Tensor& self) {
    values_into(result, "max_all", self, {}, Fold::Max);
  })
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    return share_backward(grad, self, result, {}, false);
  });

const Op<Pair(Tensor, int64_t, bool)> max_dim = define<Pair(Tensor, int64_t, bool)>(
    "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
  .node("MaxBackward0")
  .forms(Function | Method | Out)
  .exact_out()
  .nondiff("indices")
  .infer([](Infer& r, const Tensor& self, int64_t dim, bool keepdim) {
    infer_indexed(r, "max", self, dim, keepdim);
  })
  .kernel([](Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, bool) {
    indexed_into(values, indices, self, dim, true);
  })
  .grad("self", "grad, self.sizes, dim, indices, keepdim",
        [](const Tensor& grad, Ints sizes, int64_t dim, const Tensor& indices, bool keepdim) {
    return selection_backward(grad, dim, indices, sizes, keepdim);
  });

const auto max_other = define<Tensor(Tensor, Tensor)>(
    "max.other(Tensor self, Tensor other) -> Tensor")
  .out({.inputs = true})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, const Tensor& other) { return Tensor(maximum(self, other)); });

const auto min = define<Tensor(Tensor)>("min(Tensor self) -> Tensor")
  .doc(R"(
    The smallest element; with `dim`, the smallest along it and their first indices; with another
    tensor, the smaller of the two, element by element. NaN counts as smallest.

    >>> torch.min(torch.tensor([1., 3., 2.]))
    tensor(1.)
  )")
  .node("MinBackward1")
  .out(kOfAllOut)
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self) { infer_all(r, "min", self); })
  .kernel([](Tensor& result, const Tensor& self) {
    values_into(result, "min_all", self, {}, Fold::Min);
  })
  .grad("self", "grad, self, result",
        [](const Tensor& grad, const Tensor& self, const Tensor& result) {
    return share_backward(grad, self, result, {}, false);
  });

const Op<Pair(Tensor, int64_t, bool)> min_dim = define<Pair(Tensor, int64_t, bool)>(
    "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
  .node("MinBackward0")
  .forms(Function | Method | Out)
  .exact_out()
  .nondiff("indices")
  .infer([](Infer& r, const Tensor& self, int64_t dim, bool keepdim) {
    infer_indexed(r, "min", self, dim, keepdim);
  })
  .kernel([](Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, bool) {
    indexed_into(values, indices, self, dim, false);
  })
  .grad("self", "grad, self.sizes, dim, indices, keepdim",
        [](const Tensor& grad, Ints sizes, int64_t dim, const Tensor& indices, bool keepdim) {
    return selection_backward(grad, dim, indices, sizes, keepdim);
  });

const auto min_other = define<Tensor(Tensor, Tensor)>(
    "min.other(Tensor self, Tensor other) -> Tensor")
  .out({.inputs = true})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, const Tensor& other) { return Tensor(minimum(self, other)); });

const Op<Tensor(Tensor, Ints, bool)> amax = define<Tensor(Tensor, Ints, bool)>(
    "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor")
  .doc(R"(
    The largest element over the dimensions named; equal ones share the gradient.

    >>> torch.amax(torch.tensor([[1., 3.], [2., 0.]]), 1)
    tensor([3., 2.])
  )")
  .out(kValuesOut)
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, Ints dim, bool keepdim) {
    infer_values(r, "amax", self, dim, keepdim);
  })
  .kernel([](Tensor& result, const Tensor& self, Ints dim, bool) {
    values_into(result, "max_values_cpu", self, dim, Fold::Max);
  })
  .grad("self", "grad, self, result, dim, keepdim",
        [](const Tensor& grad, const Tensor& self, const Tensor& result, Ints dim, bool keepdim) {
    return share_backward(grad, self, result, dim, keepdim, false);
  });

const Op<Tensor(Tensor, Ints, bool)> amin = define<Tensor(Tensor, Ints, bool)>(
    "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor")
  .doc(R"(
    The smallest element over the dimensions named; equal ones share the gradient.

    >>> torch.amin(torch.tensor([[1., 3.], [2., 0.]]), 1)
    tensor([1., 0.])
  )")
  .out(kValuesOut)
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, Ints dim, bool keepdim) {
    infer_values(r, "amin", self, dim, keepdim);
  })
  .kernel([](Tensor& result, const Tensor& self, Ints dim, bool) {
    values_into(result, "min_values_cpu", self, dim, Fold::Min);
  })
  .grad("self", "grad, self, result, dim, keepdim",
        [](const Tensor& grad, const Tensor& self, const Tensor& result, Ints dim, bool keepdim) {
    return share_backward(grad, self, result, dim, keepdim, false);
  });

const auto aminmax = define<Pair(Tensor, MaybeInt, bool)>(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)")
  .doc(R"(
    The smallest and the largest element: of all, or along a dimension.

    >>> torch.aminmax(torch.tensor([1, 3, 2])).max
    tensor(3)
  )")
  .forms(Function | Method | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& self, MaybeInt dim, bool keepdim) {
    if (dim) {
      const int64_t d = wrap_dim(*dim, self.dim());
      check(self.dim() == 0 || self.sizes()[d] != 0, ErrorKind::Index,
            "aminmax: Expected reduction dim ", d, " to have non-zero size.");
    } else {
      check(self.numel() > 0, "aminmax(): cannot compute aminmax over an empty dimension as the "
            "operation has no identity.");
    }
    const uint64_t mask = dim ? reduced_mask(*dim, self.dim()) : kAllDims;
    for (int i = 0; i < 2; ++i) {
      r.result(reduced_sizes(self.sizes(), mask, keepdim), self.dtype(), self.device());
    }
  })
  .kernel([](Tensor& least, Tensor& most, const Tensor& self, MaybeInt dim, bool) {
    refuse_complex(dim ? "aminmax_cpu" : "aminmax_all_cpu", self);
    const uint64_t mask = dim ? reduced_mask(*dim, self.dim()) : kAllDims;
    fold_into(least, self, mask, Fold::Min);
    fold_into(most, self, mask, Fold::Max);
  })
  .grad("self", "grad.min, grad.max, self, min, max, dim, keepdim",
        [](const Tensor& low, const Tensor& high, const Tensor& self, const Tensor& min,
           const Tensor& max, MaybeInt dim, bool keepdim) {
    const Dims dims = dim ? Dims{*dim} : Dims{};
    if (!low) return share_backward(high, self, max, dims, keepdim, false);
    const Tensor first = share_backward(low, self, min, dims, keepdim, false);
    return high ? first + share_backward(high, self, max, dims, keepdim, false) : first;
  });

namespace {

void infer_places(Infer& r, const char* name, const Tensor& self, MaybeInt dim, bool keepdim) {
  check(!self.is_complex(), name, "(): does not support complex input");
  check(!is_bool(self.dtype()), name, "(): does not support bool input");
  if (dim) {
    check_dim_size(name, self, wrap_dim(*dim, self.dim()));
  } else {
    check(self.numel() != 0, ErrorKind::Index, name,
          "(): Expected reduction dim to be specified for input.numel() == 0.");
  }
  r.result(reduced_sizes(self.sizes(), dim ? reduced_mask(*dim, self.dim()) : kAllDims, keepdim),
           DType::Int64, self.device());
}
void places_into(const Tensor& out, const Tensor& self, MaybeInt dim, bool largest) {
  arg_extreme_into(out, self, dim && self.dim() ? wrap_dim(*dim, self.dim()) : -1, largest);
}

}  // namespace

const Op<Tensor(Tensor, MaybeInt, bool)> argmax = define<Tensor(Tensor, MaybeInt, bool)>(
    "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")
  .doc(R"(
    The index of the first largest element: of the flattened input, or along a dimension.

    >>> torch.argmax(torch.tensor([[1., 3.], [2., 0.]]), 1)
    tensor([1, 0])
  )")
  .out({.dtype = OutDType::Exact, .internal = true})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, MaybeInt dim, bool keepdim) {
    infer_places(r, "argmax", self, dim, keepdim);
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeInt dim, bool) {
    places_into(result, self, dim, true);
  });

const Op<Tensor(Tensor, MaybeInt, bool)> argmin = define<Tensor(Tensor, MaybeInt, bool)>(
    "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")
  .doc(R"(
    The index of the first smallest element: of the flattened input, or along a dimension.

    >>> torch.argmin(torch.tensor([[1., 3.], [2., 0.]]), 1)
    tensor([0, 1])
  )")
  .out({.dtype = OutDType::Exact, .internal = true})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, MaybeInt dim, bool keepdim) {
    infer_places(r, "argmin", self, dim, keepdim);
  })
  .kernel([](Tensor& result, const Tensor& self, MaybeInt dim, bool) {
    places_into(result, self, dim, false);
  });

}  // namespace rl::ops
