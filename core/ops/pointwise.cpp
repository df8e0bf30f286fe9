// Pointwise ops: a straight loop where all operands are dense alike, the iterator otherwise.
#include "ops/pointwise.h"

#include <atomic>
#include <cmath>

#include "kernels/cast.h"
#include "kernels/copy.h"
#include "kernels/functors/scalar.h"
#include "kernels/pointwise_table.h"
#include "kernels/streaming.h"
#include "ops/promotion.h"
#include "tensor/iterator.h"

namespace rl {
namespace {

constexpr int kMost = kernels::kMaxArity;
constexpr int64_t kTile = 512;

// Whether a dtype holds a number; negative ones may wrap around in unsigned dtypes.
bool fits(const Scalar& s, DType t) {
  if (s.is_complex() && !is_complex(t) && t != DType::Bool) return s.to_complex().imag() == 0;
  if (!is_integral(t) || t == DType::Bool) return true;
  const double bits = double(item_size(t)) * 8, v = s.to_double();
  const bool positive = is_unsigned(t);
  const double most = std::ldexp(1.0, int(bits) - !positive);
  if (s.is_int() && t == DType::Int64) return true;
  return v < most && (positive ? v > -most : v >= -most);
}

const char* number_name(DType t) {
  switch (t) {
    case DType::UInt8: return "uint8_t";
    case DType::Int8: return "int8_t";
    case DType::Int16: return "int16_t";
    case DType::Int64: return "int64_t";
    case DType::UInt16: return "uint16_t";
    case DType::UInt32: return "uint32_t";
    case DType::UInt64: return "uint64_t";
    default: return c_name_of(t);
  }
}

Scalar rounded(const Scalar& v, DType half) {
  const float f = v.to<float>();
  return double(half == DType::Half ? to_float(to_half(f)) : to_float(to_bfloat16(f)));
}

// A call's operands, the numbers that go to the kernel, and the dtype it computes in.
struct Plan {
  const kernels::Pointwise* kernel;
  Promote promotion = Promote::Default;
  const Arg* operands[kMost];
  int count = 0;
  int numbers = 0;
  Span<Scalar> params() const { return Span<Scalar>(params_, size_t(numbers)); }
  DType compute = DType::Undefined;   // as promoted; halves are computed in float
  alignas(16) char constants[kMost][16];

  Plan(const Record& r, const Arg* args) : kernel(r.pointwise), promotion(r.promotion) {
    for (int i = 0; i < r.shape.operand_count; ++i) {
      const Arg& a = args[r.shape.operands[i]];
      if (!a.is_none()) operands[count++] = &a;
    }
    for (int i = 0; i < r.shape.number_count; ++i) {
      const Arg& a = args[r.shape.numbers[i]];
      if (a.is_number() || a.is_none()) params_[numbers++] = a.is_none() ? Scalar(0) : a.scalar();
    }
    if (r.choose) choose(r, args);
  }
  // A kernel by itself: no record, the compute dtype given.
  Plan(const kernels::Pointwise& k, DType dtype, std::initializer_list<Arg> args,
       std::initializer_list<Scalar> given) : kernel(&k), compute(dtype) {
    for (const Arg& a : args) operands[count++] = &a;
    for (const Scalar& s : given) params_[numbers++] = s;
  }
  void choose(const Record& r, const Arg* args) {
    const Choice choice = r.choose(args);
    kernel = choice.kernel;
    promotion = choice.promotion;
    if (choice.count < 0) return;
    for (numbers = 0; numbers < choice.count; ++numbers)
      params_[numbers] = choice.numbers[numbers];
  }
  void promote(const Record& r, const Arg* args);
  void check_numbers(const Record& r, const Arg* args);
  DType result() const {
    switch (kernel->output) {
      case kernels::Output::Bool: return DType::Bool;
      case kernels::Output::Real: return real_of(compute);
      default: return compute;
    }
  }
  DType operand_dtype(int k) const {
    return k == 0 && kernel->bool_first ? DType::Bool : compute_of(compute);
  }
  kernels::Loop loop() const {
    if (__builtin_expect(is_stored_only(compute), 0)) refuse_stored();
    const kernels::Loop l = kernel->loop(
        compute == DType::ComplexHalf ? compute : compute_of(compute), cpu_level());
    if (!l) fail(ErrorKind::NotImplemented, "\"", kernel->name, "\" not implemented for '",
                 type_name_of(compute), "'");
    return l;
  }
  // Dtypes that few kernels take; a product of floats of a byte with one number is not among what
  // PyTorch has.
  void refuse_stored() const {
    bool taken = is_in(kernel->types, compute);
    const bool product = kernel == &kernels::mul && is_float8(compute);
    for (int k = 0; product && k < count; ++k)
      taken &= operands[k]->is_tensor() && operands[k]->tensor->numel != 1;
    check(taken, ErrorKind::NotImplemented, "\"", product ? "mul_cpu_reduced_float" : kernel->name,
          "\" not implemented for '", type_name_of(compute), "'");
  }
  char* constant(int k, DType t) {
    const Scalar v = rounds(k) ? rounded(operands[k]->scalar(), compute) : operands[k]->scalar();
    dispatch_stored(t, [&](auto* p) {
      using T = pointee<decltype(p)>;
      *reinterpret_cast<T*>(constants[k]) = v.to<T>();
    });
    return constants[k];
  }
  // Whether an operand is rounded to the half precision that the result has, though it is computed
  // in float: all of another dtype are, but for the one number by which is multiplied or divided.
  bool rounds(int k) const {
    if (!is_half(compute)) return false;
    const Arg& a = *operands[k];
    if (a.is_tensor() && (a.tensor->dtype == compute || operand_dtype(k) == DType::Bool))
      return false;
    using namespace kernels;
    const bool scales = kernel == &mul || kernel == &div_ || kernel == &div_trunc ||
                        kernel == &div_floor;
    return !(scales && k == 1 && (!a.is_tensor() || a.tensor->numel == 1));
  }
  void round_numbers() {
    using namespace kernels;
    if (!is_half(compute) ||
        !(kernel == &add || kernel == &sub || kernel == &rsub || kernel == &hardshrink)) return;
    for (int i = 0; i < numbers; ++i) params_[i] = rounded(params_[i], compute);
  }

