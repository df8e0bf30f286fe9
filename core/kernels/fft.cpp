// Fourier transforms of rows and columns: which way each takes, its working memory, its threads.
#include "kernels/fft.h"

#include <algorithm>
#include <cstring>

#include "base/allocator.h"
#include "base/parallel.h"
#include "kernels/fft_plan.h"
#include "kernels/scratch.h"

namespace rl::kernels {
namespace {

// Working memory: the thread's own where it is small, else from the allocator.
class Memory {
 public:
  Memory(Scratch use, int64_t bytes) : bytes_(size_t(bytes)), own_(bytes > kMostScratch) {
    data_ = own_ ? allocate_block(bytes_) : scratch(use, bytes_);
  }
  ~Memory() { if (own_) release_block(data_, bytes_); }
  Memory(const Memory&) = delete;
  void* data() const { return data_; }

 private:
  static constexpr int64_t kMostScratch = 4 << 20;
  size_t bytes_;
  bool own_;
  void* data_;
};

// Four planes, which begin at different cache sets. A long transform's are in use while its parts
// ask for theirs.
template <class T> class Room {
 public:
  explicit Room(int64_t elements, Scratch use = Scratch::Planes)
      : each_((elements + 15) / 16 * 16 + 80), memory_(use, 4 * each_ * int64_t(sizeof(T))) {
    T* const p = static_cast<T*>(memory_.data());
    at = {p, p + each_, p + 2 * each_, p + 3 * each_};
  }
  FftPlanes<T> at;

 private:
  int64_t each_;
  Memory memory_;
};

template <class T> void run_passes(const FftPlan<T>& plan, int64_t lanes, FftPlanes<T>& at) {
  const auto& passes = plan.passes;
  if (fft_loops<T>().passes(passes.data(), int(passes.size()), lanes, at.re, at.im, at.work_re,
                            at.work_im)) {
    at = {at.work_re, at.work_im, at.re, at.im};
  }
}
// A transform of swapped parts is the backward transform, swapped.
template <class T> FftPlanes<T> swapped(const FftPlanes<T>& p) {
  return {p.im, p.re, p.work_im, p.work_re};
}

// About 20 microseconds of work on transforms of n points each.
int64_t grain_of(int64_t n) {
  const int64_t passes = (64 - __builtin_clzll(uint64_t(n))) / 3 + 2;
  return std::max<int64_t>(1, 80000 / (n * passes + 100));
}
// f(begin, end) for ranges of a simple loop that are worth a thread. Their borders do not depend on
// the number of threads: at the ends of ranges numbers are rounded in another way.
constexpr int64_t kRange = 16384;
template <class F> void in_ranges(int64_t n, F f) {
  if (n <= kRange) return f(int64_t(0), n);
  parallel_for(0, (n + kRange - 1) / kRange, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i * kRange, std::min(n, (i + 1) * kRange));
  });
}

// What a transform reads and writes: planes, or memory where the parts alternate (im is null).
template <class P> struct Numbers {
  P *re, *im;
};

