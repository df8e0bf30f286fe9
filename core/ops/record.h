// The op record: one typed definition per op, from which everything else about it follows.
#pragma once
#include <array>
#include <deque>
#include <tuple>

#include "autograd/meta.h"
#include "kernels/pointwise.h"
#include "ops/infer.h"

namespace rl {

enum class Kind : uint8_t {
  Pointwise,   // a scalar functor over broadcast operands
  Kernel,      // results inferred and allocated, then filled
  Produce,     // the results' shapes depend on data: the kernel returns them
  View,        // returns aliases of its first argument
  Effect,      // writes its marked arguments
  Factory,     // makes a tensor from no tensor: dtype, device, ... follow
  Composite,   // a body of op calls
};

enum Form : uint32_t {
  Function = 1, Method = 2, Inplace = 4, Out = 8,
  NN = 16, Linalg = 32, Special = 64, FFT = 128,  // instead of the main namespace
  Hidden = 256,                                   // the function is named _C._ops.NAME only
};

enum Operator : uint32_t { Reflected = 1, Augmented = 2 };

// How a pointwise record finds the dtype it computes in.
enum class Promote : uint8_t {
  Default,     // the operands' common dtype
  Float,       // ... and integers become the default float
  Compare,     // computed in the common dtype; the kernel writes bool
  None,        // the first operand's dtype; others must agree
};

// Which of several kernels a pointwise call takes, and with which numbers.
struct Choice {
  const kernels::Pointwise* kernel;
  Promote promotion = Promote::Default;
  int count = -1;               // of `numbers`; -1: the call's own
  Scalar numbers[4] = {};
};

enum class Autocast : uint8_t { None, Lower, Float, Promote };

// What dtype out= may have.
enum class OutDType : uint8_t {
  Cast,      // one that the result can be cast to
  Exact,     // the result's
  Any,       // any: the result is copied
  Chosen,    // the call's `dtype`; where none is given, that of out= is taken for it
  Computed,  // self is cast to it before the work, if that loses nothing; otherwise as Cast
  Truth,     // bool, or uint8
};

// How out= and in-place forms are judged where a record has rules of its own.
struct OutRule {
  OutDType dtype = OutDType::Cast;
  bool internal = false;       // the target's elements may share memory
  bool inputs = false;         // the target may not share some memory with an input
  bool same = false;           // ... nor be one
  bool quiet = false;          // resizing a target that has elements warns nobody
  bool tensors_only = false;   // numbers that stand for tensors are refused
  bool structured = false;     // in place, another size or dtype is a "Bad in-place call"
  bool inplace_internal = false;  // the in-place form takes a self whose elements share memory
  // Said of a dtype that does not fit, for out= and in place. %W and %G: the type wanted and that
  // given (Float, Long); %w and %g: the same in C++ (float, long int); %I: the first input's.
  const char* text = nullptr;
  const char* inplace_text = nullptr;
  ErrorKind kind = ErrorKind::Runtime;
  void (*check)(const Arg* args, const Tensor* targets) = nullptr;  // of out=, before all else
  void (*inplace_check)(const Arg* args) = nullptr;
};

// Where a pointwise call's operands and numbers stand among its arguments.
struct PointwiseShape {
  static constexpr int kMostNumbers = 8;
  uint8_t operands[kernels::kMaxArity] = {}, numbers[kMostNumbers] = {};
  uint8_t operand_count = 0, number_count = 0;
};

enum class Type : uint8_t {
  Tensor, Tensors, Int, Ints, Float, Floats, Bool, Bools, Number, Numbers, Text, DType, Device,
  Layout, Generator, MemoryFormat,
};

struct Param {
  std::string name;
  Type type = Type::Tensor;
  bool optional = false;        // "?": None is allowed
  bool optional_items = false;  // Tensor?[]
  int length = 0;               // int[2]: one int stands for two
  bool keyword_only = false;
  bool has_default = false;
  bool written = false;         // "(a!)"
  bool number = false;          // a Python number may stand for the tensor
  Value fallback;               // the default, or None
  std::string default_text;
};

struct Return {
  std::string name;             // "result" unless the signature says
  bool list = false;            // Tensor[]
  bool tensor = true;
  bool saved = false;           // exists only when a gradient needs it; callers do not see it
  bool alias = false, written = false;
  bool differentiable = true;
};

// Which inputs of an op a gradient is wanted for, in the order of the formula's own list.
struct Needs {
  uint64_t mask;
  bool operator[](int i) const { return mask >> i & 1; }
};

struct Formula {
  // What a formula is called with.
  struct Source {
    enum Kind : uint8_t { Grad, Grads, Input, Result, Sizes, ResultSizes, InputDType, Layout,
                          Needed } kind;
    int index = 0;
  };
  std::vector<int> targets;     // params that it gives gradients for
  std::vector<Source> sources;
  std::vector<int> slots;       // per source: its place among Record::saves, or -1
  uint64_t saved = 0;           // the slots it uses, as bits
  uint64_t target_params = 0;   // the targets, as bits
  void (*call)(const Arg* args, Value* made) = nullptr;
};

struct Record {
  std::string name, base;       // "max.dim", "max"
  std::string signature, doc, node;
  std::vector<std::string> aliases;
  std::vector<std::pair<std::string, uint32_t>> dunders;
  std::vector<Param> params;
  std::vector<Return> returns;
  int visible = 1;              // returns that callers see
  Kind kind = Kind::Composite;
  uint32_t forms = Function;
  Promote promotion = Promote::Default;
  Autocast autocast = Autocast::None;
  OutRule out;
  PointwiseShape shape;         // set by finish_records
  bool conj_ok = false;         // accepts tensors with the conjugate or negative bit
  bool dense = false;           // gets contiguous inputs
  bool linear = false;
  bool edits = false;           // the kernel changes its result, which begins as a copy of self
  bool multi_view = false;      // its views are several of one: no in-place on them
  bool has_written = false;
  bool promote_numbers = false; // Number params take part in promotion
  std::string no_derivative;    // says why, when there is none to be had
  const kernels::Pointwise* pointwise = nullptr;
  Choice (*choose)(const Arg*) = nullptr;                      // Pointwise of several kernels
  void (*infer)(Infer&, const Arg*) = nullptr;
  void (*kernel)(Tensor* results, const Arg*) = nullptr;       // Kernel, Effect, Factory
  void (*produce)(Value* results, const Arg*) = nullptr;       // Produce, View, Composite
  void (*cost)(const Arg*, const Tensor* results, double& flops, double& bytes) = nullptr;
  std::vector<Formula> formulas;
  uint64_t tensor_params = 0;   // bit per Tensor or Tensor[] param
  uint64_t grad_params = 0;     // bit per param that some formula serves
  std::vector<Formula::Source> saves;  // what nodes keep, each once
  int first_tensor = -1;
  bool saves_self = false;      // some formula keeps the first parameter's value
  void* python = nullptr;       // bind's own data

