// Maxima put back at their places, and max pooling over windows placed at random.
#include "base/parallel.h"
#include "ops/dense.h"
#include "ops/formats.h"
#include "ops/pooling.h"

namespace rl::ops {
namespace {

using Two = std::pair<Tensor, Tensor>;

std::string braced(Ints list) {
  std::string s = "(";
  for (size_t i = 0; i < list.size(); ++i) s += text(i ? ", " : "", list[i]);
  return s + ")";
}

std::string times(Ints list) {
  std::string s;
  for (size_t i = 0; i < list.size(); ++i) s += text(i ? "x" : "", list[i]);
  return s;
}

void check_float(const Tensor& t, const char* name) {
  check(t.is_floating() || t.is_meta(), ErrorKind::NotImplemented, "\"", name,
        "\" not implemented for '", type_name_of(t.dtype()), "'");
}

void check_device(const Tensor& a, const Tensor& b) {
  check(a.device() == b.device(), "Expected all tensors to be on the same device, but found at "
        "least two devices, cpu and meta!");
}

// ---- Unpooling

void infer_unpooled(Infer& r, const Tensor& self, const Tensor& indices, Ints output, int64_t n) {
  const bool flat = n == 2;
  const char* name = flat ? "max_unpooling2d" : "max_unpooling3d";
  check(int64_t(output.size()) == n, "There should be exactly ",
        flat ? "two elements (height, width)" : "three elements (depth, height, width)",
        " in output_size, but got ", int64_t(output.size()), " elements.");
  check(indices.dtype() == DType::Int64, "elements in indices should be type int64",
        flat ? text(" but got: ", type_name_of(indices.dtype())) : std::string());
  check(self.dim() == n + 1 || self.dim() == n + 2, "Input to ", name, " should be a ", n + 1,
        "d or ", n + 2, "d Tensor, but got a tensor with ", self.dim(), " dimensions.");
  check(self.sizes() == indices.sizes(), "Expected shape of indices to be same as that of the "
        "input tensor (", self.sizes(), ") but got indices tensor with shape: ", indices.sizes());
  for (int64_t d = 1; d < self.dim(); ++d)
    check(self->sizes[d] > 0, name, "_forward_out_cpu(): Expected input to have non-zero size for "
          "non-batch dimensions, but got ", self.sizes(), " with dimension ", d,
          " being empty.");
  for (int64_t s : output)
    check(s >= 0, name, "(): output_size must contain non-negative spatial dimensions, but got "
          "output_size=", braced(output));
  check_float(self, flat ? "max_unpool2d" : "max_unpool3d");
  check_device(self, indices);
  Dims sizes(self.sizes());
  for (int64_t d = 0; d < n; ++d) sizes[size_t(self.dim() - n + d)] = output[size_t(d)];
  if (flat) result_in_format(r, sizes, self, self.dtype());
  else r.result(sizes, self.dtype(), self.device());
}

void unpool(const Tensor& result, const Tensor& self, const Tensor& indices, Ints output) {
  if (result.numel() == 0) return;
  const Tensor x = dense(self), at = dense(indices);
  const int64_t area = numel_of(output);
  const int64_t* places = at.ptr<int64_t>();
  for (int64_t i = 0; i < at.numel(); ++i)
    check(uint64_t(places[i]) < uint64_t(area), "Found an invalid max index: ", places[i],
          " (output volumes are of size ", times(output), ")");
  const Tensor y = result.is_contiguous() ? result : empty(result.sizes(), result.dtype());
  const int64_t planes = y.numel() / area, count = x.numel() / std::max<int64_t>(planes, 1);
  set_zero(y);
  dispatch(x.dtype(), [&](auto* t) {
    using T = pointee<decltype(t)>;
    parallel_for(0, planes, 1 + 16384 / (count + 1), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        T* to = y.ptr<T>() + p * area;
        const T* from = x.ptr<T>() + p * count;
        for (int64_t i = 0; i < count; ++i) to[places[p * count + i]] = from[i];
      }
    });
  });
  if (!y.same(result)) copy_data(result, y);
}

// The elements of the result's gradient at the places written.
Tensor unpool_backward(const Tensor& grad, const Tensor& indices, int64_t n) {
  Dims flat;
  for (int64_t d = 0; d < grad.dim() - n; ++d) flat.push_back(grad->sizes[d]);
  flat.push_back(1);
  const auto flattened = [&](const Tensor& t) {
    int64_t count = 1;
    for (int64_t d = t.dim() - n; d < t.dim(); ++d) count *= t->sizes[d];
    flat.back() = count;
    return reshape(t, Ints(flat));
  };
  const Tensor picked = gather(flattened(grad), -1, flattened(indices), false);
  return reshape(picked, indices.sizes());
}

}  // namespace

