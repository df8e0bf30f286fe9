// Properties of tensors.
#include "autograd/shared.h"
#include "autograd/transforms.h"
#include "bind/asked.h"
#include "bind/autograd.h"
#include "bind/members.h"
#include "bind/origin.h"
#include "bind/types.h"
#include "ops/ops.h"

namespace rl::bind {
namespace {

const Tensor& self_of(PyObject* o) { return tensor_of(o); }

// A property of a class that overrides is asked of the class first.
template <PyObject* (*F)(const Tensor&)> PyObject* get(PyObject* o, void* name) {
  PyObject* answer;
  if (overridden(o) && asked_property(o, static_cast<char*>(name), nullptr, false, answer))
    return answer;
  return guarded([&] { return F(self_of(o)); });
}
template <int (*F)(PyObject*, PyObject*, void*)> int set(PyObject* o, PyObject* value, void* name) {
  PyObject* answer;
  if (overridden(o) && asked_property(o, static_cast<char*>(name), value, true, answer))
    return answer ? (Py_DECREF(answer), 0) : -1;
  return F(o, value, name);
}

PyObject* shape(const Tensor& t) { return wrap_size(t.sizes()); }
PyObject* dtype(const Tensor& t) { return wrap_dtype(t.dtype()); }
PyObject* device(const Tensor& t) { return wrap_device(t.device()); }
PyObject* layout(const Tensor&) { return strided_layout(); }
PyObject* ndim(const Tensor& t) { return PyLong_FromLongLong(t.dim()); }
PyObject* is_leaf_(const Tensor& t) { return py_bool(is_leaf(t)); }
PyObject* requires_grad_get(const Tensor& t) { return py_bool(requires_grad(t)); }
PyObject* retains(const Tensor& t) { return py_bool(t->autograd && t->autograd->retains_grad); }
PyObject* output_nr(const Tensor& t) {
  grad_fn(t);
  return PyLong_FromLong(t->autograd ? t->autograd->output : 0);
}
PyObject* grad_fn_get(const Tensor& t) { return wrap_node(grad_fn(t)); }
PyObject* base(const Tensor& t) { return wrap(base_of(t)); }
PyObject* data_get(const Tensor& t) {
  check(!differs_by_sample(t), "accessing `data` under vmap transform is not allowed");
  return wrap(data_of(t));
}
PyObject* itemsize(const Tensor& t) { return PyLong_FromLongLong(t.element_size()); }
PyObject* nbytes(const Tensor& t) { return PyLong_FromLongLong(t.numel() * t.element_size()); }
PyObject* is_cpu(const Tensor& t) { return py_bool(t.device().is_cpu()); }
PyObject* is_meta_(const Tensor& t) { return py_bool(t.is_meta()); }
PyObject* never(const Tensor&) { return py_bool(false); }
PyObject* address(const Tensor& t) { return PyLong_FromVoidPtr(t.body()); }
PyObject* version(const Tensor& t) {
  check(!t.is_inference(), "Inference tensors do not track version counter.");
  return PyLong_FromUnsignedLong(t.version().count.load());
}

PyObject* grad_get(const Tensor& t) {
  if (t->autograd) {
    if (Tensor grad = gradient_of(*t->autograd)) return wrap(std::move(grad));
  }
  if (requires_grad(t) && !is_leaf(t) && !t->autograd->retains_grad) {
    warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
         "attribute won't be populated during autograd.backward(). If you indeed want the .grad "
         "field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. "
         "If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor "
         "instead. See github.com/pytorch/pytorch/pull/30531 for more informations.");
  }
  Py_RETURN_NONE;
}

int grad_set(PyObject* o, PyObject* value, void*) {
  return guarded([&] {
    const Tensor& t = self_of(o);
    if (!value || value == Py_None) {
      set_grad(t, Tensor());
      return 0;
    }
    check(is_tensor(value), ErrorKind::Type, "assigned grad expected to be a Tensor or None but got "
          "grad of type ", Py_TYPE(value)->tp_name);
    const Tensor& g = tensor_of(value);
    check(!g.same(t), "can't assign Variable as its own grad");
    check(g.dtype() == t.dtype(), "attempting to assign a gradient with dtype '", c_name_of(g.dtype()),
          "' to a tensor with grad_dtype '", type_name_of(t.dtype()), "'. The gradient must match the "
          "tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype "
          "attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. "
          "Diverging the dtypes of a tensor and its gradient may break downstream systems that "
          "assume they match.");
    check(g.device() == t.device(), "assigned grad has data located on a different device");
    check(g.sizes() == t.sizes(), "attempting to assign a gradient of size '", g.sizes(), "' to a "
          "tensor of size '", t.sizes(), "'. Please ensure that the gradient and the tensor are the "
          "same size");
    set_grad(t, g);
    return 0;
  });
}

int requires_grad_set(PyObject* o, PyObject* value, void*) {
  return guarded([&] {
    check(value && PyBool_Check(value), "requires_grad must be a bool");
    check(value != Py_True || is_differentiable(self_of(o).dtype()),
          "only Tensors of floating point and complex dtype can require gradients");
    set_requires_grad(self_of(o), value == Py_True);
    return 0;
  });
}

int data_set(PyObject* o, PyObject* value, void*) {
  return guarded([&] {
    check(value && is_tensor(value), ErrorKind::Type,
          "Variable data has to be a tensor, but got ", value ? Py_TYPE(value)->tp_name : "None");
    check(!differs_by_sample(self_of(o)) && !differs_by_sample(tensor_of(value)),
          "mutating directly with `.data` under vmap transform is not allowed.");
    replace_data(self_of(o), tensor_of(value));
    return 0;
  });
}

int no_set(PyObject*, PyObject*, void*) {
  PyErr_SetString(PyExc_AttributeError, "attribute cannot be set");
  return -1;
}

Dims reversed(const Tensor& t) {
  Dims d;
  for (int64_t i = t.dim(); i-- > 0;) d.push_back(i);
  return d;
}
PyObject* big_t(const Tensor& t) {
  if (t.dim() == 0) {
    warn("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.");
  } else if (t.dim() != 2) {
    warn(text("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
              "deprecated and it will throw an error in a future release. Consider `x.mT` to "
              "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
              "reverse the dimensions of a tensor."));
  }
  note_origin();
  return wrap(ops::permute(t, reversed(t)));
}
PyObject* matrix_t(const Tensor& t) {
  if (t.dim() == 0) {
    warn("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.");
    return wrap(t);
  }
  check(t.dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got ",
        t.dim(), "-D tensor.");
  note_origin();
  return wrap(ops::transpose(t, -2, -1));
}
PyObject* conjugate_of_scalar(const Tensor& t, const char* name) {
  warn(text(name, " is deprecated on 0-D tensors. Consider using x.conj()."));
  note_origin();
  return wrap(t.is_complex() ? ops::conj(t) : t);
}
PyObject* matrix_h(const Tensor& t) {
  if (t.dim() == 0) return conjugate_of_scalar(t, "Tensor.mH");
  check(t.dim() >= 2, "tensor.mH is only supported on matrices or batches of matrices. Got ",
        t.dim(), "-D tensor.");
  note_origin();
  const Tensor m = ops::transpose(t, -2, -1);
  return wrap(t.is_complex() ? ops::conj(m) : m);
}
PyObject* big_h(const Tensor& t) {
  check(t.dim() == 0 || t.dim() == 2, "tensor.H is only supported on matrices (2-D tensors). Got ",
        t.dim(), "-D tensor.");
  if (t.dim() == 0) return conjugate_of_scalar(t, "Tensor.H");
  return matrix_h(t);
}
PyObject* real(const Tensor& t) {
  note_origin();
  return wrap(ops::real(t));
}
PyObject* imag(const Tensor& t) {
  note_origin();
  return wrap(ops::imag(t));
}
template <bool Real> int part_set(PyObject* o, PyObject* value, void*) {
  note_origin();
  return guarded([&] {
    const Tensor part = Real ? ops::real(self_of(o)) : ops::imag(self_of(o));
    if (is_tensor(value)) {
      ops::copy_(part, tensor_of(value));
      return 0;
    }
    Scalar s;
    check(read_scalar(value, s), ErrorKind::Type, "expected a number or a tensor");
    ops::copy_(part, scalar_tensor(s, part.dtype()));
    return 0;
  });
}

}  // namespace