  int param(std::string_view name) const;
  bool differentiable() const { return !formulas.empty() || !no_derivative.empty(); }
};

std::deque<Record>& registry();
std::vector<std::string>& faults();    // what is wrong with records; the import raises them all
const Record* find_record(std::string_view name);
Record& new_record(std::string_view signature);
void add_formula(Record& r, std::string_view targets, std::string_view sources, size_t arity,
                 size_t made, void (*call)(const Arg*, Value*));
void finish_records();                 // after all static initialisers: cross-checks

// ---- The wrapper (ops/dispatch.cpp): every call of every op goes through one of these.
void invoke(const Record& r, const Arg* args, Value* results);
void invoke_in_place(const Record& r, const Arg* args);
// args: the given ones, then the defaults of the others.
void with_defaults(const Record& r, std::initializer_list<Arg> given, Arg* args);
void invoke_out(const Record& r, const Arg* args, const Tensor* targets);
// Fills given results from arguments: no checks, no graph, no events. For replay.
void run(const Record& r, Tensor* results, const Arg* args);

// ---- From borrowed arguments to C++ types.
template <class T> struct From;
template <> struct From<Tensor> {
  explicit From(const Arg& a) : arg(a) { if (a.is_number()) made = wrapped_number(a.scalar()); }
  const Tensor& get() const {
    static const Tensor undefined;
    return arg.is_number() ? made : arg.is_tensor() ? arg.as_tensor() : undefined;
  }
  const Arg& arg;
  Tensor made;
};
#define RL_FROM(T, EXPR) \
  template <> struct From<T> { explicit From(const Arg& a) : arg(a) {} \
    T get() const { return EXPR; } const Arg& arg; };
RL_FROM(bool, arg.integer != 0)
RL_FROM(int64_t, arg.scalar().to_int())
RL_FROM(double, arg.scalar().to_double())
RL_FROM(Scalar, arg.scalar())
RL_FROM(Ints, arg.ints())
RL_FROM(TensorList, arg.tensors())
RL_FROM(Span<Scalar>, arg.numbers())
RL_FROM(std::string_view, arg.chars())
RL_FROM(DType, DType(arg.integer))
RL_FROM(Device, arg.device)
RL_FROM(Generator*, arg.is_none() ? nullptr : arg.generator)
RL_FROM(MemoryFormat, MemoryFormat(arg.integer))
RL_FROM(Needs, Needs{uint64_t(arg.integer)})
#undef RL_FROM
template <class T> struct From<std::optional<T>> {
  explicit From(const Arg& a) : inner(a) {}
  std::optional<T> get() const {
    return inner.arg.is_none() ? std::nullopt : std::optional<T>(inner.get());
  }
  From<T> inner;
};

template <class T> constexpr Type type_of() {
  if constexpr (std::is_same_v<T, Tensor>) return Type::Tensor;
  else if constexpr (std::is_same_v<T, TensorList>) return Type::Tensors;
  else if constexpr (std::is_same_v<T, int64_t>) return Type::Int;
  else if constexpr (std::is_same_v<T, Ints>) return Type::Ints;
  else if constexpr (std::is_same_v<T, double>) return Type::Float;
  else if constexpr (std::is_same_v<T, bool>) return Type::Bool;
  else if constexpr (std::is_same_v<T, Scalar>) return Type::Number;
  else if constexpr (std::is_same_v<T, Span<Scalar>>) return Type::Numbers;
  else if constexpr (std::is_same_v<T, std::string_view>) return Type::Text;
  else if constexpr (std::is_same_v<T, DType>) return Type::DType;
  else if constexpr (std::is_same_v<T, Device>) return Type::Device;
  else if constexpr (std::is_same_v<T, Generator*>) return Type::Generator;
  else if constexpr (std::is_same_v<T, MemoryFormat>) return Type::MemoryFormat;
  else return type_of<typename T::value_type>();  // std::optional
}
void check_types(Record& r, const Type* types, size_t n, size_t results, bool list);

// ---- From results to Values.
template <class T> constexpr size_t result_count() {
  if constexpr (std::is_void_v<T>) return 0;
  else if constexpr (requires { std::tuple_size<T>::value; }) return std::tuple_size_v<T>;
  else return 1;
}
inline void store(Tensor&& made, Value* out) { out->set(std::move(made)); }
template <class T> inline void store(T&& made, Value* out) {
  using U = std::remove_cvref_t<T>;
  if constexpr (requires { std::tuple_size<U>::value; }) {
    std::apply([&](auto&... part) { (store(std::move(part), out++), ...); }, made);
  } else {
    *out = Value(std::move(made));
  }
}
template <class T> T load(Value* v) {
  if constexpr (std::is_same_v<T, Tensor>) return v->take_tensor();
  else if constexpr (std::is_same_v<T, Tensors>) return Tensors(v->tensors());
  else if constexpr (requires { std::tuple_size<T>::value; }) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return T{load<std::tuple_element_t<I, T>>(v + I)...};
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    return From<T>(v->arg()).get();
  }
}