 private:
  union { Scalar params_[PointwiseShape::kMostNumbers]; };       // the first `numbers` are set
};

void Plan::promote(const Record& r, const Arg* args) {
  if (promotion == Promote::None) {
    compute = operands[0]->is_tensor() ? operands[0]->tensor->dtype : DType::Float;
    return check_numbers(r, args);
  }
  Promotion p;
  for (int k = kernel->bool_first; k < count; ++k) p.add(*operands[k]);
  if (r.promote_numbers) {
    for (size_t i = 0; i < r.params.size(); ++i)
      if (r.params[i].type == Type::Number && args[i].is_number() && !r.params[i].number)
        p.add(args[i].scalar());
  }
  compute = p.dtype();
  if (promotion == Promote::Float && !is_differentiable(compute)) compute = default_dtype();
  check_numbers(r, args);
}

// The kernel's numbers must fit the dtype that it computes in; then the op's own checks.
void Plan::check_numbers(const Record& r, const Arg* args) {
  if (r.infer) {
    Infer checks;
    checks.result({}, compute, {});
    r.infer(checks, args);
  }
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (r.params[i].type != Type::Number || r.params[i].number || !args[i].is_number()) continue;
    check(fits(args[i].scalar(), compute), "value cannot be converted to type ",
          number_name(compute), " without overflow");
  }
}

Device device_of(const Plan& plan) {
  const Tensor* first = nullptr;
  for (int k = 0; k < plan.count; ++k) {
    const Arg& a = *plan.operands[k];
    if (!a.is_tensor()) continue;
    const Tensor& t = a.as_tensor();
    if (!first || (first->dim() == 0 && first->device().is_cpu())) {
      if (first && t.dim() == 0 && t.device().is_cpu()) continue;
      first = &t;
    }
  }
  for (int k = 0; first && k < plan.count; ++k) {
    const Arg& a = *plan.operands[k];
    if (!a.is_tensor() || a.as_tensor().device() == first->device()) continue;
    const Tensor& t = a.as_tensor();
    if (t.dim() == 0 && t.device().is_cpu()) continue;
    fail(ErrorKind::Runtime, "Expected all tensors to be on the same device, but found at least "
         "two devices, ", name_of(plan.operands[0]->is_tensor()
                                      ? plan.operands[0]->tensor->device.type : DeviceType::CPU),
         " and ", name_of(t.device() == first->device() ? first->device().type : t.device().type),
         "!");
  }
  return first ? first->device() : Device{};
}

// Ops whose order of dimensions is the second operand's first: gradients have the input's.
bool second_leads(const kernels::Pointwise* k) {
  return k == &kernels::threshold_backward || k == &kernels::leaky_relu_backward ||
         k == &kernels::prelu_backward_input || k == &kernels::binary_cross_entropy_backward ||
         k == &kernels::bce_with_logits || k == &kernels::bce_with_logits_backward;
}

ResultMeta infer_result(const Plan& plan) {
  ResultMeta m;
  m.dtype = plan.result();
  m.device = device_of(plan);
  bool alike = true, dense = true;
  const Tensor* first = nullptr;
  for (int k = 0; k < plan.count; ++k) {
    const Arg& a = *plan.operands[k];
    if (!a.is_tensor()) continue;
    const Tensor& t = a.as_tensor();
    if (!first) {
      first = &t;
      m.sizes = Dims(t.sizes());
      dense = t.is_contiguous();
      continue;
    }
    if (t.sizes() != Ints(m.sizes)) {
      // PyTorch's rsub is its sub with the operands swapped, as the error says.
      m.sizes = plan.kernel == &kernels::rsub ? broadcast(t.sizes(), m.sizes)
                                              : broadcast(m.sizes, t.sizes());
      alike = false;
    }
    dense &= t.is_contiguous();
  }
  if (!first) return m;
  if (plan.kernel == &kernels::clamp && plan.promotion == Promote::None && !first->numel()) {
    m.strided = true;  // hardtanh of nothing is like its input, whatever the strides
    m.strides = Dims(first->strides());
    return m;
  }
  if (alike && dense) return m;
  Small<Dims, kMost> strides;
  bool same = alike;
  for (int k = 0; k < plan.count; ++k) {
    const Arg& a = *plan.operands[k];
    if (!a.is_tensor()) continue;
    const Tensor& t = a.as_tensor();
    strides.push_back(broadcast_strides(t.sizes(), t.strides(), m.sizes));
    same &= t.strides() == first->strides();
  }
  m.strided = true;
  if (same && is_dense(first->sizes(), first->strides())) {
    m.strides = Dims(first->strides());
    return m;
  }
  if (strides.size() > 1 && second_leads(plan.kernel)) std::swap(strides[0], strides[1]);
  m.strides.resize(m.sizes.size());
  const auto order = order_of_dims(m.sizes, Span<Dims>(strides.data(), strides.size()));
  bool row_major = true;
  for (size_t i = 0; i < order.size(); ++i) row_major &= order[i] == int(order.size() - 1 - i);
  int64_t step = 1;
  for (int d : order) {  // in another order, PyTorch lets a size of 0 make strides of 0
    m.strides[d] = step;
    step = kernels::fn::times(step, row_major ? std::max<int64_t>(m.sizes[d], 1) : m.sizes[d]);
  }
  return m;
}

// Operands of another dtype are converted in tiles that stay in the first-level cache.
void run_cast(const Plan& plan, kernels::Loop loop, DType made, char* const* data,
              const int64_t* strides, int64_t n, DType out) {
  alignas(64) char tiles[kMost + 1][kTile * 16];
  kernels::Cast in[kMost] = {}, round[kMost] = {};
  for (int k = 0; k < plan.count; ++k) {
    const Arg& a = *plan.operands[k];
    if (!a.is_tensor()) continue;
    const bool rounds = plan.rounds(k);
    const DType given = a.tensor->dtype, from = rounds ? plan.compute : given;
    if (rounds) round[k] = kernels::cast(given, from);
    if (from != plan.operand_dtype(k)) in[k] = kernels::cast(from, plan.operand_dtype(k));
  }
  const kernels::Cast back = made == out ? nullptr : kernels::cast(made, out);
  for (int64_t at = 0; at < n; at += kTile) {
    const int64_t m = n - at < kTile ? n - at : kTile;
    char* p[kMost + 1];
    int64_t s[kMost + 1];
    p[0] = back ? tiles[0] : data[0] + at * strides[0];
    s[0] = back ? item_size(made) : strides[0];
    for (int k = 0; k < plan.count; ++k) {
      char* from = data[k + 1] + at * strides[k + 1];
      if (!in[k]) {
        p[k + 1] = from;
        s[k + 1] = strides[k + 1];
        continue;
      }
      const bool one = strides[k + 1] == 0;
      int64_t step = strides[k + 1];
      p[k + 1] = tiles[k + 1];
      s[k + 1] = one ? 0 : item_size(plan.operand_dtype(k));
      if (round[k]) {
        char* half = tiles[k + 1] + kTile * 8;
        round[k](half, 2, from, step, one ? 1 : m);
        from = half;
        step = 2;
      }
      in[k](p[k + 1], item_size(plan.operand_dtype(k)), from, step, one ? 1 : m);
    }
    loop(p, s, m, plan.params().data());
    if (back) back(data[0] + at * strides[0], strides[0], tiles[0], s[0], m);
  }
}

// Short rows: what is not dense across them is moved into tiles, for one call of the loop.
template <class Body>
void run_block(Body& body, int count, const int64_t* items, char* const* data,
               const int64_t* strides, int64_t n, const int64_t* outer, int64_t rows) {
  alignas(64) char tiles[kMost + 1][StridedLoop::kBlock * 16];
  char* at[kMost + 1];
  int64_t steps[kMost + 1];
  const auto grid_of = [&](int k) { return kernels::Grid{data[k], strides[k], outer[k]}; };
  const auto tile_of = [&](int k) { return kernels::Grid{tiles[k], items[k], n * items[k]}; };
  for (int k = 0; k < count; ++k) {
    const bool one = k > 0 && strides[k] == 0 && outer[k] == 0;
    const bool dense = strides[k] == items[k] && outer[k] == n * items[k];
    at[k] = one || dense ? data[k] : tiles[k];
    steps[k] = one ? 0 : items[k];
    if (at[k] == tiles[k] && k > 0)
      kernels::copy_grid(tile_of(k), grid_of(k), rows, n, items[k]);
  }
  body(static_cast<char* const*>(at), static_cast<const int64_t*>(steps), n * rows);
  if (at[0] == tiles[0])
    kernels::copy_grid(grid_of(0), tile_of(0), rows, n, items[0]);
}

void fill(Plan& plan, const Tensor& out) {
  if (out.is_meta()) return;
  plan.round_numbers();
  const kernels::Loop loop = plan.loop();  // an unsupported dtype is refused though nothing is done
  if (out.numel() == 0) return;
  const DType computed = compute_of(plan.compute);
  const DType made = plan.kernel->output == kernels::Output::Bool ? DType::Bool
                   : plan.kernel->output == kernels::Output::Real ? real_of(computed) : computed;
  bool casts = made != out.dtype();
  bool straight = out.is_contiguous();
  for (int k = 0; k < plan.count; ++k) {
    const Arg& a = *plan.operands[k];
    if (!a.is_tensor()) continue;
    check(!a.tensor->device.is_meta(), "Expected all tensors to be on the same device, but found "
          "at least two devices, cpu and meta!");
    casts |= a.tensor->dtype != plan.operand_dtype(k);
    straight &= a.as_tensor().is_contiguous() && a.as_tensor().sizes() == out.sizes();
  }
  auto body = [&](char* const* data, const int64_t* strides, int64_t n) {
    if (casts) run_cast(plan, loop, made, data, strides, n, out.dtype());
    else loop(data, strides, n, plan.params().data());
  };
  if (straight) {
    char* base[kMost + 1];
    int64_t strides[kMost + 1];
    base[0] = out.data();
    strides[0] = out.element_size();
    int64_t item_bytes = strides[0];
    bool in_place = false;
    for (int k = 0; k < plan.count; ++k) {
      const Arg& a = *plan.operands[k];
      base[k + 1] = a.is_tensor() ? a.tensor->data() : plan.constant(k, plan.operand_dtype(k));
      strides[k + 1] = a.is_tensor() ? item_size(a.tensor->dtype) : 0;
      item_bytes += strides[k + 1];
      in_place |= base[k + 1] == base[0];
    }
    const bool streams = !in_place && kernels::worth_streaming(out.numel() * item_bytes);
    parallel_for(0, out.numel(), StridedLoop::kGrain, [&](int64_t begin, int64_t end) {
      char* p[kMost + 1];
      for (int k = 0; k <= plan.count; ++k) p[k] = base[k] + begin * strides[k];
      if (streams) kernels::in_streamed_tiles(body, plan.count, p, strides, end - begin);
      else body(p, strides, end - begin);
    });
    return;
  }
  StridedLoop over(out.sizes());
  over.add(out);
  Dims zero;
  zero.resize(size_t(out.dim()), 0);
  for (int k = 0; k < plan.count; ++k) {
    const Arg& a = *plan.operands[k];
    if (a.is_tensor()) over.add(a.as_tensor());
    else over.add(plan.constant(k, plan.operand_dtype(k)), zero, 1);
  }
  over.prepare();
  int64_t items[kMost + 1] = {out.element_size()};
  for (int k = 0; k < plan.count; ++k) {
    const Arg& a = *plan.operands[k];
    items[k + 1] = item_size(a.is_tensor() ? a.tensor->dtype : plan.operand_dtype(k));
  }
  over.run_blocks([&](char* const* data, const int64_t* strides, int64_t n, const int64_t* outer,
                      int64_t rows) {
    if (rows == 1) body(data, strides, n);
    else run_block(body, plan.count + 1, items, data, strides, n, outer, rows);
  });
}

bool has_zero(const Tensor& t) {
  std::atomic<bool> found{false};
  dispatch(t.dtype(), [&](auto* none) {
    using T = pointee<decltype(none)>;
    if constexpr (std::is_integral_v<T>) {
      StridedLoop over(t.sizes());
      over.add(t);
      over.prepare();
      over.run([&](char* const* data, const int64_t* strides, int64_t n) {
        bool zero = false;
        if (strides[0] == int64_t(sizeof(T))) {
          const T* x = reinterpret_cast<const T*>(data[0]);
          for (int64_t i = 0; i < n; ++i) zero |= x[i] == 0;
        } else {
          for (int64_t i = 0; i < n; ++i)
            zero |= *reinterpret_cast<const T*>(data[0] + i * strides[0]) == 0;
        }
        if (zero) found.store(true, std::memory_order_relaxed);
      });
    }
  });
  return found;
}

// Whole numbers divided by 0 raise before the caller's memory is written.
void refuse_zero_divisor(const Plan& plan) {
  using namespace kernels;
  if (!is_integral(plan.compute)) return;
  bool divides = false;
  for (const Pointwise* k : {&div_trunc, &div_floor, &remainder_, &fmod_})
    divides |= plan.kernel == k;
  if (!divides) return;
  const Arg& divisor = *plan.operands[1];
  const bool zero = divisor.is_tensor() ? has_zero(divisor.as_tensor())
                                        : divisor.scalar().to_int() == 0;
  check(!zero, "ZeroDivisionError");
}

}  // namespace

