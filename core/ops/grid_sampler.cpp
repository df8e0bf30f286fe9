// Sampling at the positions of a grid, and the grids of affine maps.
#include "kernels/grid_sample.h"

#include "ops/dense.h"
#include "ops/expect.h"

namespace rl::ops {
namespace {

using kernels::GridSample;
using Two = std::pair<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Sampler = Tensor(Tensor, Tensor, int64_t, int64_t, bool);

void check_grid(const Tensor& input, const Tensor& grid) {
  check(input.dim() > 0 && grid.dim() > 0 && input->sizes[0] == grid->sizes[0],
        "grid_sampler(): expected grid and input to have same batch size, but got input with "
        "sizes ", input.sizes(), " and grid with sizes ", grid.sizes());
  const int64_t last = grid->sizes[grid.dim() - 1];
  check(last == input.dim() - 2, "grid_sampler(): expected grid to have size ", input.dim() - 2,
        " in last dimension, but got grid with sizes ", grid.sizes());
  for (int64_t d = 2; d < input.dim(); ++d)
    check(input->sizes[d] > 0, "grid_sampler(): expected input to have non-empty spatial "
          "dimensions, but input has sizes ", input.sizes(), " with dimension ", d,
          " being empty");
}

void check_sampler(const Tensor& input, const Tensor& grid, int64_t n, int64_t mode) {
  check_grid(input, grid);
  check(input.dim() == n + 2 && input.dim() == grid.dim(), "grid_sampler(): expected ", n + 2,
        "D input and grid with same number of dimensions, but got input with sizes ",
        input.sizes(), " and grid with sizes ", grid.sizes());
  check(n == 2 || mode != GridSample::Cubic,
        "grid_sampler(): bicubic interpolation only supports 4D input");
  check(input.is_floating() || input.is_meta(), ErrorKind::NotImplemented, "\"grid_sampler_", n,
        "d_cpu\" not implemented for '", type_name_of(input.dtype()), "'");
  check(input.dtype() == grid.dtype(), "expected scalar type ", type_name_of(input.dtype()),
        " but found ", type_name_of(grid.dtype()));
  check(input.device() == grid.device(), "Expected all tensors to be on the same device, but "
        "found at least two devices, cpu and meta!");
  int64_t volume = 1;
  for (int64_t d = 2; d < input.dim(); ++d) {
    check(input->sizes[d] <= INT32_MAX / volume, "grid_sampler(): the input is too large");
    volume *= input->sizes[d];
  }
}

void infer_sampled(Infer& r, const Tensor& input, const Tensor& grid, int64_t n, int64_t mode) {
  check_sampler(input, grid, n, mode);
  Dims sizes{input->sizes[0], input->sizes[1]};
  for (int64_t d = 1; d <= n; ++d) sizes.push_back(grid->sizes[d]);
  r.result(sizes, input.dtype(), input.device());
}

GridSample described(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                     bool align_corners) {
  GridSample s;
  const int64_t n = input.dim() - 2;
  s.spatial = int(n);
  // Numbers beyond the known ones mean what PyTorch's kernels make of them.
  s.mode = mode == 0 ? GridSample::Linear : mode == 1 ? GridSample::Nearest
         : n == 2    ? GridSample::Cubic  : GridSample::Linear;
  s.padding = padding == 1 ? GridSample::Border : padding == 2 ? GridSample::Reflection
                                                : GridSample::Zeros;
  s.align_corners = align_corners;
  s.batch = input->sizes[0];
  s.channels = input->sizes[1];
  for (int64_t d = 0; d < n; ++d) s.in[3 - n + d] = input->sizes[2 + d];
  for (int64_t d = 1; d <= n; ++d) s.samples *= grid->sizes[d];
  return s;
}

void expect_sampled(const char* op, const Tensor& grad, const Tensor& input, const Tensor& grid,
                    int64_t n, int64_t mode) {
  check_sampler(input, grid, n, mode);
  Dims sizes{input->sizes[0], input->sizes[1]};
  for (int64_t d = 1; d <= n; ++d) sizes.push_back(grid->sizes[d]);
  expect_like(grad, sizes, input.dtype(), op, "grad_output");
}

Three sampler_second(const Tensor& gg_input, const Tensor& gg_grid, const Tensor& grad,
                     const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                     bool align_corners, int64_t mask) {
  const char* op = "_grid_sampler_backward_backward";
  expect(input.dim() == 4 || input.dim() == 5, op, "the input has two or three spatial dimensions");
  expect_sampled(op, grad, input, grid, input.dim() - 2, mode);
  expect_like(gg_input, input.sizes(), input.dtype(), op, "gg_input");
  expect_like(gg_grid, grid.sizes(), grid.dtype(), op, "gg_grid");
  const bool meta = input.is_meta();
  const Tensor ggx = dense(gg_input), ggg = dense(gg_grid), g = dense(grad), x = dense(input),
               points = dense(grid);
  Three made;
  auto& [to_grad, to_x, to_points] = made;
  const auto make = [&](int bit, const Tensor& like) {
    if (!(mask >> bit & 1)) return Tensor();
    const Tensor t = empty(like.sizes(), like.dtype(), like.device());
    if (!meta) set_zero(t);
    return t;
  };
  to_grad = make(0, grad);
  to_x = make(1, input);
  to_points = make(2, grid);
  if (grad.numel() == 0 || meta) return made;
  kernels::GridSecond second{data_or_null(to_grad), data_or_null(to_x), data_or_null(to_points),
                             data_or_null(ggx), data_or_null(ggg)};
  kernels::grid_sample_second(x.dtype(), described(x, points, mode, padding, align_corners),
                              second, g.data(), x.data(), points.data());
  return made;
}

const auto grid_sampler_second = define<
    Three(Tensor, Tensor, Tensor, Tensor, Tensor, int64_t, int64_t, bool, int64_t)>(
    "_grid_sampler_backward_backward(Tensor? gg_input, Tensor? gg_grid, Tensor grad_output, "
    "Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, "
    "int output_mask) -> (Tensor, Tensor, Tensor)")
  .doc("The gradients of grid_sampler's gradients.")
  .forms(Hidden)
  .produce([](const Tensor& gg_input, const Tensor& gg_grid, const Tensor& grad,
              const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
              bool align_corners, int64_t mask) {
    return sampler_second(gg_input, gg_grid, grad, input, grid, mode, padding, align_corners,
                          mask);
  })
  .no_derivative("derivative for aten::_grid_sampler_backward_backward is not implemented");

Two sampler_backward(const Tensor& grad, const Tensor& input, const Tensor& grid, int64_t mode,
                     int64_t padding, bool align_corners, int64_t mask) {
  const Tensor g = dense(grad), x = dense(input), points = dense(grid);
  Two made;
  if (mask & 1) made.first = empty(input.sizes(), input.dtype(), input.device());
  if (mask & 2) made.second = empty(grid.sizes(), grid.dtype(), grid.device());
  if (input.is_meta()) return made;
  for (const Tensor* t : {&made.first, &made.second})
    if (*t) set_zero(*t);
  if (grad.numel() == 0) return made;
  kernels::grid_sample_backward(x.dtype(), described(x, points, mode, padding, align_corners),
                                data_or_null(made.first), data_or_null(made.second), g.data(),
                                x.data(), points.data());
  return made;
}

}  // namespace

#define RL_GRID_SAMPLER(N)                                                                       \
  static const auto grid_sampler_##N##d_backward =                                               \
      define<Two(Tensor, Tensor, Tensor, int64_t, int64_t, bool, int64_t)>(                      \
      "grid_sampler_" #N "d_backward(Tensor grad_output, Tensor input, Tensor grid, "            \
      "int interpolation_mode, int padding_mode, bool align_corners, int output_mask) "          \
      "-> (Tensor grad_input, Tensor grad_grid)")                                                \
    .doc("The gradients of grid_sampler_" #N "d, those that a mask names.")                      \
    .node("GridSampler" #N "DBackwardBackward0")                                                 \
    .forms(Hidden)                                                                               \
    .produce([](const Tensor& grad, const Tensor& input, const Tensor& grid, int64_t mode,       \
                int64_t padding, bool align_corners, int64_t mask) {                             \
      expect_sampled("grid_sampler_" #N "d_backward", grad, input, grid, N, mode);               \
      return sampler_backward(grad, input, grid, mode, padding, align_corners, mask);            \
    })                                                                                           \
    .grad("grad_output, input, grid", "grad.grad_input, grad.grad_grid, grad_output, input, "    \
          "grid, interpolation_mode, padding_mode, align_corners, needs",                        \
          [](const Tensor& gg_input, const Tensor& gg_grid, const Tensor& grad,                  \
             const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,             \
             bool align_corners, Needs needs) {                                                  \
      return grid_sampler_second(gg_input, gg_grid, grad, input, grid, mode, padding,            \
                                 align_corners, int64_t(needs.mask));                            \
    });                                                                                          \
  const Op<Sampler> grid_sampler_##N##d = define<Sampler>(                                       \
      "grid_sampler_" #N "d(Tensor input, Tensor grid, int interpolation_mode, "                 \
      "int padding_mode, bool align_corners) -> Tensor")                                         \
    .doc("The input at the positions of a grid, whose numbers run from -1 to 1.")                \
    .node("GridSampler" #N "DBackward0")                                                         \
    .forms(Function)                                                                             \
    .autocast(Autocast::Float)                                                                   \
    .infer([](Infer& r, const Tensor& input, const Tensor& grid, int64_t mode, int64_t, bool) {  \
      infer_sampled(r, input, grid, N, mode);                                                    \
    })                                                                                           \
    .kernel([](Tensor& result, const Tensor& input, const Tensor& grid, int64_t mode,            \
               int64_t padding, bool align_corners) {                                            \
      if (result.numel() == 0) return;                                                           \
      const Tensor x = dense(input), points = dense(grid);                                       \
      const Tensor y = result.is_contiguous() ? result : empty(result.sizes(), result.dtype());  \
      kernels::grid_sample(x.dtype(), described(x, points, mode, padding, align_corners),        \
                           y.data(), x.data(), points.data());                                   \
      if (!y.same(result)) copy_data(result, y);                                                 \
    })                                                                                           \
    .grad("input, grid",                                                                         \
          "grad, input, grid, interpolation_mode, padding_mode, align_corners, needs",           \
          [](const Tensor& grad, const Tensor& input, const Tensor& grid, int64_t mode,          \
             int64_t padding, bool align_corners, Needs needs) {                                 \
      return grid_sampler_##N##d_backward(grad, input, grid, mode, padding, align_corners,       \
                                          int64_t(needs.mask));                                  \
    });
RL_GRID_SAMPLER(2)
RL_GRID_SAMPLER(3)
#undef RL_GRID_SAMPLER

static const auto grid_sampler = define<Sampler>(
    "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
    "bool align_corners) -> Tensor")
  .doc("The input at the positions of a grid, over two or three dimensions.")
  .autocast(Autocast::Float)
  .composite([](const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                bool align_corners) {
    check_grid(input, grid);
    check((input.dim() == 4 || input.dim() == 5) && input.dim() == grid.dim(),
          "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
          "got input with sizes ", input.sizes(), " and grid with sizes ", grid.sizes());
    return input.dim() == 4 ? grid_sampler_2d(input, grid, mode, padding, align_corners)
                            : grid_sampler_3d(input, grid, mode, padding, align_corners);
  });

// ---- Affine grids

namespace {

// The numbers of n cells along a dimension from -1 to 1: their centres, or with aligned corners
// from end to end.
Tensor even_numbers(int64_t n, bool align_corners, DType dtype) {
  const Tensor made = empty({n}, dtype);
  dispatch(dtype, [&](auto* t) {
    using T = pointee<decltype(t)>;
    for (int64_t i = 0; i < n; ++i) {
      const double at = n <= 1 ? 0.0
          : (-1 + 2.0 * double(i) / double(n - 1)) *
                (align_corners ? 1.0 : double(n - 1) / double(n));
      made.ptr<T>()[i] = Scalar(at).template to<T>();
    }
  });
  return made;
}

// (1, ..., n + 1): x, y[, z] and 1 of every cell.
Tensor base_grid(Ints size, bool align_corners, DType dtype, Device device) {
  const int64_t n = int64_t(size.size()) - 2;
  Dims shape{1};
  for (int64_t d = 0; d < n; ++d) shape.push_back(size[size_t(2 + d)]);
  shape.push_back(n + 1);
  const Tensor base = empty(shape, dtype, device);
  if (device.is_meta()) return base;
  set_value(base, 1);
  Dims whole(base.sizes());
  whole.pop_back();
  Dims steps(base.strides());
  steps.pop_back();
  for (int64_t d = 0; d < n; ++d) {
    const Tensor line = even_numbers(size[size_t(1 + n - d)], align_corners, dtype);
    Dims still(whole.size(), 0);
    still[size_t(n - d)] = 1;
    copy_data(alias(base, whole, steps, base.offset() + d),
              alias(line, whole, still, line.offset()));
  }
  return base;
}

void check_affine(Ints size) {
  check(size.size() == 4 || size.size() == 5,
        "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
}

// The base grid as one list of points per batch entry.
Tensor points_of(Ints size, bool align_corners, DType dtype, Device device) {
  const int64_t n = int64_t(size.size()) - 2;
  const Tensor base = base_grid(size, align_corners, dtype, device);
  Dims flat{size[0], base.numel() / (n + 1), n + 1};
  return expand(view(base, Ints(Dims{1, flat[1], n + 1})), Ints(flat), false);
}

}  // namespace

static const auto affine_grid_generator_backward = define<Tensor(Tensor, Ints, bool)>(
    "affine_grid_generator_backward(Tensor grad, int[] size, bool align_corners) -> Tensor")
  .doc("The gradient of affine_grid_generator.")
  .forms(Hidden)
  .composite([](const Tensor& grad, Ints size, bool align_corners) -> Tensor {
    check_affine(size);
    const int64_t n = int64_t(size.size()) - 2;
    const Tensor points = points_of(size, align_corners, grad.dtype(), grad.device());
    const Tensor flat = reshape(grad, Ints(Dims{size[0], points->sizes[1], n}));
    return transpose(bmm(transpose(points, 1, 2), flat), 1, 2);
  });

static const auto affine_grid_generator = define<Tensor(Tensor, Ints, bool)>(
    "affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor")
  .doc(R"(
    Where affine maps (batch, n, n + 1) send the cells of a result of `size`, for grid_sampler.

    >>> torch.affine_grid_generator(torch.eye(2, 3)[None], [1, 1, 1, 2], False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
  )")
  .node("AffineGridGeneratorBackward0")
  .produce([](const Tensor& theta, Ints size, bool align_corners) -> Tensor {
    check_affine(size);
    const int64_t n = int64_t(size.size()) - 2;
    const Tensor points = points_of(size, align_corners, theta.dtype(), theta.device());
    Dims shape{size[0]};
    for (int64_t d = 0; d < n; ++d) shape.push_back(size[size_t(2 + d)]);
    shape.push_back(n);
    NoGrad quiet;
    return view(bmm(points, transpose(theta, 1, 2)), Ints(shape));
  })
  .grad("theta", "grad, size, align_corners", [](const Tensor& grad, Ints size, bool corners) {
    return affine_grid_generator_backward(grad, size, corners);
  });

}  // namespace rl::ops