PyGetSetDef tensor_properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"shape", get<shape>, nullptr, "The sizes, as a torch.Size.", nullptr},
    {"dtype", get<dtype>, nullptr, nullptr, nullptr},
    {"device", get<device>, nullptr, nullptr, nullptr},
    {"layout", get<layout>, nullptr, nullptr, nullptr},
    {"ndim", get<ndim>, nullptr, nullptr, nullptr},
    {"is_leaf", get<is_leaf_>, nullptr, nullptr, nullptr},
    {"requires_grad", get<requires_grad_get>, set<requires_grad_set>, nullptr, nullptr},
    {"retains_grad", get<retains>, nullptr, nullptr, nullptr},
    {"output_nr", get<output_nr>, nullptr, nullptr, nullptr},
    {"grad_fn", get<grad_fn_get>, no_set, nullptr, nullptr},
    {"grad", get<grad_get>, set<grad_set>, nullptr, nullptr},
    {"_grad", get<grad_get>, set<grad_set>, nullptr, nullptr},
    {"_base", get<base>, nullptr, nullptr, nullptr},
    {"data", get<data_get>, set<data_set>, nullptr, nullptr},
    {"_cdata", get<address>, nullptr, "The same number only for the same tensor.", nullptr},
    {"_version", get<version>, nullptr, nullptr, nullptr},
    {"itemsize", get<itemsize>, nullptr, nullptr, nullptr},
    {"nbytes", get<nbytes>, nullptr, nullptr, nullptr},
    {"is_cpu", get<is_cpu>, nullptr, nullptr, nullptr},
    {"is_meta", get<is_meta_>, nullptr, nullptr, nullptr},
    {"is_cuda", get<never>, nullptr, nullptr, nullptr},
    {"is_mps", get<never>, nullptr, nullptr, nullptr},
    {"is_xpu", get<never>, nullptr, nullptr, nullptr},
    {"is_xla", get<never>, nullptr, nullptr, nullptr},
    {"is_ipu", get<never>, nullptr, nullptr, nullptr},
    {"is_mkldnn", get<never>, nullptr, nullptr, nullptr},
    {"is_sparse", get<never>, nullptr, nullptr, nullptr},
    {"is_sparse_csr", get<never>, nullptr, nullptr, nullptr},
    {"is_quantized", get<never>, nullptr, nullptr, nullptr},
    {"is_nested", get<never>, nullptr, nullptr, nullptr},
    {"is_vulkan", get<never>, nullptr, nullptr, nullptr},
    {"T", get<big_t>, nullptr, nullptr, nullptr},
    {"mT", get<matrix_t>, nullptr, nullptr, nullptr},
    {"H", get<big_h>, nullptr, nullptr, nullptr},
    {"mH", get<matrix_h>, nullptr, nullptr, nullptr},
    {"real", get<real>, set<part_set<true>>, nullptr, nullptr},
    {"imag", get<imag>, set<part_set<false>>, nullptr, nullptr},
    {}};

void name_tensor_properties() {  // get and set find the name that they ask for
  for (PyGetSetDef* p = tensor_properties; p->name; ++p)
    if (p->get != PyObject_GenericGetDict) p->closure = const_cast<char*>(p->name);
}

}  // namespace rl::bind
