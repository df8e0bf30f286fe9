// The strided iterator: ordering and joining dimensions.
#include "tensor/iterator.h"

namespace rl {

Small<int, 6> order_of_dims(Ints shape, Span<Dims> strides) {
  const int n = int(shape.size());
  Small<int, 6> order;
  for (int i = n; i-- > 0;) order.push_back(i);
  // 1: dimension a is outer to b; -1: inner; 0: nothing says.
  auto compare = [&](int a, int b) {
    for (const Dims& s : strides) {
      if (s[a] == 0 || s[b] == 0) continue;
      if (s[a] != s[b]) return s[a] < s[b] ? -1 : 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  for (int i = 1; i < n; ++i) {
    int at = i;
    for (int j = i - 1; j >= 0; --j) {
      const int c = compare(order[j], order[at]);
      if (c > 0) {
        std::swap(order[j], order[at]);
        at = j;
      } else if (c < 0) {
        break;
      }
    }
  }
  return order;
}

void StridedLoop::prepare() {
  total_ = numel_of(shape_);
  if (total_ == 0 || shape_.empty()) return;
  const Small<int, 6> order =
      order_of_dims(shape_, Span<Dims>(strides_, size_t(operands_)));
  Dims shape;
  Dims strides[kOperands];
  for (int d : order) {
    if (shape_[d] == 1) continue;
    bool joins = !shape.empty();
    for (int k = 0; joins && k < operands_; ++k)
      joins = strides_[k][d] == shape.back() * strides[k].back();
    if (joins) {
      shape.back() *= shape_[d];
      continue;
    }
    shape.push_back(shape_[d]);
    for (int k = 0; k < operands_; ++k) strides[k].push_back(strides_[k][d]);
  }
  if (shape.empty()) {  // one element
    shape.push_back(1);
    for (int k = 0; k < operands_; ++k) strides[k].push_back(0);
  }
  shape_ = shape;
  for (int k = 0; k < operands_; ++k) strides_[k] = strides[k];
}

}  // namespace rl
