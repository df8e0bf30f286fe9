// out=: results go into tensors that the caller has.
#include "ops/call.h"
#include "ops/ops.h"
#include "ops/out_rule.h"
#include "ops/pointwise.h"
#include "ops/transform.h"

namespace rl {

std::string rule_text(const char* text, DType wanted, DType given, DType input) {
  std::string s;
  for (const char* c = text; *c; ++c) {
    if (*c != '%') {
      s.push_back(*c);
      continue;
    }
    switch (*++c) {
      case 'W': s += type_name_of(wanted); break;
      case 'G': s += type_name_of(given); break;
      case 'w': s += c_name_of(wanted); break;
      case 'g': s += c_name_of(given); break;
      case 'I': s += type_name_of(input); break;
      default: s.push_back('%'); --c;
    }
  }
  return s;
}

DType first_dtype(const Record& r, const Arg* args) {
  for (uint64_t bits = r.tensor_params; bits; bits &= bits - 1) {
    const Arg& a = args[__builtin_ctzll(bits)];
    if (a.is_tensor()) return a.tensor->dtype;
  }
  return DType::Undefined;
}

void refuse_shared(const Tensor& out, const Tensor& in, bool same) {
  const Meets meets = memory_meets(out, in);
  check(meets == Meets::No || (meets == Meets::Full && !same),
        "unsupported operation: some elements of the input tensor and the written-to tensor refer "
        "to a single memory location. Please clone() the tensor before performing the operation.");
}

void refuse_shared(const Record& r, const Arg* args, const Tensor& out, bool same) {
  for (uint64_t bits = r.tensor_params; bits; bits &= bits - 1) {
    const Arg& a = args[__builtin_ctzll(bits)];
    if (a.tag == Tag::Tensor) {
      refuse_shared(out, a.as_tensor(), same);
    } else if (a.tag == Tag::Tensors) {
      for (const Tensor& t : a.tensors())
        if (t) refuse_shared(out, t, same);
    }
  }
}

namespace {

void refuse_gradients(const Record& r, const Arg* args, const Tensor* targets) {
  if (!grad_enabled()) return;
  bool any = look_at(r, args).flags & kNeedsGrad;
  for (int i = 0; i < r.visible && !any; ++i) any = targets[i] && requires_grad(targets[i]);
  check(!any, r.base, "(): functions with out=... arguments don't support automatic "
        "differentiation, but one of the arguments requires grad.");
}

void refuse_numbers(const Record& r, const Arg* args) {
  for (size_t i = 0; i < r.params.size(); ++i) {
    const Arg& a = args[i];
    if (r.params[i].type != Type::Tensor || !a.is_number()) continue;
    const DType t = a.scalar().dtype();
    fail(ErrorKind::Type, r.base, "(): argument '", i || r.params[i].name != "self"
             ? r.params[i].name : "input", "' (position ", int64_t(i + 1), ") must be Tensor, not ",
         t == DType::Bool ? "bool" : is_complex(t) ? "complex" : is_floating(t) ? "float" : "int");
  }
}

void check_dtype(const Record& r, const Arg* args, const Tensor& out, DType made) {
  const DType given = out.dtype();
  const OutRule& rule = r.out;
  bool fits = false;
  switch (rule.dtype) {
    case OutDType::Any: return;
    case OutDType::Truth: fits = given == DType::Bool || given == DType::UInt8; break;
    case OutDType::Exact:
    case OutDType::Chosen: fits = given == made; break;
    default: fits = can_cast(made, given);
  }
  if (fits) return;
  if (rule.text) fail(rule.kind, rule_text(rule.text, made, given, first_dtype(r, args)));
  if (rule.dtype == OutDType::Exact && r.kind == Kind::Pointwise) {
    check(made != DType::Bool, r.base, " does not support non-boolean outputs.");
    fail(ErrorKind::Runtime, "Found dtype ", type_name_of(given), " but expected ",
         type_name_of(made));
  }
  if (rule.dtype == OutDType::Exact || rule.dtype == OutDType::Chosen) {
    fail(ErrorKind::Runtime, "Expected out tensor to have dtype ", c_name_of(made), ", but got ",
         c_name_of(given), " instead");
  }
  fail(ErrorKind::Runtime, "result type ", type_name_of(made), " can't be cast to the desired "
       "output type ", type_name_of(given));
}

void fit_target(const Record& r, const Tensor& out, const ResultMeta& m) {
  check(out.device() == m.device, "Expected out tensor to have device ", name_of(m.device.type),
        ", but got ", name_of(out.device().type), " instead");
  if (out.sizes() == Ints(m.sizes)) return;
  if (r.out.quiet) ops::resize_in_place(out, m.sizes);
  else ops::resize_output(out, m.sizes);
  // A resized target takes the order of dimensions that the result has.
  if (m.strided && (numel_of(m.sizes) == 0 || is_dense(m.sizes, m.strides)))
    out->set_layout(m.sizes, m.strides);
}

// The arguments of the call that fills the targets.
class Chosen {
 public:
  Chosen(const Record& r, const Arg* args, const Tensor& out) : args_(args) {
    const int dtype = r.param("dtype"), device = r.param("device");
    if (device >= 0) {  // a factory
      copy(r);
      if (dtype >= 0) {
        const Arg& given = args[dtype];
        check(given.is_none() || DType(given.integer) == out.dtype(), "dtype ",
              given.is_none() ? "" : type_name_of(DType(given.integer)),
              " does not match dtype of out parameter (", type_name_of(out.dtype()), ")");
        copy_[dtype] = Arg(out.dtype());
      }
      copy_[device] = Arg(out.device());
    } else if (r.out.dtype == OutDType::Chosen) {
      if (dtype < 0 || !args[dtype].is_none()) return;
      copy(r);
      copy_[dtype] = Arg(out.dtype());
    } else if (r.out.dtype == OutDType::Computed && args[0].is_tensor() && !args[1].is_none()) {
      const Tensor& self = args[0].as_tensor();
      const DType from = self.dtype(), to = out.dtype();
      if (from == to || !is_differentiable(to) || promote(from, to) != to) return;
      copy(r);
      self_ = ops::to_dtype(self, to);
      copy_[0] = Arg(self_);
    }
  }
  const Arg* args() const { return args_; }

