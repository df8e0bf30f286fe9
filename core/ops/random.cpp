// Random fills and new random tensors: PyTorch's streams, drawn in the order of memory.
#include "kernels/random.h"

#include <cmath>
#include <mutex>

#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/random.h"

namespace rl::ops {

Tensor reals_of(const Tensor& t) {
  if (!t.is_complex()) return t;
  Dims sizes(t.sizes()), strides(t.strides());
  for (int64_t& s : strides) s *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  const Tensor r = alias(t, sizes, strides, t.offset() * 2);
  r->dtype = real_of(t.dtype());
  return r;
}

void not_for(const char* kernel, DType dtype) {
  fail(ErrorKind::NotImplemented, "\"", kernel, "\" not implemented for '", type_name_of(dtype), "'");
}

namespace {

constexpr auto no_gradient = [](const Tensor& grad) { return zeros_like(grad); };

void check_uniform(double from, double to, DType dtype) {
  if (!is_differentiable(dtype)) not_for("check_uniform_bounds", dtype);
  const double most = real_of(dtype) == DType::Half ? 65504 : real_of(dtype) == DType::Double
      ? 0x1.fffffffffffffp1023 : dtype == DType::BFloat16 ? 0x1.fep127 : 0x1.fffffep127;
  const char* name = c_name_of(real_of(dtype));
  check(from >= -most && from <= most, "from is out of bounds for ", name);
  check(to >= -most && to <= most, "to is out of bounds for ", name);
  check(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  check(to - from <= most, "uniform_ expects to-from <= std::numeric_limits<", type_name_of(dtype),
        ">::max(), but found to=", to, " and from=", from, " which result in to-from to exceed the limit");
}

void check_normal(double std, DType dtype) {
  check(std >= 0, "normal expects std >= 0.0, but found std ", std);
  if (!is_differentiable(dtype)) not_for("normal_kernel_cpu", dtype);
}

void fill_uniform(const Tensor& t, double from, double to, Generator* generator) {
  each_run(reals_of(t), generator, [&](Generator& g, kernels::Run run) {
    kernels::uniform(g, run, from, to);
  });
}

}  // namespace

void fill_normal(const Tensor& given, double mean, double std, Generator* generator) {
  const Tensor t = reals_of(given);
  if (given.is_complex()) std /= std::sqrt(2.0);
  if (t.is_contiguous() && t.numel() >= 16) {
    Drawing drawing(generator);
    kernels::normal_dense(drawing.generator(), kernels::dense_run(t.data(), t.dtype(), t.numel()), mean, std);
    return;
  }
  each_run(t, generator, [&](Generator& g, kernels::Run run) { kernels::normal(g, run, mean, std); });
}

const auto uniform_ = define<Tensor(Tensor, double, double, Generator*)>(
    "uniform_(Tensor(a!) self, float from=0, float to=1, *, Generator? generator=None) -> Tensor(a!)")
  .doc(R"(
    Fills the tensor with numbers drawn evenly from [from, to).

    >>> bool((torch.empty(4).uniform_(2, 3) >= 2).all())
    True
  )")
  .forms(Method)
  .infer([](Infer&, const Tensor& self, double from, double to, Generator*) {
    refuse_internal_overlap(self);
    check_uniform(from, to, self.dtype());
  })
  .effect([](const Tensor& self, double from, double to, Generator* g) { fill_uniform(self, from, to, g); })
  .grad("self", "grad", no_gradient);

const auto normal_ = define<Tensor(Tensor, double, double, Generator*)>(
    "normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)")
  .doc(R"(
    Fills the tensor with normally distributed numbers.

    >>> torch.empty(4).normal_(5, 0)
    tensor([5., 5., 5., 5.])
  )")
  .forms(Method)
  .infer([](Infer&, const Tensor& self, double, double std, Generator*) {
    refuse_internal_overlap(self);
    check_normal(std, self.dtype());
  })
  .effect([](const Tensor& self, double mean, double std, Generator* g) { fill_normal(self, mean, std, g); })
  .grad("self", "grad", no_gradient);

// ---- Whole numbers

namespace {

void check_range(DType dtype, int64_t from, int64_t last) {
  check(!is_complex(dtype), "check_random_bounds handles only integral, floating-point and boolean "
        "types");
  const char* name = c_name_of(dtype);
  const int64_t most = kernels::largest_natural(dtype);
  if (is_floating(dtype)) {
    const int digits = 63 - __builtin_clzll(uint64_t(most));
    for (const auto& [value, what] : {std::pair(from, "from"), std::pair(last, "to - 1")})
      if (value < -most || value > most)
        warn(text(what, " is out of bounds [-(2^", digits, "), 2^", digits, "]. Due to precision "
                  "limitations ", name, " can support discrete uniform distribution only within this "
                  "range. This warning will become an error in version 1.7 release, please fix the "
                  "code in advance"));
    return;
  }
  const int64_t least = dtype == DType::Bool || dtype == DType::UInt8 ? 0 : -most - 1;
  check(from >= least && from <= most, "from is out of bounds for ", name);
  check(last >= least && last <= most, "to - 1 is out of bounds for ", name);
}

void check_integers(DType dtype, int64_t from, int64_t to) {
  check(from < to, "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", to);
  if (is_floating(dtype)) {
    const int64_t low = kernels::exact_from(dtype, from), high = kernels::exact_to(dtype, to);
    check(low < high, "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
          "but got from=", low, " >= to=", high);
  }
  check_range(dtype, from, to - 1);
}

void fill_integers(const Tensor& t, int64_t from, int64_t to, Generator* generator) {
  if (t.is_floating()) {
    from = kernels::exact_from(t.dtype(), from);
    to = kernels::exact_to(t.dtype(), to);
  }
  each_run(t, generator, [&](Generator& g, kernels::Run run) {
    kernels::random_range(g, run, uint64_t(to) - uint64_t(from), from);
  });
}

}  // namespace

const auto random_ = define<Tensor(Tensor, Generator*)>(
    "random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)")
  .doc(R"(
    Fills the tensor with whole numbers from [from, to), or from zero to what its dtype holds.

    >>> torch.empty(3).random_(4, 5)
    tensor([4., 4., 4.])
  )")
  .forms(Method)
  .infer([](Infer&, const Tensor& self, Generator*) {
    refuse_internal_overlap(self);
    if (self.is_complex()) not_for("random_kernel_cpu", self.dtype());
  })
  .effect([](const Tensor& self, Generator* generator) {
    each_run(self, generator, kernels::random_natural);
  })
  .grad("self", "grad", no_gradient);

const auto random_to = define<Tensor(Tensor, int64_t, Generator*)>(
    "random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)")
  .node("RandomBackward1")
  .forms(Method)
  .infer([](Infer&, const Tensor& self, int64_t to, Generator*) {
    refuse_internal_overlap(self);
    check_integers(self.dtype(), 0, to);
  })
  .effect([](const Tensor& self, int64_t to, Generator* g) { fill_integers(self, 0, to, g); })
  .grad("self", "grad", no_gradient);

const auto random_from = define<Tensor(Tensor, int64_t, MaybeInt, Generator*)>(
    "random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)")
  .node("RandomBackward2")
  .forms(Method)
  .infer([](Infer&, const Tensor& self, int64_t from, MaybeInt to, Generator*) {
    refuse_internal_overlap(self);
    if (to) check_integers(self.dtype(), from, *to);
    else if (from != INT64_MIN) check_range(self.dtype(), from, kernels::largest_natural(self.dtype()));
  })
  .effect([](const Tensor& self, int64_t from, MaybeInt to, Generator* generator) {
    if (to) return fill_integers(self, from, *to, generator);
    if (from == INT64_MIN) return each_run(self, generator, kernels::random_all);
    if (self.is_floating()) from = kernels::exact_from(self.dtype(), from);
    const uint64_t range = uint64_t(kernels::largest_natural(self.dtype())) - uint64_t(from) + 1;
    each_run(self, generator, [&](Generator& g, kernels::Run run) { kernels::random_range(g, run, range, from); });
  })
  .grad("self", "grad", no_gradient);

// ---- Other distributions

namespace {

void check_continuous(const Tensor& self, const char* name) {
  refuse_internal_overlap(self);
  check(self.is_floating(), name, " distribution is a continuous probability distribution. dtype must "
        "be a floating point but you specified ",
        name != std::string_view("Cauchy") ? type_name_of(self.dtype())
        : self.dtype() == DType::Int16 ? "short int" : c_name_of(self.dtype()));
}

void check_real(const Tensor& self, const char* kernel, bool integers) {
  refuse_internal_overlap(self);
  if (self.is_complex() || (!integers && !self.is_floating())) not_for(kernel, self.dtype());
}

}  // namespace

const auto exponential_ = define<Tensor(Tensor, double, Generator*)>(
    "exponential_(Tensor(a!) self, float lambd=1, *, Generator? generator=None) -> Tensor(a!)")
  .doc(R"(
    Fills the tensor with exponentially distributed numbers of rate `lambd`.

    >>> bool((torch.empty(4).exponential_() >= 0).all())
    True
  )")
  .forms(Method)
  .infer([](Infer&, const Tensor& self, double lambd, Generator*) {
    check(lambd > 0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
    check_continuous(self, "Exponential");
  })
  .effect([](const Tensor& self, double lambd, Generator* generator) {
    each_run(self, generator, [&](Generator& g, kernels::Run run) { kernels::exponential(g, run, lambd); });
  })
  .grad("self", "grad", no_gradient);

const auto geometric_ = define<Tensor(Tensor, double, Generator*)>(
    "geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)")
  .doc(R"(
    Fills the tensor with the number of trials, each a success with probability `p`, up to the
    first success.

    >>> bool((torch.empty(4).geometric_(0.5) >= 1).all())
    True
  )")
  .forms(Method)
  .infer([](Infer&, const Tensor& self, double p, Generator*) {
    check(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
    check_real(self, "geometric_cpu", true);
    if (self.dtype() == DType::Bool) not_for("geometric_cpu", self.dtype());
  })
  .effect([](const Tensor& self, double p, Generator* generator) {
    each_run(self, generator, [&](Generator& g, kernels::Run run) { kernels::geometric(g, run, p); });
  })
  .grad("self", "grad", no_gradient);

const auto log_normal_ = define<Tensor(Tensor, double, double, Generator*)>(
    "log_normal_(Tensor(a!) self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor(a!)")
  .doc(R"(
    Fills the tensor with numbers whose logarithms are normally distributed.

    >>> bool((torch.empty(4).log_normal_() >= 0).all())
    True
  )")
  .forms(Method)
  .infer([](Infer&, const Tensor& self, double, double std, Generator*) {
    check(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
    check_real(self, "log_normal_cpu", false);
  })
  .effect([](const Tensor& self, double mean, double std, Generator* generator) {
    each_run(self, generator, [&](Generator& g, kernels::Run run) { kernels::log_normal(g, run, mean, std); });
  })
  .grad("self", "grad", no_gradient);

const auto cauchy_ = define<Tensor(Tensor, double, double, Generator*)>(
    "cauchy_(Tensor(a!) self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor(a!)")
  .doc(R"(
    Fills the tensor with numbers of a Cauchy distribution.

    >>> torch.empty(4).cauchy_().shape
    torch.Size([4])
  )")
  .forms(Method)
  .infer([](Infer&, const Tensor& self, double, double sigma, Generator*) {
    check(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
    check_continuous(self, "Cauchy");
  })
  .effect([](const Tensor& self, double median, double sigma, Generator* generator) {
    each_run(self, generator, [&](Generator& g, kernels::Run run) { kernels::cauchy(g, run, median, sigma); });
  })
  .grad("self", "grad", no_gradient);

// ---- New tensors

namespace {

void infer_new(Infer& r, Ints size, DType dtype, MaybeDevice device) {
  r.result(size, dtype, device_or_cpu(device));
}
void infer_like(Infer& r, const Tensor& self, MaybeDType dtype, MaybeDevice device, Format format) {
  const MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  r.result(self.sizes(), f == MemoryFormat::Preserve ? dense_strides_like(self)
                                                     : format_strides(self.sizes(), f),
           dtype.value_or(self.dtype()), device ? device_or_cpu(device) : self.device());
}

}  // namespace

#define RL_OPTIONS "ScalarType? dtype=None, Device? device=None"

const auto rand = define<Tensor(Ints, Generator*, MaybeDType, MaybeDevice)>(
    "rand(int[] size, *, Generator? generator=None, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    Numbers drawn evenly from [0, 1).

    >>> torch.rand(2, 3).shape
    torch.Size([2, 3])
  )")
  .out({.quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, Ints size, Generator*, MaybeDType dtype, MaybeDevice device) {
    infer_new(r, size, dtype.value_or(default_dtype()), device);
    check_uniform(0, 1, r[0].dtype);
  })
  .factory([](Tensor& result, Ints, Generator* g, MaybeDType, MaybeDevice) { fill_uniform(result, 0, 1, g); });

const auto rand_like = define<Tensor(Tensor, Generator*, MaybeDType, MaybeDevice, Format)>(
    "rand_like(Tensor self, *, Generator? generator=None, " RL_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor")
  .doc(R"(
    Numbers drawn evenly from [0, 1), as many as another tensor has.

    >>> torch.rand_like(torch.zeros(2)).shape
    torch.Size([2])
  )")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, Generator*, MaybeDType dtype, MaybeDevice device, Format format) {
    infer_like(r, self, dtype, device, format);
    check_uniform(0, 1, r[0].dtype);
  })
  .factory([](Tensor& result, const Tensor&, Generator* g, MaybeDType, MaybeDevice, Format) {
    fill_uniform(result, 0, 1, g);
  });

const auto randn = define<Tensor(Ints, Generator*, MaybeDType, MaybeDevice)>(
    "randn(int[] size, *, Generator? generator=None, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    Normally distributed numbers of mean 0 and deviation 1.

    >>> torch.randn(2, 3).shape
    torch.Size([2, 3])
  )")
  .out({.quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, Ints size, Generator*, MaybeDType dtype, MaybeDevice device) {
    infer_new(r, size, dtype.value_or(default_dtype()), device);
    check_normal(1, r[0].dtype);
  })
  .factory([](Tensor& result, Ints, Generator* g, MaybeDType, MaybeDevice) { fill_normal(result, 0, 1, g); });

const auto randn_like = define<Tensor(Tensor, Generator*, MaybeDType, MaybeDevice, Format)>(
    "randn_like(Tensor self, *, Generator? generator=None, " RL_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor")
  .doc(R"(
    Normally distributed numbers, as many as another tensor has.

    >>> torch.randn_like(torch.zeros(2)).shape
    torch.Size([2])
  )")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, Generator*, MaybeDType dtype, MaybeDevice device, Format format) {
    infer_like(r, self, dtype, device, format);
    check_normal(1, r[0].dtype);
  })
  .factory([](Tensor& result, const Tensor&, Generator* g, MaybeDType, MaybeDevice, Format) {
    fill_normal(result, 0, 1, g);
  });

const auto randint = define<Tensor(int64_t, Ints, Generator*, MaybeDType, MaybeDevice)>(
    "randint(int high, int[] size, *, Generator? generator=None, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    Whole numbers drawn evenly from [low, high); low is 0 unless given.

    >>> torch.randint(3, 4, (2,))
    tensor([3, 3])
  )")
  .out({.quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, int64_t high, Ints size, Generator*, MaybeDType dtype, MaybeDevice device) {
    infer_new(r, size, dtype.value_or(DType::Int64), device);
    check_integers(r[0].dtype, 0, high);
  })
  .factory([](Tensor& result, int64_t high, Ints, Generator* g, MaybeDType, MaybeDevice) {
    fill_integers(result, 0, high, g);
  });

const auto randint_low = define<Tensor(int64_t, int64_t, Ints, Generator*, MaybeDType, MaybeDevice)>(
    "randint.low(int low, int high, int[] size, *, Generator? generator=None, " RL_OPTIONS ") -> Tensor")
  .out({.quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, int64_t low, int64_t high, Ints size, Generator*, MaybeDType dtype, MaybeDevice device) {
    infer_new(r, size, dtype.value_or(DType::Int64), device);
    check_integers(r[0].dtype, low, high);
  })
  .factory([](Tensor& result, int64_t low, int64_t high, Ints, Generator* g, MaybeDType, MaybeDevice) {
    fill_integers(result, low, high, g);
  });

const auto randint_like = define<Tensor(Tensor, int64_t, Generator*, MaybeDType, MaybeDevice, Format)>(
    "randint_like(Tensor self, int high, *, Generator? generator=None, " RL_OPTIONS
    ", MemoryFormat? memory_format=None) -> Tensor")
  .doc(R"(
    Whole numbers drawn evenly from [low, high), as many as another tensor has.

    >>> torch.randint_like(torch.zeros(2), 3, 4)
    tensor([3., 3.])
  )")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, int64_t high, Generator*, MaybeDType dtype, MaybeDevice device,
            Format format) {
    infer_like(r, self, dtype, device, format);
    check_integers(r[0].dtype, 0, high);
  })
  .factory([](Tensor& result, const Tensor&, int64_t high, Generator* g, MaybeDType, MaybeDevice, Format) {
    fill_integers(result, 0, high, g);
  });

const auto randint_like_low = define<Tensor(Tensor, int64_t, int64_t, Generator*, MaybeDType, MaybeDevice, Format)>(
    "randint_like.low_dtype(Tensor self, int low, int high, *, Generator? generator=None, " RL_OPTIONS
    ", MemoryFormat? memory_format=None) -> Tensor")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, int64_t low, int64_t high, Generator*, MaybeDType dtype,
            MaybeDevice device, Format format) {
    infer_like(r, self, dtype, device, format);
    check_integers(r[0].dtype, low, high);
  })
  .factory([](Tensor& result, const Tensor&, int64_t low, int64_t high, Generator* g, MaybeDType,
              MaybeDevice, Format) { fill_integers(result, low, high, g); });

const auto randperm = define<Tensor(int64_t, Generator*, MaybeDType, MaybeDevice)>(
    "randperm(int n, *, Generator? generator=None, " RL_OPTIONS ") -> Tensor")
  .doc(R"(
    The numbers from 0 to n - 1 in a random order.

    >>> torch.randperm(4).sort().values
    tensor([0, 1, 2, 3])
  )")
  .out({.internal = true, .quiet = true})
  .forms(Function | Out)
  .infer([](Infer& r, int64_t n, Generator*, MaybeDType dtype, MaybeDevice device) {
    const DType t = dtype.value_or(DType::Int64);
    if (is_complex(t) || t == DType::Bool) not_for("randperm", t);
    check(n >= 0, "Trying to create tensor with negative dimension ", n, ": [", n, "]");
    check_fits(n, t);
    infer_new(r, {n}, t, device);
  })
  .factory([](Tensor& result, int64_t n, Generator* generator, MaybeDType, MaybeDevice) {
    Drawing drawing(generator);
    kernels::Run run = kernels::dense_run(result.data(), result.dtype(), n);
    run.stride = result.strides()[0] * result.element_size();
    kernels::permutation(drawing.generator(), run);
  });

}  // namespace rl::ops
