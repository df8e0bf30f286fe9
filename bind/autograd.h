// Graph nodes as Python objects, hooks, and the entry points of backward.
#pragma once
#include "autograd/meta.h"
#include "bind/python.h"
#include "bind/tensor.h"

namespace rl::bind {

PyObject* wrap_node(const Ref<Node>& node);        // None for no node
bool is_node(PyObject* o);
Ref<Node> node_of(PyObject* o);

std::shared_ptr<Hook> tensor_hook(PyObject* callable);           // grad -> grad or None
std::shared_ptr<Hook> leaf_hook(PyObject* callable);             // post accumulate: leaf -> None

int add_autograd(PyObject* module);                // modes, run_backward, Node
int add_modes(PyObject* module);                   // no_grad and its like (modes.cpp)
int add_function(PyObject* module);                // the base of autograd.Function
// Of a context whose node is no more, or never was.
std::string name_of_ended(PyObject* context);
Span<Edge> edges_of_ended(PyObject* context);
int add_anomaly(PyObject* module);                 // anomaly mode, saved_tensors_hooks

// Python's name of a class for a node ("MulBackward0"), one type per name.
PyTypeObject* node_type(const std::string& name);

void replace_data(const Tensor& t, const Tensor& data);   // t.data = data

}  // namespace rl::bind
