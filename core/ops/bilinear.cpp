// bilinear: a bilinear form of two inputs per output feature.
#include "ops/ops.h"

namespace rl::ops {
namespace {

void check_inputs(const Tensor& input1, const Tensor& input2, const Tensor& weight) {
  check(input1.dim() == input2.dim(), "bilinear(): input dimensions do not match: got ",
        input1.dim(), " and ", input2.dim());
  check(input1.dtype() == input2.dtype() && input1.dtype() == weight.dtype(),
        "All tensors must have the same dtype, got input1: ", c_name_of(input1.dtype()),
        ", input2: ", c_name_of(input2.dtype()), ", weight: ", c_name_of(weight.dtype()));
  for (int64_t d = 0; d + 1 < input1.dim(); ++d)
    check(input1->sizes[d] == input2->sizes[d], "bilinear(): input batch dimensions do not match "
          "at dim ", d, ": got ", input1->sizes[d], " and ", input2->sizes[d]);
}

void check_features(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                    const Tensor& bias) {
  check(input1.dim() > 0, ErrorKind::Index,
        "Dimension specified as -1 but tensor has no dimensions");
  check(weight.dim() > 1, ErrorKind::Index, "Dimension out of range (expected to be in range of [",
        -std::max<int64_t>(weight.dim(), 1), ", ", std::max<int64_t>(weight.dim(), 1) - 1,
        "], but got ", weight.dim() ? 1 : 0, ")");
  check(input1.size(-1) == weight->sizes[1], "bilinear(): input1 size does not match weight size: "
        "got ", input1.size(-1), " but expected ", weight->sizes[1]);
  check(weight.dim() == 3, ErrorKind::Index, "Dimension out of range (expected to be in range of [",
        -weight.dim(), ", ", weight.dim() - 1, "], but got 2)");
  check(input2.size(-1) == weight->sizes[2], "bilinear(): input2 size does not match weight size: "
        "got ", input2.size(-1), " but expected ", weight->sizes[2]);
  if (!bias) return;
  check(bias.dim() > 0, ErrorKind::Index, "Dimension specified as 0 but tensor has no dimensions");
  check(bias->sizes[0] == weight->sizes[0],
        "bilinear(): bias size does not match weight size: got ", bias->sizes[0],
        " but expected ", weight->sizes[0]);
}

}  // namespace

const auto bilinear = define<Tensor(Tensor, Tensor, Tensor, Tensor)>(
    "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor")
  .doc(R"(
    input1 W_k input2 + b_k for each output feature k: (..., I), (..., J) and (K, I, J) to (..., K).

    >>> torch.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(1, 2, 3))
    tensor([[6.]])
  )")
  .composite([](const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
    check_inputs(input1, input2, weight);
    check_features(input1, input2, weight, bias);
    const int64_t outputs = weight->sizes[0], left = weight->sizes[1], right = weight->sizes[2];
    int64_t rows = 1;
    Dims sizes;
    for (int64_t d = 0; d + 1 < input1.dim(); ++d) {
      rows *= input1->sizes[d];
      sizes.push_back(input1->sizes[d]);
    }
    sizes.push_back(outputs);
    const Tensor a = reshape(input1, Dims{rows, left, 1}), b = reshape(input2, Dims{rows, right});
    // The second input takes all the matrices in one product, then each row its first input.
    const Tensor forms = transpose(reshape(weight, Dims{outputs * left, right}), 0, 1);
    const Tensor halves = reshape(matmul(b, forms), Dims{rows, outputs, left});
    const Tensor made = view(reshape(bmm(halves, a), Dims{rows, outputs}), Ints(sizes));
    return bias ? made + bias : made;
  });

}  // namespace rl::ops