static const auto max_unpool2d = define<Tensor(Tensor, Tensor, Ints)>(
    "max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor")
  .doc("Each element at its place of a larger plane, zeros elsewhere.")
  .node("MaxUnpool2DBackward0")
  .forms(NN | Out)
  .exact_out()
  .autocast(Autocast::Float)
  .infer([](Infer& r, const Tensor& self, const Tensor& indices, Ints output) {
    infer_unpooled(r, self, indices, output, 2);
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& indices, Ints output) {
    unpool(result, self, indices, output);
  })
  .grad("self", "grad, indices", [](const Tensor& grad, const Tensor& indices) {
    return unpool_backward(grad, indices, 2);
  });

static const auto max_unpool3d = define<Tensor(Tensor, Tensor, Ints, Ints, Ints)>(
    "max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, "
    "int[3] padding) -> Tensor")
  .doc("Each element at its place of a larger volume, zeros elsewhere.")
  .node("MaxUnpool3DBackward0")
  .forms(NN | Out)
  .exact_out()
  .autocast(Autocast::Float)
  .infer([](Infer& r, const Tensor& self, const Tensor& indices, Ints output, Ints stride,
            Ints padding) {
    infer_unpooled(r, self, indices, output, 3);
    const auto three = [](Ints v, const char* name) {
      check(v.size() == 3, "There should be exactly three elements (depth, height, width) in ",
            name, ", but got: ", int64_t(v.size()), " elements.");
    };
    three(stride, "stride");
    three(padding, "padding");
    for (int64_t s : stride)
      check(s > 0, "strides should be greater than zero, but got stride: ", stride);
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& indices, Ints output, Ints, Ints) {
    unpool(result, self, indices, output);
  })
  .grad("self", "grad, indices", [](const Tensor& grad, const Tensor& indices) {
    return unpool_backward(grad, indices, 3);
  });

// ---- Fractional max pooling (Graham 2014, arXiv:1412.6071, section 2)