// Note [Steps]
// With j = second j1 + j2 and k = k1 + first k2, a transform of n = first * second points is:
// transforms over j1 of the columns j2; factors exp(-2 pi i j2 k1 / n); transforms over j2 of the
// rows k1. Both are done kFftLanes at a time, side by side in the cache (Bailey, FFTs in external
// or hierarchical memory, 1990).
template <class T> class InSteps {
 public:
  InSteps(const FftPlan<T>& plan, T* work_re, T* work_im)
      : plan_(plan), work_re_(work_re), work_im_(work_im), pitch_(plan.steps_pitch()) {}

  void run(Numbers<const T> from, Numbers<T> to, bool forward, T scale) const {
    const int64_t first = plan_.first->n, second = plan_.second->n;
    parallel_for(0, (second + L - 1) / L, grain_of(first * L), [&](int64_t begin, int64_t end) {
      Room<T> room(first * L + kFftPadding);
      for (int64_t b = begin; b < end; ++b) columns(b, from, forward, room.at);
    });
    parallel_for(0, (first + L - 1) / L, grain_of(second * L), [&](int64_t begin, int64_t end) {
      Room<T> room(second * L + kFftPadding);
      for (int64_t b = begin; b < end; ++b) rows(b, to, forward, scale, room.at);
    });
  }

 private:
  static constexpr int64_t L = kFftLanes<T>;
  const FftLoops<T>& loops_ = fft_loops<T>();

  void columns(int64_t block, Numbers<const T> from, bool forward, FftPlanes<T> at) const {
    const int64_t first = plan_.first->n, second = plan_.second->n, at_column = block * L;
    const int64_t count = std::min(L, second - at_column);
    if (!forward) at = swapped(at);
    if (from.im) {
      for (int64_t j = 0; j < first; ++j) {
        std::memcpy(at.re + j * L, from.re + j * second + at_column, size_t(count) * sizeof(T));
        std::memcpy(at.im + j * L, from.im + j * second + at_column, size_t(count) * sizeof(T));
      }
    } else {
      loops_.split_block(from.re + 2 * at_column, first, 2 * second, count, at.re, at.im);
    }
    if (!forward) at = swapped(at);
    run_passes(*plan_.first, L, at);
    loops_.twist(at.re, at.im, plan_.lane_re.data(), plan_.lane_im.data(),
                 plan_.base.data() + block * first * 2, first);
    for (int64_t k = 0; k < first; ++k) {
      std::memcpy(work_re_ + k * pitch_ + at_column, at.re + k * L, size_t(L) * sizeof(T));
      std::memcpy(work_im_ + k * pitch_ + at_column, at.im + k * L, size_t(L) * sizeof(T));
    }
  }

  void rows(int64_t block, Numbers<T> to, bool forward, T scale, FftPlanes<T> at) const {
    const int64_t first = plan_.first->n, second = plan_.second->n, at_row = block * L;
    const int64_t count = std::min(L, first - at_row);
    loops_.turn_in(work_re_ + at_row * pitch_, pitch_, count, second, at.re, nullptr);
    loops_.turn_in(work_im_ + at_row * pitch_, pitch_, count, second, at.im, nullptr);
    run_passes(*plan_.second, L, at);
    if (!forward) at = swapped(at);
    if (to.im) {
      for (int64_t k = 0; k < second; ++k) {
        std::memcpy(to.re + k * first + at_row, at.re + k * L, size_t(count) * sizeof(T));
        std::memcpy(to.im + k * first + at_row, at.im + k * L, size_t(count) * sizeof(T));
      }
    } else {
      loops_.join_block(at.re, at.im, second, 2 * first, count, scale, to.re + 2 * at_row);
    }
  }

  const FftPlan<T>& plan_;
  T *work_re_, *work_im_;
  int64_t pitch_;
};

template <class T>
void multiply(T* re, T* im, const std::vector<T>& by_re, const std::vector<T>& by_im) {
  in_ranges(int64_t(by_re.size()), [&](int64_t begin, int64_t end) {
    fft_loops<T>().multiply(re + begin, im + begin, by_re.data() + begin, by_im.data() + begin,
                            end - begin);
  });
}

// Bluestein's algorithm (1970): with j k = (j^2 + k^2 - (k - j)^2) / 2 the transform becomes a
// convolution with exp(pi i j^2 / n), between two products with its conjugate, the chirp.
template <class T> void by_convolution(const FftPlan<T>& plan, FftPlanes<T>& at) {
  multiply(at.re, at.im, plan.chirp_re, plan.chirp_im);
  const int64_t length = plan.first->n;
  std::fill(at.re + plan.n, at.re + length, T(0));
  std::fill(at.im + plan.n, at.im + length, T(0));
  fft_in_planes(*plan.first, at);
  multiply(at.re, at.im, plan.kernel_re, plan.kernel_im);
  at = swapped(at);
  fft_in_planes(*plan.first, at);
  at = swapped(at);
  multiply(at.re, at.im, plan.chirp_re, plan.chirp_im);
}

template <class T> void split(const T* in, int64_t n, T* re, T* im) {
  in_ranges(n, [&](int64_t begin, int64_t end) {
    fft_loops<T>().split(in + 2 * begin, end - begin, re + begin, im + begin);
  });
}
template <class T> void join(const T* re, const T* im, int64_t n, T scale, T* out) {
  in_ranges(n, [&](int64_t begin, int64_t end) {
    fft_loops<T>().join(re + begin, im + begin, end - begin, scale, out + 2 * begin);
  });
}

