// Reading and writing elements by index tensors.
#include "ops/ops.h"

namespace rl::ops {

const auto index_add = define<Tensor(Tensor, int64_t, Tensor, Tensor)>(
    "index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)")
  .doc("Adds the slices of `source` to those of the tensor that `index` names along `dim`.")
  .forms(Method)
  .effect([](const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
    const int64_t d = wrap_dim(dim, self.dim());
    for (int64_t i = 0; i < index.numel(); ++i) {
      Dims sizes(self.sizes()), strides(self.strides()), from(source.strides());
      const int64_t at = index.ptr<int64_t>()[i * index.strides()[0]];
      sizes[d] = 1;
      const Tensor place = alias(self, sizes, strides, self.offset() + at * strides[d]);
      const Tensor value = alias(source, sizes, from, source.offset() + i * from[d]);
      copy_data(place, detached(place) + value);
    }
  });

void index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  index_add(self, dim, index, source);
}

}  // namespace rl::ops