ResultMeta pointwise_infer(const Record& r, const Arg* args) {
  Plan plan(r, args);
  plan.promote(r, args);
  return infer_result(plan);
}

Tensor pointwise_call(const Record& r, const Arg* args) {
  Plan plan(r, args);
  // Dense operands of one dtype and shape, on the CPU: nothing to work out.
  const Arg& a = *plan.operands[0];
  if (plan.count <= 2 && a.is_tensor() && a.tensor->is(kContiguous) && !plan.kernel->bool_first &&
      (plan.numbers == 0 || (plan.numbers == 1 && !plan.params()[0].is_complex())) &&
      a.tensor->device.is_cpu() &&
      (a.tensor->dtype == DType::Float || a.tensor->dtype == DType::Double) &&
      !a.tensor->is(kWrappedNumber) && !r.promote_numbers) {
    const Arg* b = plan.count == 2 ? plan.operands[1] : nullptr;
    const bool pair = !b || (b->is_tensor() ? b->tensor->dtype == a.tensor->dtype &&
                                                  b->tensor->is(kContiguous) &&
                                                  b->tensor->device.is_cpu() &&
                                                  b->as_tensor().sizes() == a.as_tensor().sizes()
                                            : b->tag == Tag::Float || b->tag == Tag::Int);
    if (pair) {
      plan.compute = a.tensor->dtype;
      Tensor out = empty(a.as_tensor().sizes(), plan.result());
      if (out.numel() <= StridedLoop::kGrain) {
        char* data[3] = {out.data(), a.tensor->data(), nullptr};
        int64_t strides[3] = {out.element_size(), item_size(plan.compute), 0};
        if (b && b->is_tensor()) {
          data[2] = b->tensor->data();
          strides[2] = strides[1];
        } else if (b) {
          data[2] = plan.constant(1, plan.compute);
        }
        const kernels::Loop loop = plan.loop();
        if (out.numel()) loop(data, strides, out.numel(), plan.params().data());
      } else {
        fill(plan, out);
      }
      return out;
    }
  }
  plan.promote(r, args);
  const ResultMeta m = infer_result(plan);
  if (!m.device.is_meta()) plan.loop();  // an unsupported dtype is refused before memory is taken
  Tensor out = m.strided ? empty_strided(m.sizes, m.strides, m.dtype, m.device)
                         : empty(m.sizes, m.dtype, m.device);
  fill(plan, out);
  return out;
}

void pointwise_into(const Record& r, const Arg* args, const Tensor& out) {
  Plan plan(r, args);
  plan.promote(r, args);
  if (out.numel() && !out.is_meta()) refuse_zero_divisor(plan);
  fill(plan, out);
}

void run_kernel(const kernels::Pointwise& k, const Tensor& out, DType compute,
                std::initializer_list<Arg> operands, std::initializer_list<Scalar> numbers) {
  Plan plan(k, compute, operands, numbers);
  fill(plan, out);
}

}  // namespace rl
