// isin: whether each element is among those of another tensor.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/elementwise.h"
#include "ops/promotion.h"

namespace rl::ops {
namespace {

void infer_isin(Infer& r, const Tensor& elements, const Tensor& test, Ints sizes) {
  for (const Tensor* t : {&elements, &test}) {
    check(!t->is_complex() && t->dtype() != DType::Bool,
          "Unsupported input type encountered for isin(): ", type_name_of(t->dtype()));
  }
  r.result(sizes, DType::Bool, elements.device());
}

// Both are brought to their common dtype; NaN is among nothing, and is left out of the sorting.
template <class T> void find(const Tensor& result, const Tensor& elements, const Tensor& test,
                             DType type, bool invert) {
  const Tensor x = contiguous(to_dtype(elements, type)), y = contiguous(to_dtype(test, type));
  std::vector<T> sorted(y.ptr<T>(), y.ptr<T>() + y.numel());
  const auto nan = [](T v) { return v != v; };
  sorted.erase(std::remove_if(sorted.begin(), sorted.end(), nan), sorted.end());
  std::sort(sorted.begin(), sorted.end());
  parallel_for(0, x.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T v = x.ptr<T>()[i];
      const bool found = !nan(v) && std::binary_search(sorted.begin(), sorted.end(), v);
      result.ptr<bool>()[i] = found != invert;
    }
  });
}

void fill_isin(const Tensor& result, const Tensor& elements, const Tensor& test, bool invert) {
  NoGrad quiet;
  const DType type = result_type(Arg(elements), Arg(test));
  if (is_floating(type)) {
    if (type == DType::Double) find<double>(result, elements, test, type, invert);
    else find<float>(result, elements, test, DType::Float, invert);
  } else {
    find<int64_t>(result, elements, test, DType::Int64, invert);
  }
}

}  // namespace

const auto isin = define<Tensor(Tensor, Tensor, bool, bool)>(
    "isin(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) "
    "-> Tensor")
  .doc(R"(
    Whether each of `elements` is among `test_elements`; with `invert`, whether it is not.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 5]))
    tensor([False,  True, False])
  )")
  .forms(Function | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& elements, const Tensor& test, bool, bool) {
    infer_isin(r, elements, test, elements.sizes());
  })
  .kernel([](Tensor& result, const Tensor& elements, const Tensor& test, bool, bool invert) {
    fill_isin(result, elements, test, invert);
  });

const auto isin_of_number = define<Tensor(Tensor, Tensor, bool, bool)>(
    "isin.Scalar_Tensor(Tensor element, Tensor test_elements, *, bool assume_unique=False, "
    "bool invert=False) -> Tensor")
  .doc("Whether a number is among the elements of a tensor.")
  .number("element")
  .forms(Function | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& element, const Tensor& test, bool, bool) {
    infer_isin(r, element, test, element.sizes());
    r[0].device = test.device();
  })
  .kernel([](Tensor& result, const Tensor& element, const Tensor& test, bool, bool invert) {
    fill_isin(result, element, test, invert);
  });

const auto isin_number = define<Tensor(Tensor, Tensor, bool, bool)>(
    "isin.Tensor_Scalar(Tensor elements, Tensor test_element, *, bool assume_unique=False, "
    "bool invert=False) -> Tensor")
  .doc("Whether each element is one number.")
  .number("test_element")
  .forms(Function | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& elements, const Tensor& test, bool, bool) {
    infer_isin(r, elements, test, elements.sizes());
  })
  .kernel([](Tensor& result, const Tensor& elements, const Tensor& test, bool, bool invert) {
    fill_isin(result, elements, test, invert);
  });

}  // namespace rl::ops
