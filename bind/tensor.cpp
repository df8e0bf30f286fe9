// The Tensor type: objects, their bodies, garbage collection.
#include "bind/tensor.h"

#include "autograd/meta.h"
#include "bind/asked.h"
#include "bind/hooks.h"
#include "bind/interchange.h"
#include "bind/members.h"
#include "bind/operators.h"

namespace rl::bind {

PyTypeObject* tensor_base_type = nullptr;
PyTypeObject* tensor_type = nullptr;
PyTypeObject* parameter_type = nullptr;

namespace {

PyTypeObject* meta_type = nullptr;

// Freed objects of exactly tensor_type wait here, with their collector header and the reference to
// their type.
constexpr int kFree = 128;
PyObject* free_objects[kFree];
int free_count = 0;

bool keeps_identity(TensorObject* self) {
  return Py_TYPE(self) != tensor_type || self->weakrefs ||
         (self->dict && PyDict_GET_SIZE(self->dict) > 0);
}

// The body is still held elsewhere: the object stays alive, owned by the body.
bool pass_to_body(TensorObject* self) {
  TensorBody* body = self->body;
  if (!body || body->owner != self || body->refs() < 2 || !keeps_identity(self)) return false;
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(self), 1);
  body->flags |= kOwnsObject;
  TensorBody::release(body);
  return true;
}

void drop_object(void* owner) {
  auto* self = static_cast<TensorObject*>(owner);
  self->body = nullptr;
  if (!Py_IsInitialized() && !holds_lock()) return;  // it goes with the interpreter
  WithLock lock;
  Py_DECREF(self);
}

void clear_slots(PyObject* self) {  // __slots__ of Python subclasses
  for (PyTypeObject* t = Py_TYPE(self); t && t != tensor_base_type; t = t->tp_base) {
    PyMemberDef* m = t == tensor_type ? nullptr : t->tp_members;
    for (; m && m->name; ++m) {
      if (m->type != T_OBJECT_EX || (m->flags & READONLY)) continue;
      PyObject** at = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + m->offset);
      Py_CLEAR(*at);
    }
  }
}

void take_apart(TensorObject* self, PyTypeObject* type, bool bare) {
  PyObject* o = reinterpret_cast<PyObject*>(self);
  if (self->weakrefs) PyObject_ClearWeakRefs(o);
  if (self->dict) Py_CLEAR(self->dict);
  if (!bare) clear_slots(o);
  if (TensorBody* body = std::exchange(self->body, nullptr)) {
    if (body->owner == self) body->owner = nullptr;
    TensorBody::release(body);
  }
  if (bare && free_count < kFree) {
    free_objects[free_count++] = o;
    return;
  }
  PyObject_GC_Del(o);
  Py_DECREF(type);
}

void dealloc(PyObject* o) {
  auto* self = reinterpret_cast<TensorObject*>(o);
  PyTypeObject* type = Py_TYPE(o);
  const bool bare = type == tensor_type;
  if ((!bare || self->dict || self->weakrefs) && pass_to_body(self)) return;
  if (!bare && type->tp_finalize && PyObject_CallFinalizerFromDealloc(o) < 0) return;
  if (!bare && type->tp_del) {
    type->tp_del(o);
    if (Py_REFCNT(o) > 0) return;
  }
  if (PyObject_GC_IsTracked(o)) PyObject_GC_UnTrack(o);
  if (bare) return take_apart(self, type, true);
  Py_TRASHCAN_BEGIN(o, dealloc)  // slots may hold a chain of tensors
  take_apart(self, type, false);
  Py_TRASHCAN_END
}

int traverse(PyObject* o, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<TensorObject*>(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self->dict);
  // What only this object keeps alive is seen through it; shared things are kept by others.
  if (self->body && self->body->refs() == 1 && self->body->autograd) {
    return traverse_autograd(*self->body->autograd, visit, arg);
  }
  return 0;
}

