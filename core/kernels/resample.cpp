// Resampling: one dimension after another, the last one first, on blocks that stay in the cache.
#include "kernels/resample.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "kernels/half_copies.h"
#include "kernels/levels/resample.h"
#include "kernels/resample_fixed.h"
#include "kernels/resample_taps.h"

namespace rl::kernels {
namespace {

constexpr int64_t kBlockBytes = 128 * 1024;  // of what is kept between two dimensions
constexpr int64_t kFewChannels = 16;         // fewer are gathered with their neighbours

// The taps of lines of cells as taps of their elements.
template <class T> Taps<T> with_channels(const Taps<T>& taps, int64_t inner) {
  Taps<T> t = taps;
  t.in *= inner;
  t.out *= inner;
  t.index.resize(size_t(t.width * t.out));
  t.weight.resize(size_t(t.width * t.out));
  for (int64_t i = 0; i < taps.width * taps.out; ++i)
    for (int64_t c = 0; c < inner; ++c) {
      t.index[size_t(i * inner + c)] = int32_t(taps.index[size_t(i)] * inner + c);
      t.weight[size_t(i * inner + c)] = taps.weight[size_t(i)];
    }
  return t;
}

template <class T> class Resampler {
 public:
  explicit Resampler(const Resampling& r) : spatial_(r.spatial), inner_(r.inner) {
    for (int d = 0; d < 3; ++d) {
      axes_[d] = r.backward ? transposed(taps_of<T>(r, d)) : taps_of<T>(r, d);
      same_[d] = axes_[d].identity();
    }
    if (inner_ > 1 && inner_ < kFewChannels) {
      axes_[2] = with_channels(axes_[2], inner_);
      inner_ = 1;
    }
    outer_ = 3 - spatial_;
    slice_in_ = slice_out_ = spatial_ > 1 ? inner_ : 1;
    for (int d = outer_ + 1; d < 3; ++d) {
      slice_in_ *= axes_[d].in;
      slice_out_ *= axes_[d].out;
    }
    inside_same_ = true;
    for (int d = outer_ + 1; d < 3; ++d) inside_same_ &= same_[d];
  }

  void run(int64_t planes, T* out, const T* in) const {
    const Taps<T>& outer = axes_[outer_];
    const int64_t unit = spatial_ > 1 ? 1 : inner_;
    const int64_t plane_in = outer.in * slice_in_ * unit;
    const int64_t plane_out = outer.out * slice_out_ * unit;
    const int64_t step = block_size(), blocks = (outer.out + step - 1) / step;
    const int64_t grain = 1 + 16384 / (std::min(step, outer.out) * slice_out_ * unit + 1);
    parallel_for(0, planes * blocks, grain, [&](int64_t begin, int64_t end) {
      std::vector<T> kept, line;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = i % blocks * step;
        block(out + i / blocks * plane_out, in + i / blocks * plane_in, from,
              std::min(from + step, outer.out), kept, line);
      }
    });
  }

 private:
  // Results along the outermost dimension done at once.
  int64_t block_size() const {
    const Taps<T>& outer = axes_[outer_];
    const double per_result = double(outer.in) / double(outer.out) * double(slice_out_) * sizeof(T);
    return std::max<int64_t>(int64_t(double(kBlockBytes) / per_result), 16);
  }

  void block(T* out, const T* in, int64_t begin, int64_t end, std::vector<T>& kept,
             std::vector<T>& line) const {
    const Taps<T>& outer = axes_[outer_];
    if (spatial_ == 1) {
      along_line(out, in, begin, end);
      return;
    }
    if (same_[outer_]) {
      inside(out + begin * slice_out_, in + begin * slice_in_, end - begin, line);
      return;
    }
    int64_t low = outer.in, high = 0;
    for (int64_t k = 0; k < outer.width; ++k)
      for (int64_t o = begin; o < end; ++o) {
        low = std::min<int64_t>(low, outer.index[size_t(k * outer.out + o)]);
        high = std::max<int64_t>(high, outer.index[size_t(k * outer.out + o)] + 1);
      }
    const T* slices = in + low * slice_in_;
    if (!inside_same_) {
      const size_t needed = size_t((high - low) * slice_out_);
      if (kept.size() < needed) kept.resize(needed);
      inside(kept.data(), slices, high - low, line);
      slices = kept.data();
    }
    rows(out + begin * slice_out_, slices, outer, begin, end, low, slice_out_);
  }

  // Results [begin, end) of a dimension whose cells are n elements and begin with cell `low`.
  static void rows(T* out, const T* in, const Taps<T>& taps, int64_t begin, int64_t end,
                   int64_t low, int64_t n) {
    std::vector<const T*> cells(static_cast<size_t>(taps.width));
    std::vector<T> weights(static_cast<size_t>(taps.width));
    for (int64_t o = begin; o < end; ++o, out += n) {
      int64_t width = 0;
      for (int64_t k = 0; k < taps.width; ++k) {
        const size_t at = size_t(k * taps.out + o);
        if (k && taps.filled && taps.weight[at] == 0) continue;
        cells[size_t(width)] = in + (taps.index[at] - low) * n;
        weights[size_t(width++)] = taps.weight[at];
      }
      if (width == 1 && weights[0] == 1) std::memcpy(out, cells[0], size_t(n) * sizeof(T));
      else resample_loops<T>().combine(out, cells.data(), weights.data(), width, n);
    }
  }

