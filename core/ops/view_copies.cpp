// Views with memory of their own: view_copy, t_copy, unbind_copy and the other *_copy ops.
#include <algorithm>

#include "ops/ops.h"

namespace rl::ops {
namespace {

// What a view op gives, copied into row order; conjugate and negative bits are resolved before.
template <class F> Tensor copied(const Tensor& self, F view) {
  NoGrad quiet;
  return clone(view(self), MemoryFormat::Contiguous);
}
template <class F> Tensors all_copied(const Tensor& self, F view) {
  NoGrad quiet;
  Tensors parts;
  for (const Tensor& part : view(self)) parts.push_back(clone(part, MemoryFormat::Contiguous));
  return parts;
}

constexpr auto same_sizes = [](const Tensor& grad, Ints sizes) { return reshape(grad, sizes); };
constexpr auto as_it_is = [](const Tensor& grad) { return grad; };

}  // namespace

const auto view_copy = define<Tensor(Tensor, Ints)>("view_copy(Tensor self, int[] size) -> Tensor")
  .doc("view with memory of its own.")
  .node("ViewBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self, Ints size) {
    return copied(self, [&](const Tensor& x) {
      Dims strides;
      const Dims sizes = infer_size(size, x.numel());
      if (view_strides(x.sizes(), x.strides(), sizes, strides)) return Tensor(view(x, sizes));
      return Tensor(reshape(x, sizes));
    });
  })
  .grad("self", "grad, self.sizes", same_sizes);

const auto view_copy_dtype = define<Tensor(Tensor, DType)>(
    "view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor")
  .forms(Function | Out)
  .exact_out()
  .produce([](const Tensor& self, DType dtype) {
    const Record& view_dtype = *find_record("view.dtype");
    return copied(self, [&](const Tensor& x) {
      const Arg args[2] = {Arg(x), Arg(dtype)};
      Value made;
      invoke(view_dtype, args, &made);
      return made.take_tensor();
    });
  });

const auto expand_copy = define<Tensor(Tensor, Ints, bool)>(
    "expand_copy(Tensor self, int[] size, *, bool implicit=False) -> Tensor")
  .doc("expand with memory of its own.")
  .node("ExpandBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self, Ints size, bool implicit) {
    return copied(self, [&](const Tensor& x) { return Tensor(expand(x, size, implicit)); });
  })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) { return sum_to_size(grad, sizes); });

const auto permute_copy = define<Tensor(Tensor, Ints)>("permute_copy(Tensor self, int[] dims) -> Tensor")
  .doc("permute with memory of its own.")
  .node("PermuteBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self, Ints dims) {
    return copied(self, [&](const Tensor& x) { return Tensor(permute(x, dims)); });
  })
  .grad("self", "grad, dims", [](const Tensor& grad, Ints dims) {
    Dims back;
    back.resize(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) back[wrap_dim(dims[i], int64_t(dims.size()))] = int64_t(i);
    return permute(grad, back);
  });

const auto transpose_copy = define<Tensor(Tensor, int64_t, int64_t)>(
    "transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor")
  .doc("transpose with memory of its own.")
  .node("TransposeBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self, int64_t dim0, int64_t dim1) {
    return copied(self, [&](const Tensor& x) { return Tensor(transpose(x, dim0, dim1)); });
  })
  .grad("self", "grad, dim0, dim1", [](const Tensor& grad, int64_t dim0, int64_t dim1) {
    return transpose(grad, dim0, dim1);
  });

const auto t_copy = define<Tensor(Tensor)>("t_copy(Tensor self) -> Tensor")
  .doc("t with memory of its own.")
  .node("TBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self) { return copied(self, [](const Tensor& x) { return Tensor(t(x)); }); })
  .grad("self", "grad", [](const Tensor& grad) { return t(grad); });

const auto squeeze_copy = define<Tensor(Tensor)>("squeeze_copy(Tensor self) -> Tensor")
  .doc("squeeze with memory of its own.")
  .node("SqueezeBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self) {
    return copied(self, [](const Tensor& x) { return Tensor(squeeze(x)); });
  })
  .grad("self", "grad, self.sizes", same_sizes);

const auto squeeze_copy_dim = define<Tensor(Tensor, int64_t)>(
    "squeeze_copy.dim(Tensor self, int dim) -> Tensor")
  .node("SqueezeBackward1_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self, int64_t dim) {
    return copied(self, [&](const Tensor& x) { return Tensor(squeeze_dim(x, dim)); });
  })
  .grad("self", "grad, self.sizes", same_sizes);

const auto squeeze_copy_dims = define<Tensor(Tensor, Ints)>(
    "squeeze_copy.dims(Tensor self, int[] dim) -> Tensor")
  .node("SqueezeBackward2_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self, Ints dims) {
    return copied(self, [&](const Tensor& x) {
      Tensor seen = x;
      Dims named = wrap_dims(dims, x.dim());
      std::sort(named.begin(), named.end());
      for (size_t i = named.size(); i-- > 0;) seen = squeeze_dim(seen, named[i]);
      return seen;
    });
  })
  .grad("self", "grad, self.sizes", same_sizes);

