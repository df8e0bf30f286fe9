// Views and composites that give other shapes: narrow, diagonals, unfold, flatten, broadcasts.
#include "kernels/functors/scalar.h"
#include "kernels/sliding_blocks.h"
#include "ops/expect.h"

namespace rl::ops {

const Op<Tensor(Tensor, int64_t, int64_t, int64_t)> narrow =
    define<Tensor(Tensor, int64_t, int64_t, int64_t)>(
    "narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)")
  .doc(R"(
    The `length` indices of a dimension that begin with `start`, as a view.

    >>> torch.narrow(torch.arange(5), 0, 1, 2)
    tensor([1, 2])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t dim, int64_t start, int64_t length) {
    check(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
    check(length >= 0, "narrow(): length must be non-negative.");
    const int64_t n = self.sizes()[wrap_dim(dim, self.dim())];
    check(start >= -n && start <= n, ErrorKind::Index,
          "start out of range (expected to be in range of [",
          -n, ", ", n, "], but got ", start, ")");
    if (start < 0) start += n;
    check(start <= n - length, "start (", start, ") + length (", length,
          ") exceeds dimension size (", n, ").");
    return Tensor(slice(self, dim, start, start + length, 1));
  });

const auto narrow_tensor = define<Tensor(Tensor, int64_t, Tensor, int64_t)>(
    "narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
    check(start.dim() == 0 && is_integral(start.dtype()),
          "start must be an 0-dim integral Tensor.");
    return Tensor(narrow(self, dim, item_of(start).to_int(), length));
  });

// ---- Windows and diagonals

const Op<Tensor(Tensor, int64_t, int64_t, int64_t)> unfold =
    define<Tensor(Tensor, int64_t, int64_t, int64_t)>(
    "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)")
  .doc(R"(
    Windows of `size` along a dimension, `step` apart, as a view with a new last dimension.

    >>> torch.arange(4).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
  )")
  .forms(Method)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, int64_t dim, int64_t size, int64_t step) {
    const int64_t d = wrap_dim(dim, self.dim()), most = self.dim() ? self.sizes()[d] : 1;
    check(size >= 0, "size is ", size, " but must be >= 0");
    check(size <= most, "maximum size for tensor at dimension ", d, " is ", most, " but size is ",
          size);
    check(step > 0, "step is ", step, " but must be > 0");
    Dims sizes(self.sizes()), strides(self.strides());
    sizes.push_back(size);
    strides.push_back(self.dim() ? strides[d] : 1);
    if (self.dim()) {
      sizes[d] = (most - size) / step + 1;
      strides[d] = int64_t(uint64_t(strides[d]) * uint64_t(step));  // of one window: any step
    }
    return alias(self, sizes, strides, self.offset());
  })
  .grad("self", "grad, self.sizes, dimension, size, step",
        [](const Tensor& grad, Ints sizes, int64_t dim, int64_t size, int64_t step) {
    return unfold_backward(grad, sizes, dim, size, step);
  });

