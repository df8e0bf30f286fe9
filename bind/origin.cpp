// Finding the innermost frame of the user's program without making a frame object.
#include "bind/origin.h"

#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bind/autograd.h"
#include "bind/module.h"
#include "bind/tensor.h"
#include "ops/op_node.h"

namespace rl::bind {
namespace {

// Note [Frames]
// CPython keeps running frames in structures of its own; a PyFrameObject is made only on demand
// and costs more than a small op. The layouts below repeat, for the versions they name, the first
// fields of `_PyInterpreterFrame` (Include/internal/pycore_frame.h of CPython 3.11 to 3.13).
// Later versions go through the public API, which is slower and right.
using Instruction = uint16_t;             // CPython's code unit; its own name is hidden from 3.13 on
#if PY_VERSION_HEX < 0x030C0000
struct RunningFrame {
  PyObject *function, *globals, *builtins, *locals;
  PyCodeObject* code;
  PyObject* object;
  RunningFrame* previous;
  Instruction* instruction;
};
RunningFrame* innermost(PyThreadState* state) {
  return reinterpret_cast<RunningFrame*>(state->cframe->current_frame);
}
bool runs_python(const RunningFrame*) { return true; }
#elif PY_VERSION_HEX < 0x030E0000
struct RunningFrame {
  PyCodeObject* code;                     // from 3.13 on not a code object in a frame of C's
  RunningFrame* previous;
  PyObject *function, *globals, *builtins, *locals, *object;
  Instruction* instruction;
  int stack_top;
  uint16_t return_offset;
  char owner;
};
RunningFrame* innermost(PyThreadState* state) {
#if PY_VERSION_HEX < 0x030D0000
  return reinterpret_cast<RunningFrame*>(state->cframe->current_frame);
#else
  return reinterpret_cast<RunningFrame*>(state->current_frame);
#endif
}
constexpr char kOwnedByC = 3;             // a frame that stands for a call from C
bool runs_python(const RunningFrame* f) { return f->owner != kOwnedByC; }
#endif

#if PY_VERSION_HEX < 0x030E0000
const Instruction* first_instruction(PyCodeObject* code) {
  return reinterpret_cast<const Instruction*>(code->co_code_adaptive);
}
#endif

// Note [Code objects]
// Those seen are kept alive: an origin may outlive its function. A program that evaluates a text
// over and over makes equal ones: the first stands for all of its file, and only kMostCopies more
// are kept, to be found by their address.
struct Seen {
  PyCodeObject* code = nullptr;
  uint32_t number = 0;                    // its place in `codes`, from 1
  bool ours = false;                      // a file of the package, or no file's at all
};
std::vector<PyCodeObject*> codes;
std::unordered_map<PyCodeObject*, Seen> seen;
constexpr size_t kRecent = 256;
Seen recent[kRecent];                     // by address, in front of `seen`
constexpr size_t kMostCodes = 1 << 16;    // a program that makes code without end is not followed
constexpr size_t kMostCopies = 1 << 10;

bool in_package(PyCodeObject* code) {
  static std::string folder;
  if (folder.empty()) {
    Owned package(PyImport_GetModule(Owned(PyUnicode_FromString("rushlight")).get()));
    Owned file(package ? PyObject_GetAttrString(package.get(), "__file__") : nullptr);
    const char* path = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
    if (path) folder.assign(path, size_t(std::strrchr(path, '/') + 1 - path));
    PyErr_Clear();
    if (folder.empty()) return false;
  }
  const char* name = PyUnicode_AsUTF8(code->co_filename);
  PyErr_Clear();
  return name && std::strncmp(name, folder.c_str(), folder.size()) == 0;
}

// CPython 3.12 and later put a frame around a class's __init__ whose code is a constant of theirs:
// it knows no line, and asking it for one writes to read-only memory.
bool has_lines(PyCodeObject* code) { return PyBytes_GET_SIZE(code->co_linetable) > 1; }

// The number of the first code object of this file that is equal, or else of this one; 0 when there
// are too many.
uint32_t number_of(PyCodeObject* code) {
  static PyObject* const numbers = PyDict_New();
  Owned key(PyTuple_Pack(2, code, code->co_filename));
  PyObject* known = key && numbers ? PyDict_GetItemWithError(numbers, key.get()) : nullptr;
  if (known) return uint32_t(PyLong_AsUnsignedLong(known));
  if (!PyErr_Occurred() && codes.size() < kMostCodes) {
    Owned number(PyLong_FromSize_t(codes.size() + 1));
    if (number && PyDict_SetItem(numbers, key.get(), number.get()) == 0) {
      codes.push_back(code);  // the key keeps it
      return uint32_t(codes.size());
    }
  }
  PyErr_Clear();
  return 0;
}

[[gnu::noinline]] const Seen& enter(PyCodeObject* code, Seen& place) {
  static size_t copies = 0;
  static Seen passing;
  const auto at = seen.find(code);
  if (at != seen.end()) return place = at->second;
  const uint32_t number = number_of(code);
  if (!number) return passing = {};
  passing = {code, number, in_package(code) || !has_lines(code)};
  if (codes[number - 1] != code) {
    if (copies == kMostCopies) return passing;
    ++copies;
    Py_INCREF(code);
  }
  return place = seen[code] = passing;
}

Seen& recent_of(PyCodeObject* code) {
  return recent[(reinterpret_cast<uintptr_t>(code) >> 5) % kRecent];
}

const Seen& look_up(PyCodeObject* code) {
  Seen& s = recent_of(code);
  return __builtin_expect(s.code == code, 1) ? s : enter(code, s);
}

uint64_t pack(const Seen& s, int64_t instruction) {
  return uint64_t(s.number) << 32 | uint64_t(uint32_t(instruction));
}

}  // namespace

#if PY_VERSION_HEX < 0x030E0000
int origins_here(uint64_t* out, int most) noexcept {
  int count = 0;
  for (RunningFrame* f = innermost(PyThreadState_Get()); f && count < most; f = f->previous) {
    if (!runs_python(f)) continue;
    const Seen& s = look_up(f->code);
    if (s.ours || !s.code) continue;
    const int64_t at = f->instruction - first_instruction(f->code);
    if (at >= 0) out[count++] = pack(s, at);    // less: a frame that has not begun
  }
  return count;
}
#else
int origins_here(uint64_t* out, int most) noexcept {
  int count = 0;
  Owned frame = Owned::share(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame && count < most) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
    Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    const Seen& s = look_up(reinterpret_cast<PyCodeObject*>(code.get()));
    const int at = PyFrame_GetLasti(f);
    if (s.code && !s.ours && at >= 0) out[count++] = pack(s, at / int(sizeof(Instruction)));
    frame = Owned(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return count;
}
#endif

uint64_t origin_here() noexcept {
#if PY_VERSION_HEX < 0x030E0000
  const RunningFrame* f = innermost(PyThreadState_Get());
  if (f && runs_python(f)) {  // nearly always: the program's own function, seen before
    const Seen& s = recent_of(f->code);
    if (s.code == f->code && !s.ours) {
      const int64_t at = f->instruction - first_instruction(f->code);
      if (at >= 0) return pack(s, at);
    }
  }
#endif
  uint64_t origin = 0;
  origins_here(&origin, 1);
  return origin;
}

namespace {

struct Range {
  int line = -1, end_line = -1, column = -1, end_column = -1;
};

// The range of an entry of `co_positions()`, unknown parts as -1; false with an exception set.
bool read_range(PyObject* entry, Range& r) {
  int* parts[] = {&r.line, &r.end_line, &r.column, &r.end_column};
  for (int k = 0; k < 4; ++k) {
    PyObject* v = PyTuple_GetItem(entry, k);
    *parts[k] = v && v != Py_None ? int(PyLong_AsLong(v)) : -1;
  }
  return !PyErr_Occurred();
}

// From Python 3.13 on, a loop's step says the place of what it iterates over, as if that had been
// computed again; with the loop's target, which is stored next, it covers the loop's head.
bool is_loop_step(PyCodeObject* code, uint32_t instruction) {
#if PY_VERSION_HEX >= 0x030D0000
  static const long step = [] {
    Owned opcodes(PyImport_ImportModule("opcode"));
    Owned numbers(opcodes ? PyObject_GetAttrString(opcodes.get(), "opmap") : nullptr);
    PyObject* number = numbers ? PyDict_GetItemString(numbers.get(), "FOR_ITER") : nullptr;
    const long found = number ? PyLong_AsLong(number) : -1;
    PyErr_Clear();
    return found;
  }();
  Owned bytes(PyCode_GetCode(code));
  const Py_ssize_t at = Py_ssize_t(instruction * sizeof(Instruction));
  const bool is_step = bytes && at < PyBytes_Size(bytes.get()) &&
                       static_cast<unsigned char>(PyBytes_AsString(bytes.get())[at]) == step;
  PyErr_Clear();
  return is_step;
#else
  (void)code, (void)instruction;
  return false;
#endif
}

void cover(Range& r, const Range& other) {
  if (std::pair(other.line, other.column) < std::pair(r.line, r.column)) {
    r.line = other.line;
    r.column = other.column;
  }
  if (std::pair(other.end_line, other.end_column) > std::pair(r.end_line, r.end_column)) {
    r.end_line = other.end_line;
    r.end_column = other.end_column;
  }
}

// The ranges of a code object's instructions; kept, for a long one is asked for each of its calls.
const std::vector<Range>* ranges_of(uint32_t number) {
  static std::unordered_map<uint32_t, std::vector<Range>> known;
  const auto at = known.find(number);
  if (at != known.end()) return &at->second;
  auto* code = reinterpret_cast<PyObject*>(codes[number - 1]);
  Owned positions(PyObject_CallMethod(code, "co_positions", nullptr));
  if (!positions) return nullptr;
  std::vector<Range> all;
  while (Owned next = Owned(PyIter_Next(positions.get())))
    if (!read_range(next.get(), all.emplace_back())) return nullptr;
  return PyErr_Occurred() ? nullptr : &known.emplace(number, std::move(all)).first->second;
}

}  // namespace

PyObject* origin_place(uint64_t origin) {
  const uint32_t number = uint32_t(origin >> 32), instruction = uint32_t(origin);
  if (number == 0 || number > codes.size()) Py_RETURN_NONE;
  PyCodeObject* code = codes[number - 1];
  const std::vector<Range>* all = ranges_of(number);
  if (!all) return nullptr;
  Range found;
  if (instruction < all->size()) found = (*all)[instruction];
  if (is_loop_step(code, instruction)) {
    for (size_t i = size_t(instruction) + 1; i < all->size(); ++i) {
      const Range& here = (*all)[i];
      if (here.line < 0 || std::pair(here.line, here.column) ==
                               std::pair(found.line, found.column)) continue;
      cover(found, here);
      break;
    }
  }
  if (found.line < 0) found.line = PyCode_Addr2Line(code, int(instruction * sizeof(Instruction)));
  return Py_BuildValue("(OOiiii)", code->co_filename, code->co_name, found.line, found.end_line,
                       found.column, found.end_column);
}

namespace {

PyObject* origin(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    if (is_tensor(o)) return origin_place(tensor_of(o)->origin);
    check(is_node(o), ErrorKind::Type, "_origin(): expected a tensor or a graph node, not ",
          Py_TYPE(o)->tp_name);
    return origin_place(node_of(o)->origin);
  });
}

PyObject* last_writer(PyObject*, PyObject* o) {
  return guarded([&] {
    check(is_tensor(o), ErrorKind::Type, "_last_writer(): expected a tensor, not ",
          Py_TYPE(o)->tp_name);
    return origin_place(tensor_of(o).version().writer);
  });
}

Ref<Node> node_given(PyObject* o, const char* function) {
  check(is_node(o), ErrorKind::Type, function, "(): expected a graph node, not ",
        Py_TYPE(o)->tp_name);
  return node_of(o);
}

PyObject* freed_by(PyObject*, PyObject* o) {
  return guarded([&] { return origin_place(node_given(o, "_freed_by")->freed_by); });
}

PyObject* asked_again(PyObject*, PyObject* o) {
  return guarded([&] { return PyBool_FromLong(node_given(o, "_asked_again")->freed_bytes < 0); });
}

PyObject* saved_bytes(PyObject*, PyObject* o) {
  return guarded([&] {
    return PyLong_FromLongLong(node_given(o, "_saved_bytes")->saved_bytes());
  });
}

PyObject* saved(PyObject*, PyObject* o) {
  return guarded([&] {
    const Ref<Node> held = node_given(o, "_saved");
    Owned list(need(PyList_New(0)));
    const auto* node = dynamic_cast<const OpNode*>(held.get());
    if (!node) return list.leave();
    for (auto& [name, t] : node->saved_tensors()) {
      Owned tensor(need(wrap(t)));
      Owned pair(need(Py_BuildValue("(sO)", name.c_str(), tensor.get())));
      need(PyList_Append(list.get(), pair.get()) == 0);
    }
    return list.leave();
  });
}

PyObject* place(PyObject*, PyObject* o) {
  const unsigned long long at = PyLong_AsUnsignedLongLong(o);
  return PyErr_Occurred() ? nullptr : origin_place(at);
}

PyObject* here(PyObject*, PyObject*) { return origin_place(origin_here()); }

PyObject* built(PyObject*, PyObject* o) {
  return guarded([&] {
    check(is_module(o), ErrorKind::Type, "_built(): expected a module, not ", Py_TYPE(o)->tp_name);
    const uint64_t* origins = module_origins(o);
    Owned places(need(PyList_New(0)));
    for (int i = 0; i < kModuleOrigins && origins[i]; ++i) {
      Owned place(need(origin_place(origins[i])));
      need(PyList_Append(places.get(), place.get()) == 0);
    }
    return places.leave();
  });
}

#if PY_VERSION_HEX < 0x030C0000
// What the frame of a frame object goes on with, and its variables behind that.
struct Variables : RunningFrame {
  int stack_top;
  bool is_entry;
  char owner;
  PyObject* values[1];
};
PyObject* value_of(PyFrameObject* frame, int i, PyObject*) {
  struct FrameObject {
    PyObject_HEAD
    PyFrameObject* back;
    Variables* running;
  };
  PyObject* value = reinterpret_cast<FrameObject*>(frame)->running->values[i];
  constexpr char kCellOrFree = 0x40 | char(0x80);
  const PyObject* kinds = reinterpret_cast<FrameObject*>(frame)->running->code->co_localspluskinds;
  const char kind = PyBytes_AS_STRING(const_cast<PyObject*>(kinds))[i];
  if (value && (kind & kCellOrFree) && PyCell_Check(value)) value = PyCell_GET(value);
  return Py_XNewRef(value);
}
#elif PY_VERSION_HEX < 0x030D0000
PyObject* value_of(PyFrameObject* frame, int, PyObject* name) {
  PyObject* value = PyFrame_GetVar(frame, name);
  if (!value) PyErr_Clear();
  return value;
}
#endif

// _locals(frame): the local names that have values. frame.f_locals would leave a copy on the frame
// before Python 3.13, and what the program deletes would live on in it.
PyObject* locals_of(PyObject*, PyObject* o) {
  if (!PyFrame_Check(o)) {
    PyErr_SetString(PyExc_TypeError, "_locals() takes a frame");
    return nullptr;
  }
  auto* frame = reinterpret_cast<PyFrameObject*>(o);
  const Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  auto* of = reinterpret_cast<PyCodeObject*>(code.get());
  if (!(of->co_flags & CO_OPTIMIZED)) return PyFrame_GetLocals(frame);  // of a module or a class
#if PY_VERSION_HEX >= 0x030D0000
  const Owned all(PyFrame_GetLocals(frame));
  Owned found(PyDict_New());
  return all && found && PyDict_Update(found.get(), all.get()) == 0 ? found.leave() : nullptr;
#else
  Owned found(PyDict_New());
  if (!found) return nullptr;
  for (int i = 0; i < of->co_nlocalsplus; ++i) {
    PyObject* name = PyTuple_GET_ITEM(of->co_localsplusnames, i);
    const Owned value(value_of(frame, i, name));
    if (value && PyDict_SetItem(found.get(), name, value.get()) < 0) return nullptr;
  }
  return found.leave();
#endif
}

PyMethodDef functions[] = {
    {"_asked_again", asked_again, METH_O,
     "_asked_again(node): whether a backward needed what the node had saved and an earlier one freed."},
    {"_built", built, METH_O,
     "_built(module): the user's places that were running when it was made, innermost first."},
    {"_locals", locals_of, METH_O, "_locals(frame): its local names that have values."},
    {"_here", here, METH_NOARGS, "_here(): the place in the user's program that runs now, or None."},
    {"_place", place, METH_O, "_place(origin): the place that a recorded origin stands for."},
    {"_origin", origin, METH_O,
     "_origin(tensor_or_node): where it was made, as (file, function, line, end line, column, end "
     "column); None where that is not known."},
    {"_last_writer", last_writer, METH_O,
     "_last_writer(tensor): where its storage was last changed in place, or None."},
    {"_freed_by", freed_by, METH_O,
     "_freed_by(node): the backward call that freed what the node had saved, or None."},
    {"_saved", saved, METH_O,
     "_saved(node): the tensors that an op's node keeps for backward now, as (name, tensor)."},
    {"_saved_bytes", saved_bytes, METH_O,
     "_saved_bytes(node): the bytes of tensors that it keeps for backward now."},
    {}};

}  // namespace

int add_origin(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace rl::bind
