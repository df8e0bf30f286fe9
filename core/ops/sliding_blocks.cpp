// Images as columns of sliding blocks (unfold) and back (fold).
#include "kernels/sliding_blocks.h"

#include "ops/dense.h"

namespace rl::ops {
namespace {

using kernels::SlidingBlocks;

struct Window {
  Ints kernel, dilation, padding, stride;
};

void check_window(const Window& w) {
  const auto two = [](Ints v, const char* name) {
    check(v.size() == 2, "It is expected ", name, " equals to 2, but got size ",
          int64_t(v.size()));
  };
  two(w.kernel, "kernel_size");
  two(w.dilation, "dilation");
  two(w.padding, "padding");
  two(w.stride, "stride");
  check(w.kernel[0] > 0 && w.kernel[1] > 0, "kernel size should be greater than zero, but got "
        "kernel_height: ", w.kernel[0], " kernel_width: ", w.kernel[1]);
  check(w.dilation[0] > 0 && w.dilation[1] > 0, "dilation should be greater than zero, but got "
        "dilation_height: ", w.dilation[0], " dilation_width: ", w.dilation[1]);
  check(w.padding[0] >= 0 && w.padding[1] >= 0, "padding should be non-negative, but got "
        "pad_height: ", w.padding[0], " pad_width: ", w.padding[1]);
  check(w.stride[0] > 0 && w.stride[1] > 0, "stride should be greater than zero, but got "
        "stride_height: ", w.stride[0], " stride_width: ", w.stride[1]);
  for (Ints list : {w.kernel, w.dilation, w.padding, w.stride})
    for (int64_t v : list) check(v <= 1 << 30, "a number of the window is too large: ", v);
}

// How many blocks fit along dimension d of an image.
int64_t blocks_along(int64_t in, const Window& w, size_t d) {
  const int64_t span = in + 2 * w.padding[d] - (w.dilation[d] * (w.kernel[d] - 1) + 1);
  return (span >= 0 ? span / w.stride[d] : -((-span + w.stride[d] - 1) / w.stride[d])) + 1;
}

std::string pair_text(Ints v) { return text("(", v[0], ", ", v[1], ")"); }

void check_dtype(const Tensor& t, const char* name) {
  check(!is_integral(t.dtype()) || t.is_meta(), ErrorKind::NotImplemented, "\"", name,
        "\" not implemented for '", type_name_of(t.dtype()), "'");
}

SlidingBlocks described(Ints image, const Window& w, int64_t planes) {
  SlidingBlocks s;
  s.planes = planes;
  for (size_t d = 0; d < 2; ++d) {
    s.in[d] = image[d];
    s.out[d] = blocks_along(image[d], w, d);
    s.kernel[d] = w.kernel[d];
    s.stride[d] = w.stride[d];
    s.padding[d] = w.padding[d];
    s.dilation[d] = w.dilation[d];
  }
  return s;
}

void infer_columns(Infer& r, const Tensor& self, const Window& w) {
  check_window(w);
  const int64_t rank = self.dim();
  const bool some = self.size(1) != 0 && self.size(2) != 0;
  check((rank == 3 && self->sizes[0] != 0 && some) || (rank == 4 && some && self->sizes[3] != 0),
        "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
        "dimensions for input, but got: ", self.sizes());
  const int64_t image[] = {self->sizes[rank - 2], self->sizes[rank - 1]};
  const int64_t high = blocks_along(image[0], w, 0), wide = blocks_along(image[1], w, 1);
  check(high >= 1 && wide >= 1, "Given input with spatial size ", pair_text(Ints(image, 2)),
        ", kernel_size=", pair_text(w.kernel), ", dilation=", pair_text(w.dilation), ", padding=",
        pair_text(w.padding), ", calculated shape of the array of sliding blocks as (", high, ", ",
        wide, "), but its components must be at least one.");
  check_dtype(self, "im2col_out_cpu");
  Dims sizes;
  if (rank == 4) sizes.push_back(self->sizes[0]);
  sizes.push_back(self->sizes[rank - 3] * w.kernel[0] * w.kernel[1]);
  sizes.push_back(high * wide);
  r.result(sizes, self.dtype(), self.device());
}

void infer_image(Infer& r, const Tensor& self, Ints output, const Window& w) {
  check(output.size() == 2, "It is expected output_size equals to 2, but got size ",
        int64_t(output.size()));
  check_window(w);
  const int64_t rank = self.dim();
  bool some = rank == 2 || rank == 3;
  for (int64_t d = 0; d < rank; ++d) some &= self->sizes[d] != 0 || (rank == 3 && d == 0);
  check(some, "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
        "non-zero dimensions for input, but got: ", self.sizes());
  const int64_t area = w.kernel[0] * w.kernel[1];
  const int64_t planes = self->sizes[rank - 2], columns = self->sizes[rank - 1];
  check(planes % area == 0, "Expected size of input's dimension 1 to be divisible by the product "
        "of kernel_size, but got input.size(1)=", planes, " and kernel_size=",
        pair_text(w.kernel), ".");
  const int64_t high = blocks_along(output[0], w, 0), wide = blocks_along(output[1], w, 1);
  const auto given = [&] {
    return text("Given output_size=", pair_text(output), ", kernel_size=", pair_text(w.kernel),
                ", dilation=", pair_text(w.dilation), ", padding=", pair_text(w.padding),
                ", stride=", pair_text(w.stride), ", ");
  };
  int64_t count = 0;
  const bool fits = !__builtin_mul_overflow(high, wide, &count) && count == columns;
  if (!fits)
    fail(ErrorKind::Runtime, given(), "expected size of input's dimension 2 to match the "
         "calculated number of sliding blocks ", high, " * ", wide, " = ", count,
         ", but got input.size(2)=", columns, ".");
  check(high >= 1 && wide >= 1, given(), "calculated shape of the array of sliding blocks as (",
        high, ", ", wide, "), which is too small (non-positive)");
  check_dtype(self, "col2im_out_cpu");
  Dims sizes;
  if (rank == 3) sizes.push_back(self->sizes[0]);
  sizes.push_back(planes / area);
  sizes.push_back(output[0]);
  sizes.push_back(output[1]);
  r.result(sizes, self.dtype(), self.device());
}

}  // namespace

using Columns = Tensor(Tensor, Ints, Ints, Ints, Ints);
using Image = Tensor(Tensor, Ints, Ints, Ints, Ints, Ints);
extern const Op<Image> col2im;

const Op<Columns> im2col = define<Columns>(
    "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) "
    "-> Tensor")
  .doc("Sliding blocks of images (N, C, H, W) as columns (N, C * block, blocks).")
  .node("Im2ColBackward0")
  .forms(NN | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& self, Ints kernel, Ints dilation, Ints padding, Ints stride) {
    infer_columns(r, self, {kernel, dilation, padding, stride});
  })
  .kernel([](Tensor& result, const Tensor& self, Ints kernel, Ints dilation, Ints padding,
             Ints stride) {
    if (result.numel() == 0) return;
    const Tensor x = dense(self);
    const Tensor y = result.is_contiguous() ? result : empty(result.sizes(), result.dtype());
    const int64_t image[] = {x.size(-2), x.size(-1)};
    kernels::image_to_columns(described(Ints(image, 2), {kernel, dilation, padding, stride},
                                        x.numel() / (image[0] * image[1])),
                              x.element_size(), y.data(), x.data());
    if (!y.same(result)) copy_data(result, y);
  })
  .grad("self", "grad, self.sizes, kernel_size, dilation, padding, stride",
        [](const Tensor& grad, Ints sizes, Ints kernel, Ints dilation, Ints padding, Ints stride) {
    return col2im(grad, Ints(sizes.data() + sizes.size() - 2, 2), kernel, dilation, padding,
                  stride);
  });

