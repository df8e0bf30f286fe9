// Views in place: t_, transpose_, squeeze_, unsqueeze_, as_strided_ give a tensor other sizes,
// strides and offset over its own memory.
#include <algorithm>

#include "ops/ops.h"
#include "ops/view_edits.h"

namespace rl::ops {
namespace {

// Gives `self` the layout of `seen`, a view of it. The node is the op's own, on top of the node
// that self had: bases and other views keep their history, for no value changes.
Tensor take_layout(const Tensor& self, const Tensor& seen) {
  const Dims sizes(seen.sizes()), strides(seen.strides());
  self->offset = seen.offset();
  self->set_layout(sizes, strides);
  self.bump_version();
  if (self->is(kView)) {  // a stale view is remade with the layout it has now
    Autograd& a = *self->autograd;
    if (a.replay) {
      a.replay = std::make_unique<std::function<Tensor(const Tensor&)>>(
          [first = *a.replay, sizes, strides, at = self.offset()](const Tensor& base) {
            return as_strided(first(base), sizes, strides, at);
          });
    }
    a.seen_version = self.version().count.load(std::memory_order_relaxed);
  }
  return self;
}

// Gives `self` the layout of what `view` makes of it; refuses what in-place ops may not change.
template <class F> Tensor see_as(const Tensor& self, F view) {
  check_in_place(self);
  const auto seen = [&] {
    NoGrad quiet;
    return view(detached(self));
  };
  return take_layout(self, seen());
}

}  // namespace

const Op<Tensor(Tensor, int64_t, int64_t)> transpose_ =
    define<Tensor(Tensor, int64_t, int64_t)>(
    "transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)")
  .doc("Swaps two dimensions of this tensor.")
  .alias("swapdims_")
  .node("TransposeBackward1")
  .forms(Method)
  .accepts_conj()
  .produce([](const Tensor& self, int64_t dim0, int64_t dim1) {
    return see_as(self, [&](const Tensor& x) {
      return Tensor(transpose(x, dim0, dim1));
    });
  })
  .grad("self", "grad, dim0, dim1", [](const Tensor& grad, int64_t dim0, int64_t dim1) {
    return transpose(grad, dim0, dim1);
  });

const auto swapaxes_ = define<Tensor(Tensor, int64_t, int64_t)>(
    "swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)")
  .doc("transpose_ under numpy's names.")
  .forms(Method)
  .composite([](const Tensor& self, int64_t axis0, int64_t axis1) {
    return Tensor(transpose_(self, axis0, axis1));
  });

const auto t_ = define<Tensor(Tensor)>("t_(Tensor(a!) self) -> Tensor(a!)")
  .doc("Transposes this matrix; tensors of fewer dimensions stay as they are.")
  .node("TBackward1")
  .forms(Method)
  .accepts_conj()
  .produce([](const Tensor& self) {
    check_in_place(self);
    check(self.dim() <= 2, "t_() expects a tensor with <= 2 dimensions, but self is ", self.dim(),
          "D");
    return see_as(self, [](const Tensor& x) { return Tensor(t(x)); });
  })
  .grad("self", "grad", [](const Tensor& grad) { return t(grad); });

const Op<Tensor(Tensor, int64_t)> unsqueeze_ = define<Tensor(Tensor, int64_t)>(
    "unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)")
  .doc("Puts a dimension of size one into this tensor.")
  .node("UnsqueezeBackward1")
  .forms(Method)
  .accepts_conj()
  .produce([](const Tensor& self, int64_t dim) {
    return see_as(self, [&](const Tensor& x) { return Tensor(unsqueeze(x, dim)); });
  })
  .grad("self", "grad, dim", [](const Tensor& grad, int64_t dim) {
    return squeeze_dim(grad, dim);
  });

const auto squeeze_ = define<Tensor(Tensor)>("squeeze_(Tensor(a!) self) -> Tensor(a!)")
  .doc("Leaves out dimensions of size one of this tensor: all, or those named.")
  .node("SqueezeBackward3")
  .forms(Method)
  .accepts_conj()
  .produce([](const Tensor& self) {
    return see_as(self, [](const Tensor& x) { return Tensor(squeeze(x)); });
  })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) {
    return reshape(grad, sizes);
  });

const Op<Tensor(Tensor, int64_t)> squeeze_dim_ = define<Tensor(Tensor, int64_t)>(
    "squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)")
  .node("SqueezeBackward4")
  .forms(Method)
  .accepts_conj()
  .produce([](const Tensor& self, int64_t dim) {
    return see_as(self, [&](const Tensor& x) { return Tensor(squeeze_dim(x, dim)); });
  })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) {
    return reshape(grad, sizes);
  });

const auto squeeze_dims_ = define<Tensor(Tensor, Ints)>(
    "squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)")
  .node("SqueezeBackward5")
  .forms(Method)
  .accepts_conj()
  .produce([](const Tensor& self, Ints dims) {
    return see_as(self, [&](const Tensor& x) {
      Dims sizes, strides;
      const Dims named = wrap_dims(dims, x.dim());
      for (int64_t d = 0; d < x.dim(); ++d) {
        const bool asked = std::find(named.begin(), named.end(), d) != named.end();
        if (asked && x.sizes()[d] == 1) continue;
        sizes.push_back(x.sizes()[d]);
        strides.push_back(x.strides()[d]);
      }
      return alias(x, sizes, strides, x.offset());
    });
  })
  .grad("self", "grad, self.sizes", [](const Tensor& grad, Ints sizes) {
    return reshape(grad, sizes);
  });

const auto as_strided_ = define<Tensor(Tensor, Ints, Ints, MaybeInt)>(
    "as_strided_(Tensor(a!) self, int[] size, int[] stride, int? storage_offset=None) "
    "-> Tensor(a!)")
  .doc("Gives this tensor the given sizes, strides and offset, in elements of its storage.")
  .node("AsStridedBackward1")
  .forms(Function | Method)
  .accepts_conj()
  .produce([](const Tensor& self, Ints size, Ints stride, MaybeInt offset) {
    return see_as(self, [&](const Tensor& x) {
      return Tensor(as_strided(x, size, stride, offset));
    });
  })
  .grad("self", "grad, self.layout, size, stride, storage_offset",
        [](const Tensor& grad, const Tensor& self, Ints size, Ints stride,
           MaybeInt offset) {
    return as_strided_backward(grad, self, size, stride, offset.value_or(self.offset()));
  });

}  // namespace rl::ops