int clear(PyObject* o) {
  auto* self = reinterpret_cast<TensorObject*>(o);
  Py_CLEAR(self->dict);
  if (self->body && self->body->refs() == 1 && self->body->autograd) {
    clear_autograd(*self->body->autograd);
  }
  return 0;
}

int set_attribute(PyObject* o, PyObject* name, PyObject* value) {
  const int r = PyObject_GenericSetAttr(o, name, value);
  if (r == 0 && reinterpret_cast<TensorObject*>(o)->dict) track(o);
  return r;
}

int init_meta(PyObject* cls, PyObject* args, PyObject* kwargs) {
  if (PyType_Type.tp_init(cls, args, kwargs) < 0) return -1;
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  type->tp_dealloc = dealloc;  // the inherited one would free what the body still needs
  return 0;
}

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {}};

PyTypeObject* make_type(const char* name, PyTypeObject* base, PyType_Slot* slots) {
  PyType_Spec spec = {name, sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  Owned bases(base ? PyTuple_Pack(1, base) : nullptr);
  auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, bases.get()));
  if (type) Py_SET_TYPE(reinterpret_cast<PyObject*>(type), meta_type);
  return type;
}

}  // namespace

TensorKind kind_of_type(PyTypeObject* type) {
  struct Entry { PyTypeObject* type; unsigned version; TensorKind kind; };
  static Entry cache[64];
  Entry& e = cache[(reinterpret_cast<uintptr_t>(type) >> 4) & 63];
  if (e.type == type && e.version == type->tp_version_tag && e.version) return e.kind;
  TensorKind kind = TensorKind::No;
  if (PyType_IsSubtype(type, tensor_base_type)) {
    kind = has_override(type) ? TensorKind::Override : TensorKind::Plain;
  } else if (has_override(type)) {
    kind = TensorKind::Foreign;
  }
  e = {type, type->tp_version_tag, kind};
  return kind;
}

bool is_parameter(PyObject* o) {
  return parameter_type && (Py_TYPE(o) == parameter_type ||
                            PyType_IsSubtype(Py_TYPE(o), parameter_type) ||
                            (is_tensor(o) && reinterpret_cast<TensorObject*>(o)->dict &&
                             PyDict_GetItemString(reinterpret_cast<TensorObject*>(o)->dict,
                                                  "_is_param") == Py_True));
}

void track(PyObject* o) {
  if (!PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
}

PyObject* wrap(Tensor t) {
  if (!t) Py_RETURN_NONE;
  TensorBody* body = t.body();
  if (body->owner) {
    auto* o = static_cast<PyObject*>(body->owner);
    if (!body->is(kOwnsObject)) {
      Py_INCREF(o);
      return o;
    }
    body->set(kOwnsObject, false);  // Python owns it again; the body's reference is handed out
    body->keep();
    return o;
  }
  PyObject* o;
  if (free_count) {
    o = free_objects[--free_count];
    Py_SET_REFCNT(o, 1);
  } else {
    o = reinterpret_cast<PyObject*>(PyObject_GC_New(TensorObject, tensor_type));
    if (!o) return nullptr;
  }
  auto* self = reinterpret_cast<TensorObject*>(o);
  self->dict = nullptr;
  self->weakrefs = nullptr;
  self->body = t.leave();
  body->owner = o;
  return o;
}

PyObject* wrap_as(PyTypeObject* type, Tensor t) {
  if (type == tensor_type && !t->owner) return wrap(std::move(t));
  check(!t->owner, "Creating a new Tensor subclass ", type->tp_name,
        " but the raw Tensor object is already associated to a python object of type ",
        t->owner ? Py_TYPE(static_cast<PyObject*>(t->owner))->tp_name : "");
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) return nullptr;
  auto* self = reinterpret_cast<TensorObject*>(o);
  TensorBody* body = t.leave();
  self->body = body;
  body->owner = o;
  return o;
}