const Op<Image> col2im = define<Image>(
    "col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, "
    "int[2] padding, int[2] stride) -> Tensor")
  .doc("Columns (N, C * block, blocks) summed up where their blocks lie in (N, C, *output_size).")
  .node("Col2ImBackward0")
  .forms(NN | Out)
  .exact_out()
  .infer([](Infer& r, const Tensor& self, Ints output, Ints kernel, Ints dilation, Ints padding,
            Ints stride) { infer_image(r, self, output, {kernel, dilation, padding, stride}); })
  .kernel([](Tensor& result, const Tensor& self, Ints output, Ints kernel, Ints dilation,
             Ints padding, Ints stride) {
    if (result.numel() == 0) return;
    const Tensor x = dense(self);
    const Tensor y = result.is_contiguous() ? result : empty(result.sizes(), result.dtype());
    kernels::columns_to_image(described(output, {kernel, dilation, padding, stride},
                                        y.numel() / (output[0] * output[1])),
                              x.dtype(), y.data(), x.data());
    if (!y.same(result)) copy_data(result, y);
  })
  .grad("self", "grad, kernel_size, dilation, padding, stride",
        [](const Tensor& grad, Ints kernel, Ints dilation, Ints padding, Ints stride) {
    return im2col(grad, kernel, dilation, padding, stride);
  });

}  // namespace rl::ops