  void along_line(T* out, const T* in, int64_t begin, int64_t end) const {
    const Taps<T>& taps = axes_[2];
    if (inner_ > 1) {
      rows(out + begin * inner_, in, taps, begin, end, 0, inner_);
    } else {
      Gathering<T> part = gathering(taps);
      part.n = end - begin;
      part.index += begin;
      part.weight += begin;
      resample_loops<T>().gather(out + begin, 0, in, 0, 1, part);
    }
  }

  static Gathering<T> gathering(const Taps<T>& taps) {
    return {taps.out, taps.out, taps.width, taps.index.data(), taps.weight.data(), taps.filled};
  }

  // The last dimension of `lines` lines.
  void lines(T* out, const T* in, int64_t lines) const {
    const Taps<T>& taps = axes_[2];
    if (inner_ == 1) {
      resample_loops<T>().gather(out, taps.out, in, taps.in, lines, gathering(taps));
      return;
    }
    for (int64_t l = 0; l < lines; ++l)
      rows(out + l * taps.out * inner_, in + l * taps.in * inner_, taps, 0, taps.out, 0, inner_);
  }

  // All but the outermost dimension of `slices` slices.
  void inside(T* out, const T* in, int64_t slices, std::vector<T>& line) const {
    if (inside_same_) {
      std::memcpy(out, in, size_t(slices * slice_out_) * sizeof(T));
      return;
    }
    if (spatial_ == 2) {
      lines(out, in, slices);
      return;
    }
    const Taps<T>& middle = axes_[1];
    const int64_t row = axes_[2].out * inner_;
    if (line.size() < size_t(middle.in * row)) line.resize(size_t(middle.in * row));
    for (int64_t s = 0; s < slices; ++s) {
      lines(line.data(), in + s * slice_in_, middle.in);
      rows(out + s * slice_out_, line.data(), middle, 0, middle.out, 0, row);
    }
  }

  int spatial_, outer_ = 0;
  int64_t inner_, slice_in_ = 1, slice_out_ = 1;
  bool same_[3], inside_same_ = false;
  Taps<T> axes_[3];
};

// Calls f(result, operand) with float or double pointers.
template <class F>
void in_floats(DType dtype, void* result, int64_t result_count, const void* operand,
               int64_t operand_count, F&& f) {
  if (dtype == DType::Float) {
    f(static_cast<float*>(result), static_cast<const float*>(operand));
  } else if (dtype == DType::Double) {
    f(static_cast<double*>(result), static_cast<const double*>(operand));
  } else {
    FloatCopy from(dtype, operand, operand_count), to(result_count);
    f(to.data(), static_cast<const float*>(from.data()));
    to.round(dtype, result);
  }
}

int64_t volume(const int64_t* n) { return n[0] * n[1] * n[2]; }

template <class T> void move_line(T* out, const T* in, const std::vector<int64_t>& places) {
  for (size_t i = 0; i < places.size(); ++i) out[i] = in[places[i]];
}

// Elements, or cells of them, taken from where they are nearest.
void resample_nearest(const Resampling& r, int64_t item, char* out, const char* in) {
  std::vector<int64_t> places[3];
  for (int d = 0; d < 3; ++d) places[d] = nearest_places(r, d);
  const int64_t size = item * r.inner, row_in = r.in[2] * size, row_out = r.out[2] * size;
  const int64_t rows = r.out[0] * r.out[1];
  parallel_for(0, r.planes * rows, 1 + 16384 / (row_out + 1), [&](int64_t begin, int64_t end) {
    const char* last = nullptr;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t z = i % rows / r.out[1], y = i % r.out[1];
      const char* from = in + ((i / rows * r.in[0] + places[0][size_t(z)]) * r.in[1] +
                               places[1][size_t(y)]) * row_in;
      char* to = out + i * row_out;
      if (from == last) {
        std::memcpy(to, to - row_out, size_t(row_out));
        continue;
      }
      last = from;
      if (size == 4) move_line((uint32_t*)to, (const uint32_t*)from, places[2]);
      else if (size == 8) move_line((uint64_t*)to, (const uint64_t*)from, places[2]);
      else if (size == 2) move_line((uint16_t*)to, (const uint16_t*)from, places[2]);
      else if (size == 1) move_line((uint8_t*)to, (const uint8_t*)from, places[2]);
      else
        for (size_t x = 0; x < places[2].size(); ++x)
          std::memcpy(to + int64_t(x) * size, from + places[2][x] * size, size_t(size));
    }
  });
}

}  // namespace

void resample(DType dtype, const Resampling& r, void* output, const void* input) {
  if (r.how <= Resample::NearestExact) {
    resample_nearest(r, item_size(dtype), static_cast<char*>(output),
                     static_cast<const char*>(input));
    return;
  }
  if (dtype == DType::UInt8) {
    resample_fixed(r, static_cast<uint8_t*>(output), static_cast<const uint8_t*>(input));
    return;
  }
  const int64_t cells = r.planes * r.inner;
  in_floats(dtype, output, cells * volume(r.out), input, cells * volume(r.in),
            [&]<class T>(T* to, const T* from) { Resampler<T>(r).run(r.planes, to, from); });
}

void resample_backward(DType dtype, const Resampling& r, void* grad_input,
                       const void* grad_output) {
  const int64_t cells = r.planes * r.inner;
  in_floats(dtype, grad_input, cells * volume(r.in), grad_output, cells * volume(r.out),
            [&]<class T>(T* to, const T* from) { Resampler<T>(r).run(r.planes, to, from); });
}

}  // namespace rl::kernels