const Op<Tensor(Tensor, Ints, int64_t, int64_t, int64_t)> unfold_backward =
    define<Tensor(Tensor, Ints, int64_t, int64_t, int64_t)>(
    "unfold_backward(Tensor grad_in, int[] input_sizes, int dim, int size, int step) -> Tensor")
  .doc("Windows added back into place: what unfold's gradient is.")
  .forms(Hidden)
  .linear()
  .infer([](Infer& r, const Tensor& grad, Ints sizes, int64_t dim, int64_t size, int64_t step) {
    const char* op = "unfold_backward";
    expect(size >= 0 && step > 0, op, "windows have a size and a step");
    Dims windows(sizes);
    if (!sizes.empty()) {
      int64_t& n = windows[wrap_dim(dim, int64_t(sizes.size()))];
      expect(n >= size, op, "the windows are larger than the input");
      n = (n - size) / step + 1;
    } else {
      expect(size <= 1, op, "the windows are larger than the input");
    }
    windows.push_back(size);
    expect(grad.sizes() == Ints(windows), op, "the gradient has other sizes");
    r.result(sizes, grad.dtype(), grad.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, Ints sizes, int64_t dim, int64_t size,
             int64_t step) {
    NoGrad quiet;
    set_zero(result);
    const int64_t rank = int64_t(sizes.size()), last = grad.dim() - 1;
    if (rank == 0) {
      if (size) copy_data(result, select(grad, last, 0));
      return;
    }
    const int64_t d = wrap_dim(dim, rank), windows = grad.sizes()[d];
    const bool plain = grad.dtype() == DType::Float || grad.dtype() == DType::Double;
    if (plain && rank <= 2 && d == rank - 1 && grad.stride(last) == 1) {  // those of istft
      return kernels::add_windows({rank == 2 ? sizes[0] : 1, sizes[size_t(d)], windows, size, step,
                                   rank == 2 ? grad.stride(0) : 0, grad.stride(d)},
                                  grad.dtype(), result.data(), grad.data());
    }
    for (int64_t k = 0; k < size; ++k) {
      const Tensor place = slice(result, d, k, k + (windows - 1) * step + 1, step);
      add.in_place(place, select(grad, last, k));
    }
  })
  .grad("grad_in", "grad, dim, size, step",
        [](const Tensor& grad, int64_t dim, int64_t size, int64_t step) {
    return unfold(grad, dim, size, step);
  });

const Op<Tensor(Tensor, int64_t, int64_t, int64_t)> diagonal =
    define<Tensor(Tensor, int64_t, int64_t, int64_t)>(
    "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")
  .doc(R"(
    The diagonal of two dimensions, as a view with it as last dimension.

    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
  )")
  .forms(Function | Method)
  .accepts_conj()
  .linear()
  .view([](const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
    const int64_t a = wrap_dim(dim1, self.dim()), b = wrap_dim(dim2, self.dim());
    check(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
    const int64_t rows = self.sizes()[a], columns = self.sizes()[b];
    const int64_t n = offset >= 0 ? std::max<int64_t>(std::min(rows, columns - offset), 0)
                                  : std::max<int64_t>(std::min(rows + offset, columns), 0);
    int64_t at = self.offset();
    if (n) at += offset >= 0 ? offset * self.strides()[b] : -offset * self.strides()[a];
    Dims sizes, strides;
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (d == a || d == b) continue;
      sizes.push_back(self.sizes()[d]);
      strides.push_back(self.strides()[d]);
    }
    sizes.push_back(n);
    strides.push_back(kernels::fn::plus(self.strides()[a], self.strides()[b]));
    return alias(self, sizes, strides, at);
  })
  .grad("self", "grad, self.sizes, offset, dim1, dim2",
        [](const Tensor& grad, Ints sizes, int64_t offset, int64_t dim1, int64_t dim2) {
    return diagonal_backward(grad, sizes, offset, dim1, dim2);
  });

const Op<Tensor(Tensor, Ints, int64_t, int64_t, int64_t)> diagonal_backward =
    define<Tensor(Tensor, Ints, int64_t, int64_t, int64_t)>(
    "diagonal_backward(Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2) "
    "-> Tensor")
  .doc("Zeros of `input_sizes` with the gradient on a diagonal: what diagonal's gradient is.")
  .forms(Hidden)
  .linear()
  .infer([](Infer& r, const Tensor& grad, Ints sizes, int64_t offset, int64_t dim1, int64_t dim2) {
    NoGrad quiet;
    const Tensor whole = empty(sizes, grad.dtype(), Device{DeviceType::Meta});
    expect(grad.sizes() == diagonal(whole, offset, dim1, dim2).sizes(), "diagonal_backward",
           "the gradient has other sizes");
    r.result(sizes, grad.dtype(), grad.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, Ints, int64_t offset, int64_t dim1, int64_t dim2) {
    NoGrad quiet;
    set_zero(result);
    copy_data(diagonal(result, offset, dim1, dim2), grad);
  })
  .grad("grad_output", "grad, offset, dim1, dim2",
        [](const Tensor& grad, int64_t offset, int64_t dim1, int64_t dim2) {
    return diagonal(grad, offset, dim1, dim2);
  });

const Op<Tensor(Tensor, int64_t, int64_t, int64_t)> diag_embed =
    define<Tensor(Tensor, int64_t, int64_t, int64_t)>(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
  .doc(R"(
    Square matrices whose diagonals are the last dimension of the input.

    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
  )")
  .forms(Function | Method)
  .linear()
  .infer([](Infer& r, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
    const int64_t rank = self.dim() + 1, a = wrap_dim(dim1, rank), b = wrap_dim(dim2, rank);
    check(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
    const uint64_t away = offset < 0 ? -uint64_t(offset) : uint64_t(offset);
    const int64_t n = int64_t(away + uint64_t(self.size(-1)));  // less than 0: refused below
    Dims sizes(self.sizes());
    sizes.pop_back();
    sizes.insert(size_t(std::min(a, b)), n);
    sizes.insert(size_t(std::max(a, b)), n);
    r.result(sizes, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
    NoGrad quiet;
    set_zero(result);
    copy_data(diagonal(result, offset, dim1, dim2), self);
  })
  .grad("self", "grad, offset, dim1, dim2",
        [](const Tensor& grad, int64_t offset, int64_t dim1, int64_t dim2) {
    return diagonal(grad, offset, dim1, dim2);
  });

const auto diagflat = define<Tensor(Tensor, int64_t)>(
    "diagflat(Tensor self, int offset=0) -> Tensor")
  .doc(R"(
    A matrix with all elements of the input on its diagonal.

    >>> torch.diagflat(torch.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t offset) {
    return Tensor(diag_embed(reshape(contiguous(self), Ints{-1}), offset, 0, 1));
  });

// ---- Other orders and groups of dimensions

namespace {

Tensor move_dims(const Tensor& self, Ints source, Ints destination) {
  check(source.size() == destination.size(),
        "movedim: Invalid source or destination dims: source (", source,
        " dims) should contain the same number of dims as destination (", destination, " dims)");
  const int64_t rank = self.dim();
  Dims from, to;
  for (int64_t d : source) from.push_back(wrap_dim(d, rank));
  for (int64_t d : destination) to.push_back(wrap_dim(d, rank));
  const auto distinct = [](const Dims& dims) {
    for (size_t i = 0; i < dims.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (dims[i] == dims[j]) return false;
    return true;
  };
  check(distinct(from), "movedim: repeated dim in `source` (", source, ")");
  check(distinct(to), "movedim: repeated dim in `destination` (", destination, ")");
  if (rank == 0) return Tensor(alias_op(self));
  Dims order;
  order.resize(size_t(rank), -1);
  for (size_t i = 0; i < from.size(); ++i) order[size_t(to[i])] = from[i];
  int64_t next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    const auto moved = [&](int64_t d) {
      for (int64_t f : from)
        if (f == d) return true;
      return false;
    };
    while (moved(next)) ++next;
    place = next++;
  }
  return permute(self, order);
}

}  // namespace

const auto movedim = define<Tensor(Tensor, int64_t, int64_t)>(
    "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
  .doc(R"(
    Moves dimensions to other places; the rest keep their order.

    >>> torch.movedim(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([3, 4, 2])
  )")
  .alias("moveaxis")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t source, int64_t destination) {
    return move_dims(self, Ints{source}, Ints{destination});
  });

const auto movedim_list = define<Tensor(Tensor, Ints, Ints)>(
    "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
  .alias("moveaxis")
  .forms(Function | Method)
  .composite([](const Tensor& self, Ints source, Ints destination) {
    return move_dims(self, source, destination);
  });

const auto flatten = define<Tensor(Tensor, int64_t, int64_t)>(
    "flatten(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")
  .doc(R"(
    Joins the dimensions from `start_dim` to `end_dim` into one.

    >>> torch.flatten(torch.zeros(2, 3, 4), 1).shape
    torch.Size([2, 12])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t start, int64_t end) {
    const int64_t a = wrap_dim(start, self.dim()), b = wrap_dim(end, self.dim());
    check(a <= b, "flatten() has invalid args: start_dim cannot come after end_dim");
    if (self.dim() == 0) return Tensor(reshape(self, Ints{1}));
    if (a == b) return self;
    Dims sizes;
    int64_t joined = 1;
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (d >= a && d <= b) joined *= self.sizes()[d];
      else sizes.push_back(self.sizes()[d]);
      if (d == b) sizes.push_back(joined);
    }
    return Tensor(reshape(self, sizes));
  });

const auto unflatten = define<Tensor(Tensor, int64_t, Ints)>(
    "unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)")
  .doc(R"(
    Splits one dimension into several; one size may be -1.

    >>> torch.unflatten(torch.zeros(2, 6), 1, (2, -1)).shape
    torch.Size([2, 2, 3])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, int64_t dim, Ints sizes) {
    const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
    check(!sizes.empty(), "unflatten: sizes must be non-empty");
    int64_t open = 0, known = 1;
    for (int64_t s : sizes) {
      open += s == -1;
      if (s != -1) known = kernels::fn::times(known, s);
    }
    check(open <= 1, "unflatten got an unexpected error:\nonly one dimension can be inferred");
    check(open ? known > 0 && n % known == 0 : known == n, "unflatten: Provided sizes ", sizes,
          " don't multiply up to the size of dim ", d, " (", n, ") in the input tensor");
    Dims shape;
    for (int64_t i = 0; i < self.dim(); ++i) {
      if (i != d) shape.push_back(self.sizes()[i]);
      else for (int64_t s : sizes) shape.push_back(s == -1 ? n / known : s);
    }
    return Tensor(view(self, shape));
  });

const auto ravel = define<Tensor(Tensor)>("ravel(Tensor(a) self) -> Tensor(a)")
  .doc(R"(
    All elements in one dimension.

    >>> torch.ravel(torch.zeros(2, 3)).shape
    torch.Size([6])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self) { return Tensor(reshape(contiguous(self), Ints{-1})); });

const auto view_as = define<Tensor(Tensor, Tensor)>(
    "view_as(Tensor(a) self, Tensor other) -> Tensor(a)")
  .doc("The same memory under another tensor's sizes.")
  .forms(Method)
  .composite([](const Tensor& self, const Tensor& other) {
    return Tensor(view(self, other.sizes()));
  });

const auto reshape_as = define<Tensor(Tensor, Tensor)>(
    "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)")
  .doc("The tensor under another's sizes: a view where strides allow it, a copy otherwise.")
  .forms(Method)
  .composite([](const Tensor& self, const Tensor& other) {
    return Tensor(reshape(self, other.sizes()));
  });

const auto expand_as = define<Tensor(Tensor, Tensor)>(
    "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)")
  .doc("Repeats dimensions of size one to another tensor's sizes, without copying.")
  .forms(Method)
  .composite([](const Tensor& self, const Tensor& other) {
    return Tensor(expand(self, other.sizes(), false));
  });

const auto broadcast_to = define<Tensor(Tensor, Ints)>(
    "broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)")
  .doc(R"(
    Repeats dimensions of size one to the given sizes, without copying.

    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
  )")
  .forms(Function | Method)
  .composite([](const Tensor& self, Ints size) { return Tensor(expand(self, size, false)); });

const auto broadcast_tensors = define<Tensors(TensorList)>(
    "broadcast_tensors(Tensor[] tensors) -> Tensor[]")
  .doc("All inputs expanded to the sizes they have in common.")
  .forms(Function)
  .composite([](TensorList tensors) {
    Dims sizes;
    for (const Tensor& t : tensors) sizes = broadcast(sizes, t.sizes());
    Tensors wide;
    for (const Tensor& t : tensors)
      wide.push_back(t.sizes() == Ints(sizes) ? t : Tensor(expand(t, sizes, false)));
    return wide;
  });

const Op<Tensor(Tensor)> atleast_1d = define<Tensor(Tensor)>("atleast_1d(Tensor self) -> Tensor")
  .doc("The input with at least one dimension.")
  .forms(Function)
  .composite([](const Tensor& self) {
    return self.dim() >= 1 ? self : Tensor(reshape(self, Ints{1}));
  });

const Op<Tensor(Tensor)> atleast_2d = define<Tensor(Tensor)>("atleast_2d(Tensor self) -> Tensor")
  .doc("The input with at least two dimensions, a vector as a row.")
  .forms(Function)
  .composite([](const Tensor& self) {
    if (self.dim() == 0) return Tensor(reshape(self, Ints{1, 1}));
    return self.dim() == 1 ? Tensor(unsqueeze(self, 0)) : self;
  });

const Op<Tensor(Tensor)> atleast_3d = define<Tensor(Tensor)>("atleast_3d(Tensor self) -> Tensor")
  .doc("The input with at least three dimensions, a vector as [1, n, 1], a matrix as [n, m, 1].")
  .forms(Function)
  .composite([](const Tensor& self) {
    if (self.dim() == 0) return Tensor(reshape(self, Ints{1, 1, 1}));
    if (self.dim() == 1) return Tensor(unsqueeze(unsqueeze(self, 0), -1));
    return self.dim() == 2 ? Tensor(unsqueeze(self, -1)) : self;
  });

namespace {

// atleast_*d and broadcasting of a list, as the Python functions want them.
template <class Widen> Tensors each(TensorList tensors, const Widen& widen) {
  Tensors wide;
  for (const Tensor& t : tensors) wide.push_back(widen(t));
  return wide;
}

}  // namespace

const auto atleast_1d_list = define<Tensors(TensorList)>(
    "atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]")
  .forms(Function)
  .composite([](TensorList tensors) { return each(tensors, atleast_1d); });
const auto atleast_2d_list = define<Tensors(TensorList)>(
    "atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]")
  .forms(Function)
  .composite([](TensorList tensors) { return each(tensors, atleast_2d); });
const auto atleast_3d_list = define<Tensors(TensorList)>(
    "atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]")
  .forms(Function)
  .composite([](TensorList tensors) { return each(tensors, atleast_3d); });

}  // namespace rl::ops