int add_tensor_types(PyObject* module) {
  owner_hooks.drop = drop_object;
  PyType_Slot meta_slots[] = {{Py_tp_init, reinterpret_cast<void*>(init_meta)}, {0, nullptr}};
  PyType_Spec meta_spec = {"rushlight._C._TensorMeta", 0, 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, meta_slots};
  Owned meta_bases(PyTuple_Pack(1, &PyType_Type));
  meta_type = reinterpret_cast<PyTypeObject*>(
      PyType_FromSpecWithBases(&meta_spec, meta_bases.get()));
  if (!meta_type) return -1;
  name_tensor_properties();
  PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_members, members},
      {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
      {Py_tp_new, reinterpret_cast<void*>(tensor_new)},
      {Py_tp_getset, tensor_properties},
      {Py_tp_methods, tensor_methods},
      {Py_nb_bool, reinterpret_cast<void*>(tensor_bool)},
      {Py_nb_int, reinterpret_cast<void*>(tensor_int)},
      {Py_nb_float, reinterpret_cast<void*>(tensor_float)},
      {Py_nb_index, reinterpret_cast<void*>(tensor_index)},
      {Py_mp_length, reinterpret_cast<void*>(tensor_length)},
      {Py_mp_subscript, reinterpret_cast<void*>(tensor_get_item)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(tensor_set_item)},
      {Py_tp_hash, reinterpret_cast<void*>(tensor_hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(operator_slot("compare"))},
      {Py_nb_add, operator_slot("add")}, {Py_nb_inplace_add, operator_slot("iadd")},
      {Py_nb_subtract, operator_slot("sub")}, {Py_nb_inplace_subtract, operator_slot("isub")},
      {Py_nb_multiply, operator_slot("mul")}, {Py_nb_inplace_multiply, operator_slot("imul")},
      {Py_nb_true_divide, operator_slot("truediv")},
      {Py_nb_inplace_true_divide, operator_slot("itruediv")},
      {Py_nb_floor_divide, operator_slot("floordiv")},
      {Py_nb_inplace_floor_divide, operator_slot("ifloordiv")},
      {Py_nb_remainder, operator_slot("mod")}, {Py_nb_inplace_remainder, operator_slot("imod")},
      {Py_nb_power, operator_slot("pow")}, {Py_nb_inplace_power, operator_slot("ipow")},
      {Py_nb_matrix_multiply, operator_slot("matmul")},
      {Py_nb_and, operator_slot("and")}, {Py_nb_inplace_and, operator_slot("iand")},
      {Py_nb_or, operator_slot("or")}, {Py_nb_inplace_or, operator_slot("ior")},
      {Py_nb_xor, operator_slot("xor")}, {Py_nb_inplace_xor, operator_slot("ixor")},
      {Py_nb_lshift, operator_slot("lshift")}, {Py_nb_inplace_lshift, operator_slot("ilshift")},
      {Py_nb_rshift, operator_slot("rshift")}, {Py_nb_inplace_rshift, operator_slot("irshift")},
      {Py_nb_negative, operator_slot("neg")}, {Py_nb_positive, operator_slot("pos")},
      {Py_nb_invert, operator_slot("invert")}, {Py_nb_absolute, operator_slot("abs")},
      {0, nullptr}};
  tensor_base_type = make_type("rushlight._C.TensorBase", nullptr, slots);
  if (!tensor_base_type) return -1;
  PyType_Slot own[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_methods, interchange_methods},
                       {0, nullptr}};
  tensor_type = make_type("rushlight.Tensor", tensor_base_type, own);
  if (!tensor_type) return -1;
  tensor_base_type->tp_name = "torch._C.TensorBase";  // as PyTorch's messages call them
  tensor_type->tp_name = "Tensor";
  if (ask_for_methods(tensor_base_type, tensor_methods) < 0 ||
      ask_for_methods(tensor_type, interchange_methods) < 0)
    return -1;
  return PyModule_AddObjectRef(module, "_TensorMeta", reinterpret_cast<PyObject*>(meta_type)) |
         PyModule_AddObjectRef(module, "TensorBase", reinterpret_cast<PyObject*>(tensor_base_type)) |
         PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type));
}

}  // namespace rl::bind