template <class T>
void one_row(const FftPlan<T>& plan, bool forward, T scale, const T* in, T* out) {
  if (plan.kind == FftPlan<T>::Steps) {  // straight from and to memory: two planes will do
    const Memory work(Scratch::Image, 2 * plan.room() * int64_t(sizeof(T)));
    T* const re = static_cast<T*>(work.data());
    InSteps<T>(plan, re, re + plan.room()).run({in, nullptr}, {out, nullptr}, forward, scale);
    return;
  }
  Room<T> room(plan.room(), Scratch::Image);
  FftPlanes<T>& at = room.at;
  if (!forward) at = swapped(at);
  split(in, plan.n, at.re, at.im);
  if (!forward) at = swapped(at);
  fft_in_planes(plan, at);
  if (!forward) at = swapped(at);
  join<T>(at.re, at.im, plan.n, scale, out);
}

// Of n real numbers: of pairs of them as half as many complex ones, if n is even.
template <class T>
void one_row_of_real(const FftPlan<T>& plan, const FftRoots<T>* roots, int64_t n, bool twosided,
                     T scale, const T* in, T* out) {
  Room<T> room(plan.room(), Scratch::Image);
  FftPlanes<T>& at = room.at;
  if (!roots) {
    std::memcpy(at.re, in, size_t(n) * sizeof(T));
    std::memset(at.im, 0, size_t(n) * sizeof(T));
    fft_in_planes(plan, at);
    join<T>(at.re, at.im, n / 2 + 1, scale, out);
    out[1] = 0;
  } else {
    if (plan.kind == FftPlan<T>::Steps) {
      InSteps<T>(plan, at.work_re, at.work_im).run({in, nullptr}, {at.re, at.im}, true, T(1));
    } else {
      split(in, n / 2, at.re, at.im);
      fft_in_planes(plan, at);
    }
    in_ranges(n / 2, [&](int64_t begin, int64_t end) {
      fft_loops<T>().real_after(at.re, at.im, roots->cos.data(), roots->sin.data(), n / 2, begin,
                                end, scale, out);
    });
  }
  if (twosided) fft_loops<T>().mirror(out, n);
}

template <class T>
void one_row_to_real(const FftPlan<T>& plan, const FftRoots<T>* roots, int64_t n, T scale,
                     const T* in, T* out) {
  Room<T> room(plan.room(), Scratch::Image);
  FftPlanes<T>& at = room.at;
  if (!roots) {
    at.re[0] = in[0];
    at.im[0] = 0;
    for (int64_t k = 1; k <= n / 2; ++k) {
      at.re[k] = at.re[n - k] = in[2 * k];
      at.im[k] = in[2 * k + 1];
      at.im[n - k] = -in[2 * k + 1];
    }
    at = swapped(at);
    fft_in_planes(plan, at);
    for (int64_t j = 0; j < n; ++j) out[j] = at.im[j] * scale;
    return;
  }
  in_ranges(n / 2, [&](int64_t begin, int64_t end) {
    fft_loops<T>().real_before(in, roots->cos.data(), roots->sin.data(), n / 2, begin, end, at.re,
                               at.im);
  });
  if (plan.kind == FftPlan<T>::Steps) {
    InSteps<T>(plan, at.work_re, at.work_im).run({at.re, at.im}, {out, nullptr}, false, scale);
    return;
  }
  at = swapped(at);
  fft_in_planes(plan, at);
  join<T>(at.im, at.re, n / 2, scale, out);
}

// Many short rows go side by side: kFftLanes at a time, turned to columns.
template <class T> bool side_by_side(const FftPlan<T>& plan, int64_t count) {
  return plan.kind == FftPlan<T>::Passes && plan.n <= 384 && count >= kFftLanes<T> / 2;
}

