// dtype, device, layout, memory_format, Size and Generator as Python objects.
#pragma once
#include "base/generator.h"
#include "bind/tensor.h"

namespace rl::bind {

struct DTypeObject { PyObject_HEAD DType dtype; };
struct DeviceObject { PyObject_HEAD Device device; };
struct NamedObject { PyObject_HEAD int value; const char* name; };  // layout, memory_format
struct GeneratorObject { PyObject_HEAD Generator* generator; bool own; PyObject* dict; };

extern PyTypeObject *dtype_type, *device_type, *layout_type, *memory_format_type, *size_type,
    *generator_type;

PyObject* wrap_dtype(DType t);                // a shared object
PyObject* wrap_device(Device d);
PyObject* wrap_size(Ints sizes);              // a Size
PyObject* wrap_ints(Ints list);               // a plain tuple
PyObject* wrap_scalar(const Scalar& s);
PyObject* strided_layout();

inline bool is_dtype(PyObject* o) { return Py_TYPE(o) == dtype_type; }
inline DType dtype_of(PyObject* o) { return reinterpret_cast<DTypeObject*>(o)->dtype; }
bool read_dtype(PyObject* o, DType& t);       // a dtype, or Python's float, int, bool, complex
bool read_device(PyObject* o, Device& d);     // a device, a string, an index; throws on bad text
Device parse_device(std::string_view text);
bool read_scalar(PyObject* o, Scalar& s);     // Python and numpy numbers

int add_types(PyObject* module);

}  // namespace rl::bind