// Thunks: captureless lambdas become plain functions over Arg arrays.
template <class F, class R, class... P, size_t... I>
auto call_from(const Arg* a, R (*)(P...), std::index_sequence<I...>) {
  return F{}(From<std::remove_cvref_t<P>>(a[I]).get()...);
}
template <class F, class R, class... P> void formula_thunk(const Arg* a, Value* out) {
  store(call_from<F>(a, static_cast<R (*)(P...)>(nullptr), std::index_sequence_for<P...>()), out);
}
template <class... T> struct Types {};

// Op<R(A...)>: the handle by which C++ defines and calls an op.
template <class Sig> class Op;
template <class R, class... A> class Op<R(A...)> {
 public:
  explicit Op(Record* r) : record_(r) {}
  const Record& record() const { return *record_; }

  // Calls the op; arguments left out at the end take their defaults.
  template <class... X> R operator()(const X&... x) const {
    static_assert(sizeof...(X) <= sizeof...(A), "too many arguments");
    return call({Arg(x)...});
  }
  // Not inlined: formulas call ops in hundreds of places.
  [[gnu::noinline]] R call(std::initializer_list<Arg> given) const {
    Value results[result_count<R>() + 4];
    if (given.size() == sizeof...(A)) {
      invoke(*record_, given.begin(), results);
    } else {
      Arg args[sizeof...(A) + 1];
      with_defaults(*record_, given, args);
      invoke(*record_, args, results);
    }
    if constexpr (!std::is_void_v<R>) return load<R>(results);
  }
  // x.op_(...): changes its first argument.
  template <class... X> void in_place(const X&... x) const {
    Arg args[sizeof...(A) + 1];
    with_defaults(*record_, {Arg(x)...}, args);
    invoke_in_place(*record_, args);
  }

  Op doc(const char* text) { record_->doc = text; return *this; }
  Op alias(const char* name) { record_->aliases.push_back(name); return *this; }
  // The operator: "mul" is __mul__; Reflected adds __rmul__ with operands swapped, Augmented adds
  // __imul__. An op for the reflected operator alone says dunder("rsub").
  Op dunder(const char* name, uint32_t more = 0) {
    record_->dunders.push_back({name, more});
    return *this;
  }
  Op forms(uint32_t f) { record_->forms = f; return *this; }
  Op node(const char* name) { record_->node = name; return *this; }
  Op number(const char* param);
  Op nondiff(const char* result);
  Op autocast(Autocast a) { record_->autocast = a; return *this; }
  Op exact_out() { record_->out.dtype = OutDType::Exact; return *this; }
  Op out(const OutRule& rule) { record_->out = rule; return *this; }
  Op accepts_conj() { record_->conj_ok = true; return *this; }
  Op dense() { record_->dense = true; return *this; }
  Op linear() { record_->linear = true; return *this; }
  // The kernel changes its result, which begins as a copy of self (in place: is self).
  Op edits() { record_->edits = true; return *this; }
  Op multi_view() { record_->multi_view = true; return *this; }
  Op no_derivative(const char* why) { record_->no_derivative = why; return *this; }

  Op pointwise(const kernels::Pointwise& k, Promote p = Promote::Default, bool numbers = false) {
    record_->kind = Kind::Pointwise;
    record_->pointwise = &k;
    record_->promotion = p;
    record_->promote_numbers = numbers;
    return *this;
  }
  // choose: Choice(const A&...), for a pointwise op whose kernel depends on its arguments.
  template <class F> Op choose(F, bool numbers = false) {
    record_->kind = Kind::Pointwise;
    record_->promote_numbers = numbers;
    record_->choose = [](const Arg* a) {
      return [&]<size_t... I>(std::index_sequence<I...>) {
        return F{}(From<A>(a[I]).get()...);
      }(std::index_sequence_for<A...>());
    };
    return *this;
  }
  // infer: void(Infer&, const A&...): checks, and each result's sizes, dtype and device. A
  // pointwise op's finds the dtype computed in as the first result's and has only to check; it is
  // not asked where all operands are floats of one dtype, unless the op chooses its kernel.
  template <class F> Op infer(F) {
    record_->infer = [](Infer& r, const Arg* a) {
      [&]<size_t... I>(std::index_sequence<I...>) {
        F{}(r, From<A>(a[I]).get()...);
      }(std::index_sequence_for<A...>());
    };
    return *this;
  }
  // kernel: void(Tensor&... results, const A&...), saved results included.
  template <class F> Op kernel(F f) { return set_kernel(f, Kind::Kernel); }
  template <class F> Op effect(F f) { return set_kernel(f, Kind::Effect); }
  template <class F> Op factory(F f) { return set_kernel(f, Kind::Factory); }
  // R(const A&...): returns its results.
  template <class F> Op produce(F f) { return set_body(f, Kind::Produce); }
  template <class F> Op view(F f) { return set_body(f, Kind::View); }
  template <class F> Op composite(F f) { return set_body(f, Kind::Composite); }
  // A formula for the gradients of `targets`, called with `sources`: grad, grad.NAME, grads (of a
  // list result), params and results by name, NAME.sizes, NAME.dtype, NAME.layout (the tensor
  // without its data), needs. Several targets: a tuple, in their order.
  template <class F> Op grad(const char* targets, const char* sources, F f) {
    static_assert(std::is_empty_v<F>, "a formula is a captureless lambda: a function's address "
                                      "would be lost");
    add_grad<F>(targets, sources, +f);
    return *this;
  }
  template <class F> Op cost(F) {
    record_->cost = [](const Arg* a, const Tensor* results, double& flops, double& bytes) {
      [&]<size_t... I>(std::index_sequence<I...>) {
        F{}(flops, bytes, *results, From<A>(a[I]).get()...);
      }(std::index_sequence_for<A...>());
    };
    return *this;
  }

 private:
  template <class F> Op set_kernel(F, Kind kind) {
    record_->kind = kind;
    record_->kernel = [](Tensor* out, const Arg* a) { call_kernel<F>(out, a, &F::operator()); };
    return *this;
  }
  template <class F, class... P>
  static void call_kernel(Tensor* out, const Arg* a, void (F::*)(P...) const) {
    constexpr size_t results = sizeof...(P) - sizeof...(A);
    [&]<size_t... O, size_t... I>(std::index_sequence<O...>, std::index_sequence<I...>) {
      F{}(out[O]..., From<A>(a[I]).get()...);
    }(std::make_index_sequence<results>(), std::index_sequence_for<A...>());
  }
  template <class F> Op set_body(F, Kind kind) {
    record_->kind = kind;
    record_->produce = [](Value* out, const Arg* a) {
      [&]<size_t... I>(std::index_sequence<I...>) {
        if constexpr (std::is_void_v<R>) F{}(From<A>(a[I]).get()...);
        else store(R(F{}(From<A>(a[I]).get()...)), out);
      }(std::index_sequence_for<A...>());
    };
    return *this;
  }
  template <class F, class Q, class... P>
  void add_grad(const char* targets, const char* sources, Q (*)(P...)) {
    add_formula(*record_, targets, sources, sizeof...(P), result_count<Q>(),
                &formula_thunk<F, Q, P...>);
  }

  Record* record_;
};

template <class R, class... A> Op<R(A...)> make_op(std::string_view signature, Op<R(A...)>*) {
  Record& r = new_record(signature);
  constexpr Type types[] = {type_of<A>()..., Type::Tensor};
  check_types(r, types, sizeof...(A), result_count<R>(), std::is_same_v<R, Tensors>);
  return Op<R(A...)>(&r);
}
template <class Sig> Op<Sig> define(std::string_view signature) {
  return make_op(signature, static_cast<Op<Sig>*>(nullptr));
}

template <class R, class... A> Op<R(A...)> Op<R(A...)>::number(const char* name) {
  const int i = record_->param(name);
  if (i < 0) faults().push_back(record_->name + ": number(\"" + name + "\") names no parameter");
  else record_->params[size_t(i)].number = true;
  return *this;
}
template <class R, class... A> Op<R(A...)> Op<R(A...)>::nondiff(const char* name) {
  for (Return& r : record_->returns)
    if (r.name == name) {
      r.differentiable = false;
      return *this;
    }
  faults().push_back(record_->name + ": nondiff(\"" + name + "\") names no result");
  return *this;
}

}  // namespace rl