// f(first row, how many) for blocks of kFftLanes rows; n: points of each.
template <class T, class F> void in_blocks(int64_t count, int64_t n, F f) {
  constexpr int64_t L = kFftLanes<T>;
  parallel_for(0, (count + L - 1) / L, grain_of(n * L), [&](int64_t begin, int64_t end) {
    Room<T> room((n + 1) * L + kFftPadding);
    for (int64_t b = begin; b < end; ++b) f(b * L, std::min(L, count - b * L), room.at);
  });
}
// f(row) for each: threads take rows where there are enough, else each row takes them all.
template <class F> void each_row(int64_t count, int64_t n, F f) {
  if (count < num_threads() && n > kRange) {
    for (int64_t i = 0; i < count; ++i) f(i);
    return;
  }
  parallel_for(0, count, grain_of(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

template <class T> void rows_of(const FftRows& r, const T* in, T* out) {
  const auto plan = fft_plan<T>(r.n);
  const FftLoops<T>& loops = fft_loops<T>();
  const T scale = T(r.scale);
  if (side_by_side(*plan, r.count)) {
    in_blocks<T>(r.count, r.n, [&](int64_t row, int64_t count, FftPlanes<T> at) {
      if (!r.forward) at = swapped(at);
      loops.turn_in(in + row * r.in_pitch * 2, r.in_pitch * 2, count, r.n * 2, at.re, at.im);
      if (!r.forward) at = swapped(at);
      run_passes(*plan, kFftLanes<T>, at);
      if (!r.forward) at = swapped(at);
      loops.turn_out(at.re, at.im, count, r.n * 2, r.out_pitch * 2, scale,
                     out + row * r.out_pitch * 2);
    });
    return;
  }
  each_row(r.count, r.n, [&](int64_t i) {
    one_row(*plan, r.forward, scale, in + i * r.in_pitch * 2, out + i * r.out_pitch * 2);
  });
}

template <class T> void rows_of_real(const FftRows& r, bool twosided, const T* in, T* out) {
  const bool even = r.n % 2 == 0;
  const int64_t h = r.n / 2;
  const auto plan = fft_plan<T>(even ? h : r.n);
  const auto roots = even ? fft_roots<T>(r.n) : nullptr;
  const FftLoops<T>& loops = fft_loops<T>();
  const T scale = T(r.scale);
  if (even && side_by_side(*plan, r.count)) {
    in_blocks<T>(r.count, h, [&](int64_t row, int64_t count, FftPlanes<T> at) {
      loops.turn_in(in + row * r.in_pitch, r.in_pitch, count, r.n, at.re, at.im);
      run_passes(*plan, kFftLanes<T>, at);
      loops.real_after_block(at.re, at.im, roots->cos.data(), roots->sin.data(), h, at.work_re,
                             at.work_im);
      loops.turn_out(at.work_re, at.work_im, count, (h + 1) * 2, r.out_pitch * 2, scale,
                     out + row * r.out_pitch * 2);
      for (int64_t i = row; twosided && i < row + count; ++i) {
        loops.mirror(out + i * r.out_pitch * 2, r.n);
      }
    });
    return;
  }
  each_row(r.count, r.n, [&](int64_t i) {
    one_row_of_real(*plan, roots.get(), r.n, twosided, scale, in + i * r.in_pitch,
                    out + i * r.out_pitch * 2);
  });
}

template <class T> void rows_to_real(const FftRows& r, const T* in, T* out) {
  const bool even = r.n % 2 == 0;
  const int64_t h = r.n / 2;
  const auto plan = fft_plan<T>(even ? h : r.n);
  const auto roots = even ? fft_roots<T>(r.n) : nullptr;
  const FftLoops<T>& loops = fft_loops<T>();
  const T scale = T(r.scale);
  if (even && side_by_side(*plan, r.count)) {
    in_blocks<T>(r.count, h, [&](int64_t row, int64_t count, FftPlanes<T> at) {
      loops.turn_in(in + row * r.in_pitch * 2, r.in_pitch * 2, count, (h + 1) * 2, at.work_re,
                    at.work_im);
      loops.real_before_block(at.work_re, at.work_im, roots->cos.data(), roots->sin.data(), h,
                              at.re, at.im);
      at = swapped(at);
      run_passes(*plan, kFftLanes<T>, at);
      loops.turn_out(at.im, at.re, count, r.n, r.out_pitch, scale, out + row * r.out_pitch);
    });
    return;
  }
  each_row(r.count, r.n, [&](int64_t i) {
    one_row_to_real(*plan, roots.get(), r.n, scale, in + i * r.in_pitch * 2,
                    out + i * r.out_pitch);
  });
}

// Columns that are too long, or of awkward lengths: copied to rows and back.
template <class T>
void columns_as_rows(const FftPlan<T>& plan, int64_t outer, int64_t inner, bool forward, T scale,
                     T* data) {
  constexpr int64_t L = kFftLanes<T>;
  const int64_t n = plan.n, blocks = (inner + L - 1) / L;
  each_row(outer * blocks, n * L, [&](int64_t i) {
    const int64_t first = i % blocks * L, count = std::min(L, inner - first);
    T* const columns = data + (i / blocks * n * inner + first) * 2;
    const Memory memory(Scratch::Column, n * count * 2 * int64_t(sizeof(T)));
    T* const rows = static_cast<T*>(memory.data());
    const size_t one = 2 * sizeof(T);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < count; ++l)
        std::memcpy(rows + (l * n + j) * 2, columns + (j * inner + l) * 2, one);
    for (int64_t l = 0; l < count; ++l)
      one_row(plan, forward, scale, rows + l * n * 2, rows + l * n * 2);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < count; ++l)
        std::memcpy(columns + (j * inner + l) * 2, rows + (l * n + j) * 2, one);
  });
}

template <class T>
void columns_of(int64_t outer, int64_t n, int64_t inner, bool forward, T scale, T* data) {
  constexpr int64_t L = kFftLanes<T>;
  const auto plan = fft_plan<T>(n);
  if (plan->kind != FftPlan<T>::Passes || n > 8192) {
    return columns_as_rows(*plan, outer, inner, forward, scale, data);
  }
  const FftLoops<T>& loops = fft_loops<T>();
  const int64_t blocks = (inner + L - 1) / L;
  parallel_for(0, outer * blocks, grain_of(n * L), [&](int64_t begin, int64_t end) {
    Room<T> room(n * L + kFftPadding);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * L, count = std::min(L, inner - first);
      T* const p = data + (i / blocks * n * inner + first) * 2;
      FftPlanes<T> at = forward ? room.at : swapped(room.at);
      loops.split_block(p, n, inner * 2, count, at.re, at.im);
      if (!forward) at = swapped(at);
      run_passes(*plan, L, at);
      if (!forward) at = swapped(at);
      loops.join_block(at.re, at.im, n, inner * 2, count, scale, p);
    }
  });
}