const auto unsqueeze_copy = define<Tensor(Tensor, int64_t)>(
    "unsqueeze_copy(Tensor self, int dim) -> Tensor")
  .doc("unsqueeze with memory of its own.")
  .node("UnsqueezeBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self, int64_t dim) {
    return copied(self, [&](const Tensor& x) { return Tensor(unsqueeze(x, dim)); });
  })
  .grad("self", "grad, dim", [](const Tensor& grad, int64_t dim) { return squeeze_dim(grad, dim); });

const auto select_copy = define<Tensor(Tensor, int64_t, int64_t)>(
    "select_copy.int(Tensor self, int dim, int index) -> Tensor")
  .doc("select with memory of its own.")
  .node("SelectBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self, int64_t dim, int64_t index) {
    check(!self.is_complex() || !grad_enabled() || !requires_grad(self), "select_copy does not "
          "support automatic differentiation for outputs with complex dtype.");
    return copied(self, [&](const Tensor& x) { return Tensor(select(x, dim, index)); });
  })
  .grad("self", "grad, self.sizes, dim, index",
        [](const Tensor& grad, Ints sizes, int64_t dim, int64_t index) {
    return select_backward(grad, sizes, dim, index);
  });

const auto slice_copy = define<Tensor(Tensor, int64_t, MaybeInt, MaybeInt, int64_t)>(
    "slice_copy.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor")
  .doc("A slice with memory of its own.")
  .node("SliceBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self, int64_t dim, MaybeInt start, MaybeInt end, int64_t step) {
    check(!self.is_complex() || !grad_enabled() || !requires_grad(self), "slice_copy does not "
          "support automatic differentiation for outputs with complex dtype.");
    return copied(self, [&](const Tensor& x) { return Tensor(slice(x, dim, start, end, step)); });
  })
  .grad("self", "grad, self.sizes, dim, start, end, step",
        [](const Tensor& grad, Ints sizes, int64_t dim, MaybeInt start, MaybeInt end, int64_t step) {
    return slice_backward(grad, sizes, dim, start, end, step);
  });

const auto narrow_copy = define<Tensor(Tensor, int64_t, int64_t, int64_t)>(
    "narrow_copy(Tensor self, int dim, int start, int length) -> Tensor")
  .doc(R"(
    narrow with memory of its own.

    >>> torch.narrow_copy(torch.arange(5), 0, 1, 2)
    tensor([1, 2])
  )")
  .forms(Function | Method | Out)
  .linear()
  .produce([](const Tensor& self, int64_t dim, int64_t start, int64_t length) {
    return copied(self, [&](const Tensor& x) { return Tensor(narrow(x, dim, start, length)); });
  })
  .grad("self", "grad, self.sizes, dim, start, length",
        [](const Tensor& grad, Ints sizes, int64_t dim, int64_t start, int64_t length) {
    const int64_t n = sizes[wrap_dim(dim, int64_t(sizes.size()))], from = start < 0 ? start + n : start;
    return slice_backward(grad, sizes, dim, from, from + length, 1);
  });