 private:
  void copy(const Record& r) {
    for (size_t i = 0; i < r.params.size(); ++i) copy_[i] = args_[i];
    args_ = copy_;
  }
  const Arg* args_;
  Arg copy_[kMostParams];
  Tensor self_;
};

void pointwise_out(const Record& r, const Arg* args, const Tensor& out) {
  const Value made(out);
  HeardOp end(r, args, &made);
  const ResultMeta m = pointwise_infer(r, args);
  check_dtype(r, args, out, m.dtype);
  if (out.sizes() == Ints(m.sizes)) {
    if (!r.out.internal) refuse_internal_overlap(out);
    refuse_shared(r, args, out, r.out.same);
  }
  fit_target(r, out, m);
  if (!r.out.internal) refuse_internal_overlap(out);
  refuse_shared(r, args, out, r.out.same);
  if (!out.is_meta()) {
    const Seen seen = look_at(r, args);
    if (seen.flags & kBatched) refuse_escaped(r, args);
    const bool bits = seen.flags & (kConj | kNegative);
    if (out.is_conj() || out.is_negative()) {
      const Tensor plain = empty(out.sizes(), out.dtype());
      pointwise_into(r, Prepared(r, args).args(), plain);
      ops::copy_data(out, plain);
    } else {
      Unlocked guard(seen.elements > kWorthUnlocking);
      if (bits) pointwise_into(r, Prepared(r, args).args(), out);
      else pointwise_into(r, args, out);
    }
  }
  out.bump_version();
  end.failed = false;
}

// Random numbers are drawn into the target itself, in the order of its memory and in its dtype.
bool is_drawn(const Record& r) {
  return (r.kind == Kind::Factory || r.out.dtype == OutDType::Any) && r.param("generator") >= 0;
}

void drawn_out(const Record& r, const Arg* args, const Tensor& out) {
  const Value made(out);
  HeardOp end(r, args, &made);
  const Chosen chosen(r, args, out);
  Infer inferred;
  r.infer(inferred, chosen.args());
  const ResultMeta& m = inferred[0];
  check_dtype(r, args, out, m.dtype);
  fit_target(r, out, m);
  if (!r.out.internal) refuse_internal_overlap(out);
  if (r.out.inputs) refuse_shared(r, args, out, false);
  Tensor target = out;
  if (!out.is_meta()) r.kernel(&target, chosen.args());
  out.bump_version();
  end.failed = false;
}

// Whether out=, resized or empty before, takes the column-major layout of a result.
bool takes_columns(const Record& r, int place, const Tensor& out, const Tensor& made) {
  const bool when_empty = r.base == "cholesky_inverse" || r.base == "ormqr" || r.base == "geqrf" ||
                          r.base == "orgqr" || r.base == "linalg_householder_product" ||
                          r.base == "linalg_eig" || r.base == "linalg_lstsq";
  const bool structured = (r.forms & Linalg) || r.base == "triangular_solve" ||
                          r.base == "lu_solve" || (r.base == "svd" && place == 0);
  const bool takes = when_empty ? out.numel() == 0
                                : structured && out.sizes() != made.sizes();
  const size_t n = size_t(made.dim());
  if (!takes || n < 2) return false;
  Dims turned(made.sizes()), strides;
  std::swap(turned[n - 1], turned[n - 2]);
  strides = contiguous_strides(turned);
  std::swap(strides[n - 1], strides[n - 2]);
  return made.strides() == Ints(strides);
}

// Other kernels fill fresh results first: a failure changes nothing, and inputs may be outputs.
void copied_out(const Record& r, const Arg* args, const Tensor* targets) {
  const Chosen chosen(r, args, targets[0]);
  Value results[kMostResults];
  {
    const NoAutocast plain(r.autocast != Autocast::None);
    invoke(r, chosen.args(), results);
  }
  for (int i = 0; i < r.visible; ++i)
    check_dtype(r, args, targets[i], results[i].tensor().dtype());
  for (int i = 0; i < r.visible; ++i) {
    const Tensor& made = results[i].tensor();
    ResultMeta m;
    m.sizes = Dims(made.sizes());
    m.strides = Dims(made.strides());
    // LAPACK's column-major results are copied into rows, except where takes_columns says so.
    // What is the conjugate of a result keeps its order: the op that conjugates is pointwise.
    m.strided = r.kind == Kind::Produce || (r.kind == Kind::Kernel && (r.forms & NN)) ||
                made.is_conj();
    m.dtype = made.dtype();
    m.device = made.device();
    const bool columns = takes_columns(r, i, targets[i], made);
    fit_target(r, targets[i], m);
    if (columns) targets[i]->set_layout(made.sizes(), made.strides());
    if (!r.out.internal) refuse_internal_overlap(targets[i]);
    if (r.out.inputs || r.out.same) refuse_shared(r, args, targets[i], r.out.same);
  }
  for (int i = 0; i < r.visible; ++i) {
    const Tensor& made = results[i].tensor();
    // A tensor given for two results has the sizes of the later one.
    if (targets[i].sizes() != made.sizes()) ops::resize_in_place(targets[i], made.sizes());
    ops::copy_data(targets[i], made);
    targets[i].bump_version();
  }
}

}  // namespace

void invoke_out(const Record& r, const Arg* args, const Tensor* targets) {
  refuse_gradients(r, args, targets);
  if (r.out.tensors_only) refuse_numbers(r, args);
  if (r.out.check) r.out.check(args, targets);
  if ((modes() & kTransform) && transform_out(r, args, targets)) return;
  NoGrad quiet;
  if (r.kind == Kind::Pointwise) pointwise_out(r, args, targets[0]);
  else if (is_drawn(r)) drawn_out(r, args, targets[0]);
  else copied_out(r, args, targets);
}

}  // namespace rl
