// Numbers at even steps, unit matrices and indices of triangles.
#include <cmath>

#include "ops/ops.h"
#include "ops/promotion.h"
#include "tensor/iterator.h"

namespace rl::ops {
namespace {

void infer_steps(Infer& r, const char* op, const Scalar& start, const Scalar& end, int64_t steps,
                 MaybeDType dtype, MaybeDevice device) {
  check(steps >= 0, "number of steps must be non-negative");
  DType t = dtype.value_or(default_dtype());
  if (start.is_complex() || end.is_complex()) {
    const DType found = complex_of(default_dtype());
    check(!dtype || is_complex(*dtype), "torch.", op, "(): inferred dtype ", c_name_of(found),
          " can't be safely cast to passed dtype ", type_name_of(t));
    if (!dtype) t = found;
  }
  const Device d = device_or_cpu(device);
  check(t != DType::Bool || steps <= 1 || d.is_meta(), ErrorKind::NotImplemented, "\"", op,
        "_cpu\" not implemented for 'Bool'");
  r.result({steps}, t, d);
}

// value(i): from the start for the first half, from the end for the second, so that both are met.
// Halves step in float and integers in double, as in PyTorch (RangeFactoriesKernel).
template <class Map>
void fill_steps(const Tensor& result, const Scalar& start, const Scalar& end, Map map) {
  const int64_t n = result.numel();
  dispatch(result.dtype(), [&](auto* p) {
    using T = pointee<decltype(p)>;
    using Step = std::conditional_t<std::is_integral_v<T>, double,
                 std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>>;
    const auto exact = [](const Scalar& s) {
      if constexpr (std::is_integral_v<T>) return Step(s.to<T>());
      else return s.to<Step>();
    };
    const Step a = exact(start), b = exact(end);
    const Step step = n > 1 ? (b - a) / Step(double(n - 1)) : Step(0);
    const auto at = [&](int64_t i) -> T {
      const Step v = map(i < n / 2 || n == 1 ? a + step * Step(double(i)) : b - step * Step(double(n - 1 - i)));
      if constexpr (std::is_same_v<T, Half>) return to_half(v);
      else if constexpr (std::is_same_v<T, BFloat16>) return to_bfloat16(v);
      else return T(v);
    };
    T* out = result.ptr<T>();
    parallel_for(0, n, StridedLoop::kGrain, [&](int64_t begin, int64_t stop) {
      for (int64_t i = begin; i < stop; ++i) out[i] = at(i);
    });
  });
}

void check_number(const Tensor& t, const char* op, const char* name) {
  check(t.dim() == 0, op, " only supports 0-dimensional start and end tensors, but got ", name,
        " with ", t.dim(), " dimension(s).");
}

}  // namespace

#define RL_OPTIONS "ScalarType? dtype=None, Device? device=None"

const auto linspace = define<Tensor(Scalar, Scalar, int64_t, MaybeDType, MaybeDevice)>(
    "linspace(Scalar start, Scalar end, int steps, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    `steps` numbers at even distances from `start` to `end`, both included.

    >>> torch.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
  )")
  .out({.quiet = true, .check = [](const Arg* args, const Tensor* targets) {
    const DType t = targets->dtype();
    const bool complex = args[0].scalar().is_complex() || args[1].scalar().is_complex();
    check(!complex || is_complex(t) || !args[3].is_none(), "value cannot be converted to type ",
          t == DType::Int64 ? "int64_t" : c_name_of(t), " without overflow");
  }})
  .forms(Function | Out)
  .infer([](Infer& r, const Scalar& start, const Scalar& end, int64_t steps, MaybeDType dtype, MaybeDevice device) {
    infer_steps(r, "linspace", start, end, steps, dtype, device);
  })
  .factory([](Tensor& result, const Scalar& start, const Scalar& end, int64_t, MaybeDType, MaybeDevice) {
    fill_steps(result, start, end, [](auto v) { return v; });
  });

const auto linspace_tensors = define<Tensor(Tensor, Tensor, int64_t, MaybeDType, MaybeDevice)>(
    "linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, " RL_OPTIONS ") -> Tensor")
  .number("start").number("end")
  .out({.quiet = true})
  .forms(Function | Out)
  .composite([](const Tensor& start, const Tensor& end, int64_t steps, MaybeDType dtype, MaybeDevice device) {
    check_number(start, "linspace", "start");
    check_number(end, "linspace", "end");
    if (start.is_meta() || end.is_meta()) {
      return Tensor(linspace(Scalar(0), Scalar(1), steps, dtype, Device{DeviceType::Meta}));
    }
    return Tensor(linspace(item_of(start), item_of(end), steps, dtype, device));
  });

const auto logspace = define<Tensor(Scalar, Scalar, int64_t, double, MaybeDType, MaybeDevice)>(
    "logspace(Scalar start, Scalar end, int steps, float base=10.0, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    Powers of `base` whose exponents lie at even distances from `start` to `end`.

    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
  )")
  .out({.quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, const Scalar& start, const Scalar& end, int64_t steps, double, MaybeDType dtype,
            MaybeDevice device) { infer_steps(r, "logspace", start, end, steps, dtype, device); })
  .factory([](Tensor& result, const Scalar& start, const Scalar& end, int64_t, double base, MaybeDType,
              MaybeDevice) {
    fill_steps(result, start, end, [base](auto v) {
      using V = decltype(v);
      return V(std::pow(V(base), v));
    });
  });

const auto range = define<Tensor(Scalar, Scalar, Scalar, MaybeDType, MaybeDevice)>(
    "range(Scalar start, Scalar end, Scalar step=1, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    Numbers from `start` to `end`, that one included; arange is the better choice.

    >>> torch.range(1, 3)
    tensor([1., 2., 3.])
  )")
  .forms(Function | Out)
  .infer([](Infer& r, const Scalar& start, const Scalar& end, const Scalar& step, MaybeDType dtype,
            MaybeDevice device) {
    const double a = start.to_double(), b = end.to_double(), s = step.to_double();
    warn("torch.range is deprecated and will be removed in a future release because its behavior is "
         "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values "
         "in [start, end).");
    check(s != 0, "step must be nonzero");
    check(std::isfinite(a) && std::isfinite(b), "unsupported range: ", a, " -> ", b);
    check((s > 0 && b >= a) || (s < 0 && b <= a), "upper bound and lower bound inconsistent with step sign");
    const DType t = dtype.value_or(default_dtype());
    check(!is_complex(t) && t != DType::Bool, ErrorKind::NotImplemented,
          "\"range_cpu\" not implemented for '", type_name_of(t), "'");
    r.result({int64_t((b - a) / s + 1)}, t, device_or_cpu(device));
  })
  .factory([](Tensor& result, const Scalar& start, const Scalar&, const Scalar& step, MaybeDType, MaybeDevice) {
    const double a = start.to_double(), s = step.to_double();
    dispatch(result.dtype(), [&](auto* p) {
      using T = pointee<decltype(p)>;
      for (int64_t i = 0; i < result.numel(); ++i) result.ptr<T>()[i] = Scalar(a + double(i) * s).to<T>();
    });
  });

namespace {

void infer_eye(Infer& r, int64_t n, int64_t m, MaybeDType dtype, MaybeDevice device) {
  check(n >= 0, "n must be greater or equal to 0, got ", n);
  check(m >= 0, "m must be greater or equal to 0, got ", m);
  r.result({n, m}, dtype.value_or(default_dtype()), device_or_cpu(device));
}

void fill_eye(const Tensor& result, int64_t n, int64_t m) {
  set_zero(result);
  const int64_t count = std::min(n, m);
  if (count) set_value(alias(result, {count}, {m + 1}, 0), 1);
}

}  // namespace

const auto eye = define<Tensor(int64_t, MaybeDType, MaybeDevice)>(
    "eye(int n, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    A matrix with ones on its diagonal.

    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
  )")
  .out({.internal = true, .quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, int64_t n, MaybeDType dtype, MaybeDevice device) { infer_eye(r, n, n, dtype, device); })
  .factory([](Tensor& result, int64_t n, MaybeDType, MaybeDevice) { fill_eye(result, n, n); });

const auto eye_m = define<Tensor(int64_t, int64_t, MaybeDType, MaybeDevice)>(
    "eye.m(int n, int m, *, " RL_OPTIONS ") -> Tensor")
  .out({.internal = true, .quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, int64_t n, int64_t m, MaybeDType dtype, MaybeDevice device) {
    infer_eye(r, n, m, dtype, device);
  })
  .factory([](Tensor& result, int64_t n, int64_t m, MaybeDType, MaybeDevice) { fill_eye(result, n, m); });

// ---- Indices of a matrix's triangles

namespace {

// The elements of a triangle, row by row.
class Triangle {
 public:
  Triangle(bool lower, int64_t rows, int64_t columns, int64_t offset)
      : lower_(lower), columns_(columns) {
    // Beyond the corners an offset changes nothing more.
    const Wide most = Wide(rows) + columns;
    offset_ = std::min(std::max(Wide(offset), -most), most);
    const Wide begin = lower ? std::max(-offset_, Wide(0)) : Wide(0);
    const Wide end = lower ? Wide(rows) : std::min(Wide(rows), Wide(columns) - offset_);
    begin_ = int64_t(begin);
    end_ = columns ? int64_t(std::max(std::min(end, Wide(rows)), begin)) : begin_;
    if (begin > rows) begin_ = end_ = 0;
  }
  // How many there are, INT64_MAX if more than that.
  int64_t count() const {
    if (begin_ == end_) return 0;
    // Lengths change by one from row to row, between 1 and all columns.
    const Wide first = length(lower_ ? begin_ : end_ - 1), last = length(lower_ ? end_ - 1 : begin_);
    const Wide ramp = std::min(last - first + 1, Wide(end_ - begin_));
    const double about = double(last) * double(end_ - begin_);
    if (about > 4e18) return INT64_MAX;
    return int64_t((first + last) * ramp / 2 + last * (end_ - begin_ - ramp));
  }
  template <class F> void each(F&& f) const {
    for (int64_t i = begin_; i < end_; ++i) {
      const int64_t n = int64_t(length(i)), from = lower_ ? 0 : columns_ - n;
      for (int64_t j = from; j < from + n; ++j) f(i, j);
    }
  }