template <class T> const T* of(const void* p) { return static_cast<const T*>(p); }
template <class T> T* of(void* p) { return static_cast<T*>(p); }

}  // namespace

template <class T> void fft_in_planes(const FftPlan<T>& plan, FftPlanes<T>& at) {
  if (plan.kind == FftPlan<T>::Passes) return run_passes(plan, 1, at);
  if (plan.kind == FftPlan<T>::Convolution) return by_convolution(plan, at);
  InSteps<T>(plan, at.work_re, at.work_im).run({at.re, at.im}, {at.re, at.im}, true, T(1));
}
template void fft_in_planes(const FftPlan<float>&, FftPlanes<float>&);
template void fft_in_planes(const FftPlan<double>&, FftPlanes<double>&);

void fft_rows(DType real, const FftRows& r, const void* in, void* out) {
  if (real == DType::Float) rows_of(r, of<float>(in), of<float>(out));
  else rows_of(r, of<double>(in), of<double>(out));
}
void fft_rows_of_real(DType real, const FftRows& r, bool twosided, const void* in, void* out) {
  if (real == DType::Float) rows_of_real(r, twosided, of<float>(in), of<float>(out));
  else rows_of_real(r, twosided, of<double>(in), of<double>(out));
}
void fft_rows_to_real(DType real, const FftRows& r, const void* in, void* out) {
  if (real == DType::Float) rows_to_real(r, of<float>(in), of<float>(out));
  else rows_to_real(r, of<double>(in), of<double>(out));
}
void fft_columns(DType real, int64_t outer, int64_t n, int64_t inner, bool forward, double scale,
                 void* data) {
  if (real == DType::Float) columns_of(outer, n, inner, forward, float(scale), of<float>(data));
  else columns_of(outer, n, inner, forward, scale, of<double>(data));
}

}  // namespace rl::kernels
