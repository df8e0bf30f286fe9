// Bits of integers and truth values: and, or, xor, not, shifts, with their operators.
#include "ops/elementwise.h"

namespace rl::ops {
namespace {

// A number on the left is taken as a tensor would be, so that it may stand there, too.
Op<Tensor(Scalar, Tensor)> number_first(const char* name, const kernels::Pointwise& kernel,
                                        const char* doc) {
  return define<Tensor(Scalar, Tensor)>(
             text(name, ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor"))
      .doc(doc)
      .number("self")
      .pointwise(kernel);
}

}  // namespace

const auto bitwise_and = binary("bitwise_and", kernels::bitwise_and, R"(
    The bits that both have; for bool, logical and.

    >>> torch.bitwise_and(torch.tensor([6, 3]), 5)
    tensor([4, 1])
  )")
  .dunder("and", Reflected | Augmented);

const auto bitwise_and_by_number = with_number("bitwise_and", kernels::bitwise_and,
                                                "The same with one number for all elements.");

const auto bitwise_and_number = number_first("bitwise_and", kernels::bitwise_and,
                                             "The bits that a number and a tensor both have.");

const auto bitwise_or = binary("bitwise_or", kernels::bitwise_or, R"(
    The bits that one or both have; for bool, logical or.

    >>> torch.bitwise_or(torch.tensor([6, 3]), 1)
    tensor([7, 3])
  )")
  .dunder("or", Reflected | Augmented);

const auto bitwise_or_by_number = with_number("bitwise_or", kernels::bitwise_or,
                                                "The same with one number for all elements.");

const auto bitwise_or_number = number_first("bitwise_or", kernels::bitwise_or,
                                            "The bits that a number or a tensor has.");

const auto bitwise_xor = binary("bitwise_xor", kernels::bitwise_xor, R"(
    The bits that just one has; for bool, logical exclusive or.

    >>> torch.bitwise_xor(torch.tensor([6, 3]), 5)
    tensor([3, 6])
  )")
  .dunder("xor", Reflected | Augmented);

const auto bitwise_xor_by_number = with_number("bitwise_xor", kernels::bitwise_xor,
                                                "The same with one number for all elements.");

const auto bitwise_xor_number = number_first(
    "bitwise_xor", kernels::bitwise_xor, "The bits that just one of a number and a tensor has.");

const auto bitwise_not = define<Tensor(Tensor)>("bitwise_not(Tensor self) -> Tensor")
  .doc(R"(
    All bits turned; for bool, logical not.

    >>> torch.bitwise_not(torch.tensor([0, 5]))
    tensor([-1, -6])
  )")
  .forms(kAllForms)
  .exact_out()
  .pointwise(kernels::bitwise_not);

const auto invert = define<Tensor(Tensor)>("_invert(Tensor self) -> Tensor")
  .doc("The operator ~: all bits turned.")
  .forms(Hidden)
  .dunder("invert")
  .composite([](const Tensor& self) {
    check(!is_differentiable(self.dtype()), ErrorKind::Type, "~ (operator.invert) is only "
          "implemented on integer and Boolean-type tensors");
    return bitwise_not(self);
  });

const auto bitwise_left_shift = binary("bitwise_left_shift", kernels::lshift, R"(
    Shifts bits towards the higher places: times 2 to the power of `other`.

    >>> torch.bitwise_left_shift(torch.tensor([1, 3]), 2)
    tensor([ 4, 12])
  )")
  .dunder("lshift", Augmented);

const auto left_shift_by_number = with_number("bitwise_left_shift", kernels::lshift,
                                              "Shifts by one number of places.");

const auto left_shift_number = number_first("bitwise_left_shift", kernels::lshift,
                                            "Shifts a number's bits towards the higher places.");

const auto bitwise_right_shift = binary("bitwise_right_shift", kernels::rshift, R"(
    Shifts bits towards the lower places; the sign stays.

    >>> torch.bitwise_right_shift(torch.tensor([8, -8]), 2)
    tensor([ 2, -2])
  )")
  .dunder("rshift", Augmented);

const auto right_shift_by_number = with_number("bitwise_right_shift", kernels::rshift,
                                               "Shifts by one number of places.");

const auto right_shift_number = number_first("bitwise_right_shift", kernels::rshift,
                                             "Shifts a number's bits towards the lower places.");

namespace {

Op<Tensor(Tensor, Scalar)> reflected(const char* name, const char* dunder, const char* doc) {
  return define<Tensor(Tensor, Scalar)>(text(name, "(Tensor self, Scalar other) -> Tensor"))
      .doc(doc)
      .forms(Hidden)
      .dunder(dunder);
}

}  // namespace

const auto left_shift_reflected = reflected("_rlshift", "rlshift",
                                            "A number shifted to the left by the input.")
  .composite([](const Tensor& self, const Scalar& other) {
    return left_shift_number(other, self);
  });

const auto right_shift_reflected = reflected("_rrshift", "rrshift",
                                             "A number shifted to the right by the input.")
  .composite([](const Tensor& self, const Scalar& other) {
    return right_shift_number(other, self);
  });

}  // namespace rl::ops