namespace {

const char* const kAxes[] = {"time", "height", "width"};

void check_samples(const Tensor& self, const Tensor& samples, int64_t n, bool batched) {
  const int64_t batch = batched ? self->sizes[0] : 1, channels = self.size(-n - 1);
  check(samples.dtype() == self.dtype(), "Expect _random_samples to have the same dtype as input");
  check(samples.dim() == 3, "Expect _random_samples to have 3 dimensions, got ", samples.dim());
  check(samples->sizes[0] >= batch,
        "Expect _random_samples.size(0) no less then input batch size.");
  check(samples->sizes[1] == channels,
        "Expect _random_samples.size(1) equals to input channel size.");
  check(samples->sizes[2] == n, "Expect _random_samples.size(2) equals to ", n, "; got ",
        samples->sizes[2], ".");
}

void infer_fractional(Infer& r, const Tensor& self, Ints kernel, Ints output,
                      const Tensor& samples, int64_t n) {
  const std::string name = n == 2 ? "fractional_max_pool2d" : "fractional_max_pool3d";
  const std::string said = name + (n == 2 ? "()" : "_out()");
  const char* what = n == 2 ? "Ints" : "three Ints";
  check(int64_t(kernel.size()) == n, name, ": kernel_size must either be a single Int or tuple of ",
        what);
  check(int64_t(output.size()) == n, name, ": output_size must either be a single Int or tuple of ",
        what);
  check(self.dim() == n + 1 || self.dim() == n + 2, said, ": Expected ", n + 1, "D or ", n + 2,
        "D tensor, but got: ", self.sizes());
  const bool batched = self.dim() == n + 2;
  for (int64_t d = batched; d < self.dim(); ++d)
    check(self->sizes[d] > 0, said, ": Expected input to have non-zero size for non-batch "
          "dimensions, but got", self.sizes(), " with dimension ", d, " being empty.");
  Dims sizes(self.sizes());
  for (int64_t i = 0; i < n; ++i) {
    const int64_t d = n == 3 && i ? 3 - i : i;  // depth, width, height
    int64_t& size = sizes[size_t(self.dim() - n + d)];
    const int64_t k = kernel[size_t(d)], out = output[size_t(d)];
    check(k >= 0 && k <= size && (n == 2 ? out <= size - k + 1 : out <= size - k), said, ": pool ",
          kAxes[3 - n + d], " ", k, " too large relative to input ", kAxes[3 - n + d], " ", size);
    size = out;
  }
  check_samples(self, samples, n, batched);
  check_float(self, "fractional_max_pool_out_frame");
  check_device(self, samples);
  r.result(sizes, self.dtype(), self.device());
  r.result(sizes, DType::Int64, self.device());
}

// Where each of `out` windows of k elements begins; the last one ends with the input.
template <class T>
std::vector<int64_t> window_starts(T sample, int64_t in, int64_t out, int64_t k) {
  std::vector<int64_t> starts(static_cast<size_t>(out));
  const int64_t last = in - k;
  const T step = out > 1 ? T(last) / T(out - 1) : T(0);
  const auto cell = [](T v) { return v > -1e9 && v < 1e9 ? int64_t(v) : 0; };
  for (int64_t i = 0; i + 1 < out; ++i)  // whatever the sample is, windows stay inside
    starts[size_t(i)] = std::min(std::max<int64_t>(cell((T(i) + sample) * step) -
                                                   cell(sample * step), 0), last);
  if (out > 0) starts[size_t(out - 1)] = last;
  return starts;
}

struct Fractional {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
};

// One plane; S is the type that samples are computed in.
template <class T, class S, class Read>
void pool_plane(const Fractional& f, T* values, int64_t* places, const T* from, const S* sample,
                Read read) {
  std::vector<int64_t> starts[3];
  for (int d = 0; d < 3; ++d) starts[d] = window_starts(sample[d], f.in[d], f.out[d], f.kernel[d]);
  int64_t to = 0;
  for (const int64_t z : starts[0])
    for (const int64_t y : starts[1])
      for (const int64_t x : starts[2]) {
        int64_t place = (z * f.in[1] + y) * f.in[2] + x;
        S best = -std::numeric_limits<S>::infinity();
        T kept = T(Scalar(double(best)).template to<T>());
        for (int64_t k = z; k < z + f.kernel[0]; ++k)
          for (int64_t j = y; j < y + f.kernel[1]; ++j)
            for (int64_t i = x; i < x + f.kernel[2]; ++i) {
              const int64_t at = (k * f.in[1] + j) * f.in[2] + i;
              const S v = read(from[at]);
              if (v > best || v != v) {
                best = v;
                kept = from[at];
                place = at;
              }
            }
        values[to] = kept;
        places[to++] = place;
      }
}

void fractional_pool(const Tensor& output, const Tensor& indices, const Tensor& self, Ints kernel,
                     const Tensor& samples, int64_t n) {
  if (output.numel() == 0) return;
  const Tensor x = dense(self), random = dense(samples);
  const Tensor y = output.is_contiguous() ? output : empty(output.sizes(), output.dtype());
  const Tensor at = indices.is_contiguous() ? indices : empty(indices.sizes(), DType::Int64);
  Fractional f;
  for (int64_t d = 0; d < n; ++d) {
    f.in[3 - n + d] = x.size(d - n);
    f.out[3 - n + d] = y.size(d - n);
    f.kernel[3 - n + d] = kernel[size_t(d)];
  }
  dispatch(x.dtype(), [&](auto* t) {
    using T = pointee<decltype(t)>;
    using S = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto read = [](T v) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return to_float(v);
      else if constexpr (std::is_floating_point_v<T>) return S(v);
      else return S(0);
    };
    const int64_t planes = y.numel() / f.out_size();
    parallel_for(0, planes, 1 + 16384 / (f.in_size() + 1), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        S sample[3] = {0, 0, 0};
        // The numbers of a plane's sample go with width first, those of a volume's with depth.
        for (int64_t d = 0; d < n; ++d)
          sample[n == 2 ? 2 - d : d] = read(random.ptr<T>()[p * n + d]);
        pool_plane(f, y.ptr<T>() + p * f.out_size(), at.ptr<int64_t>() + p * f.out_size(),
                   x.ptr<T>() + p * f.in_size(), sample, read);
      }
    });
  });
  if (!y.same(output)) copy_data(output, y);
  if (!at.same(indices)) copy_data(indices, at);
}

#define RL_FRACTIONAL(N, NODE)                                                                   \
  const auto fractional_max_pool##N##d = define<Two(Tensor, Ints, Ints, Tensor)>(                \
      "fractional_max_pool" #N "d(Tensor self, int[" #N "] kernel_size, "                        \
      "int[" #N "] output_size, Tensor random_samples) -> (Tensor, Tensor)")                     \
    .doc("Maxima of windows placed by random numbers, and their positions.")                     \
    .node(NODE)                                                                                  \
    .nondiff("result1")                                                                          \
    .forms(NN | Out)                                                                             \
    .autocast(Autocast::Float)                                                                   \
    .infer([](Infer& r, const Tensor& self, Ints kernel, Ints output, const Tensor& samples) {   \
      infer_fractional(r, self, kernel, output, samples, N);                                     \
    })                                                                                           \
    .kernel([](Tensor& output, Tensor& indices, const Tensor& self, Ints kernel, Ints,           \
               const Tensor& samples) {                                                          \
      fractional_pool(output, indices, self, kernel, samples, N);                                \
    })                                                                                           \
    .grad("self", "grad.result, result1, self", [](const Tensor& grad, const Tensor& indices,    \
                                                   const Tensor& self) {                         \
      return max_pool_backward(grad, indices, self.sizes(), N);                                  \
    })
RL_FRACTIONAL(2, "FractionalMaxPool2DBackward0");
RL_FRACTIONAL(3, "FractionalMaxPool3DBackward0");
#undef RL_FRACTIONAL

}  // namespace

}  // namespace rl::ops