 private:
  using Wide = __int128;
  Wide length(int64_t row) const {
    const Wide edge = row + offset_;
    return lower_ ? std::min(edge + 1, Wide(columns_)) : columns_ - std::max(edge, Wide(0));
  }
  bool lower_;
  int64_t columns_, begin_, end_;  // rows that have elements
  Wide offset_;
};

void infer_triangle(Infer& r, bool lower, const char* op, int64_t row, int64_t col, int64_t offset,
                    MaybeDType dtype, MaybeDevice device) {
  check(row >= 0, "row must be non-negative, got", row);
  check(col >= 0, "col must be non-negative, got", col);
  const DType t = dtype.value_or(DType::Int64);
  check(t == DType::Int64 || t == DType::Int32, ErrorKind::NotImplemented, "\"", op,
        "\" not implemented for '", type_name_of(t), "'");
  r.result({2, Triangle(lower, row, col, offset).count()}, t, device_or_cpu(device));
}

void fill_triangle(const Tensor& result, bool lower, int64_t row, int64_t col, int64_t offset) {
  const auto fill = [&](auto* rows) {
    auto* columns = rows + result.sizes()[1];
    using T = pointee<decltype(rows)>;
    Triangle(lower, row, col, offset).each([&](int64_t i, int64_t j) {
      *rows++ = T(i);
      *columns++ = T(j);
    });
  };
  if (result.dtype() == DType::Int64) fill(result.ptr<int64_t>());
  else fill(result.ptr<int32_t>());
}

}  // namespace

const auto tril_indices = define<Tensor(int64_t, int64_t, int64_t, MaybeDType, MaybeDevice)>(
    "tril_indices(int row, int col, int offset=0, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    Rows and columns of the elements on and below a diagonal.

    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
  )")
  .forms(Function)
  .infer([](Infer& r, int64_t row, int64_t col, int64_t offset, MaybeDType dtype, MaybeDevice device) {
    infer_triangle(r, true, "tril_indices", row, col, offset, dtype, device);
  })
  .factory([](Tensor& result, int64_t row, int64_t col, int64_t offset, MaybeDType, MaybeDevice) {
    fill_triangle(result, true, row, col, offset);
  });

const auto triu_indices = define<Tensor(int64_t, int64_t, int64_t, MaybeDType, MaybeDevice)>(
    "triu_indices(int row, int col, int offset=0, *, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    Rows and columns of the elements on and above a diagonal.

    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
  )")
  .forms(Function)
  .infer([](Infer& r, int64_t row, int64_t col, int64_t offset, MaybeDType dtype, MaybeDevice device) {
    infer_triangle(r, false, "triu_indices", row, col, offset, dtype, device);
  })
  .factory([](Tensor& result, int64_t row, int64_t col, int64_t offset, MaybeDType, MaybeDevice) {
    fill_triangle(result, false, row, col, offset);
  });

}  // namespace rl::ops
