// Python's operators on tensors.
#include "bind/operators.h"

#include <cstring>

namespace rl::bind {
namespace {

enum Slot { kAdd, kSub, kMul, kTrueDiv, kFloorDiv, kMod, kPow, kMatMul, kAnd, kOr, kXor, kLShift,
            kRShift, kLt, kLe, kEq, kNe, kGt, kGe, kNeg, kPos, kInvert, kAbs, kSlots };
constexpr const char* kNames[kSlots] = {
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
    "lshift", "rshift", "lt", "le", "eq", "ne", "gt", "ge", "neg", "pos", "invert", "abs"};

OpName *forward[kSlots], *reflected[kSlots], *augmented[kSlots];

// A TypeError of the argument reader means that the other operand may know what to do.
PyObject* or_not_implemented(PyObject* result) {
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}

PyObject* call_two(OpName* op, PyObject* a, PyObject* b) {
  if (!op) Py_RETURN_NOTIMPLEMENTED;
  PyObject* args[2] = {a, b};
  return guarded([&] { return call_op(*op, {args, 2, nullptr, op->method}); });
}

bool operand(PyObject* o) {  // what may stand beside a tensor; others get to speak first
  return is_tensor(o) || PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) ||
         std::strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0 || kind_of(o) == TensorKind::Foreign;
}

template <int S> PyObject* binary(PyObject* a, PyObject* b) {
  if (is_tensor(a))
    return operand(b) ? call_two(forward[S], a, b) : or_not_implemented(call_two(forward[S], a, b));
  if (!reflected[S]) Py_RETURN_NOTIMPLEMENTED;
  return or_not_implemented(call_two(reflected[S], b, a));
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<kPow>(a, b);
}

template <int S> PyObject* in_place(PyObject* a, PyObject* b) {
  return or_not_implemented(call_two(augmented[S], a, b));
}
PyObject* in_place_power(PyObject* a, PyObject* b, PyObject*) { return in_place<kPow>(a, b); }

template <int S> PyObject* unary(PyObject* a) {
  if (!forward[S]) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&] { return call_op(*forward[S], {&a, 1, nullptr, forward[S]->method}); });
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  constexpr int kOf[] = {kLt, kLe, kEq, kNe, kGt, kGe};
  OpName* name = forward[kOf[op]];
  if (!name) Py_RETURN_NOTIMPLEMENTED;
  if (b == Py_None && (op == Py_EQ || op == Py_NE)) return py_bool(op == Py_NE);
  return or_not_implemented(call_two(name, a, b));
}

template <class F> void* as_slot(F* f) { return reinterpret_cast<void*>(f); }

}  // namespace

void* operator_slot(const char* name) {
  struct Entry { const char* name; void* slot; };
#define RL_BINARY(N, S) {N, as_slot(binary<S>)}, {"i" N, as_slot(in_place<S>)}
  static const Entry kEntries[] = {
      RL_BINARY("add", kAdd), RL_BINARY("sub", kSub), RL_BINARY("mul", kMul),
      RL_BINARY("truediv", kTrueDiv), RL_BINARY("floordiv", kFloorDiv), RL_BINARY("mod", kMod),
      RL_BINARY("matmul", kMatMul), RL_BINARY("and", kAnd), RL_BINARY("or", kOr),
      RL_BINARY("xor", kXor), RL_BINARY("lshift", kLShift), RL_BINARY("rshift", kRShift),
      {"pow", as_slot(power)}, {"ipow", as_slot(in_place_power)},
      {"neg", as_slot(unary<kNeg>)}, {"pos", as_slot(unary<kPos>)},
      {"invert", as_slot(unary<kInvert>)}, {"abs", as_slot(unary<kAbs>)},
      {"compare", as_slot(compare)}};
#undef RL_BINARY
  for (const Entry& e : kEntries)
    if (!std::strcmp(e.name, name)) return e.slot;
  return nullptr;
}

void set_operator(const std::string& name, OpName* op, OpName* in_place_op, uint32_t more) {
  bool known = false;
  for (int s = 0; s < kSlots; ++s) {
    known |= name == kNames[s] || name == std::string("r") + kNames[s];
    if (name == kNames[s]) {
      forward[s] = op;
      if (more & Reflected) reflected[s] = op;
      if (more & Augmented) augmented[s] = in_place_op;
    } else if (name == std::string("r") + kNames[s]) {
      reflected[s] = op;
    }
  }
  check(known, "dunder(\"", name, "\"): there is no such operator");
}

}  // namespace rl::bind