const auto alias_copy = define<Tensor(Tensor)>("alias_copy(Tensor self) -> Tensor")
  .doc("A copy in row order.")
  .node("AliasBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self) { return copied(self, [](const Tensor& x) { return x; }); })
  .grad("self", "grad", as_it_is);

const auto detach_copy = define<Tensor(Tensor)>("detach_copy(Tensor self) -> Tensor")
  .doc("A copy in row order outside the graph.")
  .forms(Function | Out)
  .exact_out()
  .produce([](const Tensor& self) { return copied(self, [](const Tensor& x) { return x; }); });

const auto as_strided_copy = define<Tensor(Tensor, Ints, Ints, MaybeInt)>(
    "as_strided_copy(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor")
  .doc("as_strided with memory of its own.")
  .node("AsStridedBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .accepts_conj()
  .produce([](const Tensor& self, Ints size, Ints stride, MaybeInt offset) {
    return copied(self, [&](const Tensor& x) { return Tensor(as_strided(x, size, stride, offset)); });
  })
  .grad("self", "grad, self.layout, size, stride, storage_offset",
        [](const Tensor& grad, const Tensor& self, Ints size, Ints stride, MaybeInt offset) {
    return as_strided_backward(grad, self, size, stride, offset.value_or(self.offset()));
  });

const auto unfold_copy = define<Tensor(Tensor, int64_t, int64_t, int64_t)>(
    "unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor")
  .doc("Tensor.unfold with memory of its own.")
  .node("UnfoldBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .linear()
  .produce([](const Tensor& self, int64_t dim, int64_t size, int64_t step) {
    return copied(self, [&](const Tensor& x) { return Tensor(unfold(x, dim, size, step)); });
  })
  .grad("self", "grad, self.sizes, dimension, size, step",
        [](const Tensor& grad, Ints sizes, int64_t dim, int64_t size, int64_t step) {
    return unfold_backward(grad, sizes, dim, size, step);
  });

const auto diagonal_copy =
    define<Tensor(Tensor, int64_t, int64_t, int64_t)>(
    "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor")
  .doc(R"(
    diagonal with memory of its own.

    >>> torch.diagonal_copy(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
  )")
  .node("DiagonalBackward0_copy")
  .out({.dtype = OutDType::Exact})
  .forms(Function | Out)
  .linear()
  .produce([](const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
    return copied(self, [&](const Tensor& x) { return Tensor(diagonal(x, offset, dim1, dim2)); });
  })
  .grad("self", "grad, self.sizes, offset, dim1, dim2",
        [](const Tensor& grad, Ints sizes, int64_t offset, int64_t dim1, int64_t dim2) {
    return diagonal_backward(grad, sizes, offset, dim1, dim2);
  });

const auto diag = define<Tensor(Tensor, int64_t)>("diag(Tensor self, int diagonal=0) -> Tensor")
  .doc(R"(
    A matrix's diagonal, or the matrix with a vector as its diagonal.

    >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
  )")
  .out({.dtype = OutDType::Exact, .check = [](const Arg* args, const Tensor* targets) {
    const Tensor& self = args->as_tensor();
    check(self.dim() != 1 || can_cast(self.dtype(), targets->dtype()), "diag: result type ",
          type_name_of(self.dtype()), " can't be cast to the desired out= type ",
          type_name_of(targets->dtype()));
  }})
  .forms(Function | Method | Out)
  .composite([](const Tensor& self, int64_t offset) {
    check(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", self.dim(), "D");
    if (self.dim() == 1) return Tensor(diag_embed(self, offset, 0, 1));
    return Tensor(diagonal_copy(self, offset, 0, 1));
  });

const auto view_as_real_copy = define<Tensor(Tensor)>("view_as_real_copy(Tensor self) -> Tensor")
  .doc("view_as_real with memory of its own.")
  .node("ViewAsRealBackward0_copy")
  .forms(Function | Out)
  .exact_out()
  .produce([](const Tensor& self) {
    return copied(self, [](const Tensor& x) { return Tensor(view_as_real(x)); });
  })
  .grad("self", "grad", [](const Tensor& grad) { return view_as_complex(contiguous(grad)); });

const auto view_as_complex_copy = define<Tensor(Tensor)>("view_as_complex_copy(Tensor self) -> Tensor")
  .doc("view_as_complex with memory of its own.")
  .forms(Function | Out)
  .exact_out()
  .no_derivative("view_as_complex_copy does not support automatic differentiation for outputs with "
                 "complex dtype.")
  .produce([](const Tensor& self) {
    check(!grad_enabled() || !requires_grad(self), "view_as_complex_copy does not support automatic "
          "differentiation for outputs with complex dtype.");
    return copied(self, [](const Tensor& x) { return Tensor(view_as_complex(x)); });
  });

// ---- Lists of parts

const auto unbind_copy = define<Tensors(Tensor, int64_t)>(
    "unbind_copy.int(Tensor self, int dim=0) -> Tensor[]")
  .doc("unbind with memory of its own.")
  .node("UnbindBackward0_copy")
  .forms(Function)
  .produce([](const Tensor& self, int64_t dim) {
    return all_copied(self, [&](const Tensor& x) { return Tensors(unbind(x, dim)); });
  })
  .grad("self", "grads, self.sizes, dim", [](TensorList grads, Ints sizes, int64_t dim) {
    const int64_t d = wrap_dim(dim, int64_t(sizes.size()));
    Tensors rows;
    for (const Tensor& g : grads) rows.push_back(g ? Tensor(unsqueeze(g, d)) : g);
    return join_gradients(rows, sizes, d, [](size_t) { return 1; });
  });

const auto split_copy = define<Tensors(Tensor, int64_t, int64_t)>(
    "split_copy.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]")
  .doc("split with memory of its own.")
  .node("SplitBackward0_copy")
  .forms(Function)
  .produce([](const Tensor& self, int64_t size, int64_t dim) {
    return all_copied(self, [&](const Tensor& x) { return Tensors(split(x, size, dim)); });
  })
  .grad("self", "grads, self.sizes, split_size, dim",
        [](TensorList grads, Ints sizes, int64_t size, int64_t dim) {
    return join_gradients(grads, sizes, dim, [&](size_t) { return size; });
  });

const auto split_with_sizes_copy = define<Tensors(Tensor, Ints, int64_t)>(
    "split_with_sizes_copy(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]")
  .doc("split_with_sizes with memory of its own.")
  .node("SplitWithSizesBackward0_copy")
  .forms(Function)
  .produce([](const Tensor& self, Ints lengths, int64_t dim) {
    return all_copied(self, [&](const Tensor& x) { return Tensors(split_with_sizes(x, lengths, dim)); });
  })
  .grad("self", "grads, self.sizes, split_sizes, dim",
        [](TensorList grads, Ints sizes, Ints lengths, int64_t dim) {
    return join_gradients(grads, sizes, dim, [&](size_t i) { return lengths[i]; });
  });

}  // namespace rl::ops
