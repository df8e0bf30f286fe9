// The extension module rushlight._C.
#include "bind/autograd.h"
#include "bind/construct.h"
#include "bind/heard.h"
#include "bind/interchange.h"
#include "bind/linalg.h"
#include "bind/module.h"
#include "bind/op.h"
#include "bind/origin.h"
#include "bind/recorder.h"
#include "bind/runtime.h"
#include "bind/storage.h"
#include "bind/transform.h"
#include "bind/types.h"

namespace {

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "rushlight._C", "The core, as Python sees it.", -1,
                          nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__C() {
  using namespace rl::bind;
  Owned module(PyModule_Create(&definition));
  if (!module) return nullptr;
  for (auto add : {add_types, add_tensor_types, add_storage, add_autograd, add_modes, add_function,
                   add_anomaly, add_construct, add_interchange, add_runtime, add_linalg, add_ops,
                   add_module_base, add_origin, add_recorder, add_transform, add_heard})
    if (add(module.get()) < 0) return nullptr;
  return module.leave();
}
