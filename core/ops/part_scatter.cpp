// Copies with a part replaced: select_scatter, slice_scatter, diagonal_scatter, as_strided_scatter;
// and fill_diagonal_.
#include "ops/copying.h"

namespace rl::ops {
namespace {

// A copy with the strides and the offset of the input, gaps and all; dense where elements overlap.
Tensor copy_with_strides(const Tensor& self) {
  if (self.is_meta() || internal_overlap(self) == Overlap::Yes) {
    return clone(self, self.is_meta() ? MemoryFormat::Preserve : MemoryFormat::Contiguous);
  }
  const size_t bytes = bytes_needed(self.sizes(), self.strides(), self.offset(), self.element_size());
  const int64_t n = int64_t(bytes) / self.element_size();
  const Tensor all = empty({n}, self.dtype());
  copy_data(all, alias(self, {n}, {1}, 0));
  return alias(all, self.sizes(), self.strides(), self.offset());
}

// part(t): the part of t that `src` replaces.
template <class F> Tensor replaced(const Tensor& self, const Tensor& src, F part) {
  NoGrad quiet;
  const Tensor result = copy_with_strides(self);
  const Tensor place = part(result);
  check(place.sizes() == src.sizes(), "expected src to have a size equal to the slice of self. src size = ",
        src.sizes(), ", slice size = ", place.sizes());
  refuse_internal_overlap(place);
  copy_data(place, src);
  return result;
}

void refuse_complex_gradients(const char* op, const Tensor& self, const Tensor& src) {
  check(!self.is_complex() || !grad_enabled() || !(requires_grad(self) || requires_grad(src)), op,
        " does not support automatic differentiation for outputs with complex dtype.");
}

}  // namespace

const Op<Tensor(Tensor, Tensor, int64_t, int64_t)> select_scatter =
    define<Tensor(Tensor, Tensor, int64_t, int64_t)>(
    "select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor")
  .doc(R"(
    A copy with one index of a dimension replaced by `src`.

    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
  )")
  .forms(Function | Method)
  .produce([](const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
    refuse_complex_gradients("select_scatter", self, src);
    return replaced(self, src, [&](const Tensor& t) { return Tensor(select(t, dim, index)); });
  })
  .grad("self", "grad, src.sizes, dim, index", [](const Tensor& grad, Ints sizes, int64_t dim, int64_t index) {
    return select_scatter(grad, zeros(sizes, grad.dtype(), grad.device()), dim, index);
  })
  .grad("src", "grad, dim, index", [](const Tensor& grad, int64_t dim, int64_t index) {
    return select(grad, dim, index);
  });

const Op<Tensor(Tensor, Tensor, int64_t, MaybeInt, MaybeInt, int64_t)> slice_scatter =
    define<Tensor(Tensor, Tensor, int64_t, MaybeInt, MaybeInt, int64_t)>(
    "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor")
  .doc(R"(
    A copy with a slice replaced by `src`.

    >>> torch.slice_scatter(torch.zeros(3), torch.ones(1), 0, 1, 2)
    tensor([0., 1., 0.])
  )")
  .out({.dtype = OutDType::Exact})
  .forms(Function | Method | Out)
  .produce([](const Tensor& self, const Tensor& src, int64_t dim, MaybeInt start, MaybeInt end, int64_t step) {
    refuse_complex_gradients("slice_scatter", self, src);
    return replaced(self, src, [&](const Tensor& t) { return Tensor(slice(t, dim, start, end, step)); });
  })
  .grad("self", "grad, src.sizes, dim, start, end, step",
        [](const Tensor& grad, Ints sizes, int64_t dim, MaybeInt start, MaybeInt end, int64_t step) {
    return slice_scatter(grad, zeros(sizes, grad.dtype(), grad.device()), dim, start, end, step);
  })
  .grad("src", "grad, dim, start, end, step",
        [](const Tensor& grad, int64_t dim, MaybeInt start, MaybeInt end, int64_t step) {
    return slice(grad, dim, start, end, step);
  });

const Op<Tensor(Tensor, Tensor, int64_t, int64_t, int64_t)> diagonal_scatter =
    define<Tensor(Tensor, Tensor, int64_t, int64_t, int64_t)>(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor")
  .doc(R"(
    A copy with a diagonal replaced by `src`.

    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
  )")
  .forms(Function | Method)
  .produce([](const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
    return replaced(self, src, [&](const Tensor& t) { return Tensor(diagonal(t, offset, dim1, dim2)); });
  })
  .grad("self", "grad, src.sizes, offset, dim1, dim2",
        [](const Tensor& grad, Ints sizes, int64_t offset, int64_t dim1, int64_t dim2) {
    return diagonal_scatter(grad, zeros(sizes, grad.dtype(), grad.device()), offset, dim1, dim2);
  })
  .grad("src", "grad, offset, dim1, dim2", [](const Tensor& grad, int64_t offset, int64_t dim1, int64_t dim2) {
    return diagonal(grad, offset, dim1, dim2);
  });

const Op<Tensor(Tensor, Tensor, Ints, Ints, MaybeInt)> as_strided_scatter =
    define<Tensor(Tensor, Tensor, Ints, Ints, MaybeInt)>(
    "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, "
    "int? storage_offset=None) -> Tensor")
  .doc(R"(
    A copy with the elements that as_strided names replaced by `src`.

    >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
  )")
  .forms(Function | Method | Out)
  .produce([](const Tensor& self, const Tensor& src, Ints size, Ints stride, MaybeInt offset) {
    return replaced(self, src, [&](const Tensor& t) { return Tensor(as_strided(t, size, stride, offset)); });
  })
  .grad("self", "grad, src.sizes, size, stride, storage_offset",
        [](const Tensor& grad, Ints sizes, Ints size, Ints stride, MaybeInt offset) {
    return as_strided_scatter(contiguous(grad), zeros(sizes, grad.dtype(), grad.device()), size,
                              stride, offset);
  })
  .grad("src", "grad, size, stride, storage_offset",
        [](const Tensor& grad, Ints size, Ints stride, MaybeInt offset) {
    return as_strided(contiguous(grad), size, stride, offset);
  });

const auto fill_diagonal_ = define<Tensor(Tensor, Scalar, bool)>(
    "fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)")
  .doc(R"(
    Writes one value on the main diagonal; `wrap` begins it anew below a tall matrix.

    >>> torch.zeros(2, 2).fill_diagonal_(3)
    tensor([[3., 0.],
            [0., 3.]])
  )")
  .forms(Method)
  .composite([](const Tensor& self, const Scalar& value, bool wrap) {
    const int64_t rank = self.dim();
    check(rank >= 2, "dimensions must larger than 1");
    int64_t length = self.sizes()[0], step = 0;
    for (int64_t d = 0; d < rank; ++d) {
      check(rank == 2 || self.sizes()[d] == self.sizes()[0], "all dimensions of input must be of "
            "equal length");
      length = std::min(length, self.sizes()[d]);
      step += self.strides()[d];
    }
    const int64_t columns = self.sizes()[1];
    if (wrap && rank == 2 && self.sizes()[0] > columns + 1 && columns > 0) {
      // One diagonal after the other: after a row that is left out the next one begins.
      for (int64_t row = 0; row < self.sizes()[0]; row += columns + 1) {
        const Tensor block = slice(self, 0, row, row + columns, 1);
        fill_(diagonal(block, 0, 0, 1), value);
      }
      return self;
    }
    fill_(as_strided(self, Ints{length}, Ints{step}, self.offset()), value);
    return self;
  });

}  // namespace rl::ops
