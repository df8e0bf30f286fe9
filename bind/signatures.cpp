// Signatures that PyTorch has beside those of the records: deprecated orders of arguments, and
// overloads for numbers that one record serves together with tensors.
#include "bind/signatures.h"

#include <map>

#include "ops/signature.h"

namespace rl::bind {
namespace {

enum class Use : uint8_t {
  Function, Method,  // a deprecated order of the function's, or of the method's arguments
  Both,
  Shown,             // read by the record itself, but listed where a call fits nothing
};

struct Known {
  const char* text;  // the signature; its name is that of the Python function
  Use use;
};
constexpr Known kKnown[] = {
    {"add(Tensor self, Scalar alpha, Tensor other) -> Tensor", Use::Both},
    {"sub(Tensor self, Scalar alpha, Tensor other) -> Tensor", Use::Both},
    {"addcmul(Tensor self, Scalar value, Tensor tensor1, Tensor tensor2) -> Tensor", Use::Both},
    {"addcdiv(Tensor self, Scalar value, Tensor tensor1, Tensor tensor2) -> Tensor", Use::Both},
    {"addmm(Scalar beta, Tensor self, Scalar alpha, Tensor mat1, Tensor mat2) -> Tensor",
     Use::Function},
    {"addmm(Scalar beta, Tensor self, Tensor mat1, Tensor mat2) -> Tensor", Use::Function},
    {"addmm(Tensor self, Scalar beta, Scalar alpha, Tensor mat1, Tensor mat2) -> Tensor",
     Use::Method},
    {"addmm(Tensor self, Scalar beta, Tensor mat1, Tensor mat2) -> Tensor", Use::Method},
    {"addmv(Scalar beta, Tensor self, Scalar alpha, Tensor mat, Tensor vec) -> Tensor",
     Use::Function},
    {"addmv(Scalar beta, Tensor self, Tensor mat, Tensor vec) -> Tensor", Use::Function},
    {"addmv(Tensor self, Scalar beta, Scalar alpha, Tensor mat, Tensor vec) -> Tensor",
     Use::Method},
    {"addmv(Tensor self, Scalar beta, Tensor mat, Tensor vec) -> Tensor", Use::Method},
    {"addr(Scalar beta, Tensor self, Scalar alpha, Tensor vec1, Tensor vec2) -> Tensor",
     Use::Function},
    {"addr(Scalar beta, Tensor self, Tensor vec1, Tensor vec2) -> Tensor", Use::Function},
    {"addr(Tensor self, Scalar beta, Scalar alpha, Tensor vec1, Tensor vec2) -> Tensor",
     Use::Method},
    {"addr(Tensor self, Scalar beta, Tensor vec1, Tensor vec2) -> Tensor", Use::Method},
    {"addbmm(Scalar beta, Tensor self, Scalar alpha, Tensor batch1, Tensor batch2) -> Tensor",
     Use::Function},
    {"addbmm(Scalar beta, Tensor self, Tensor batch1, Tensor batch2) -> Tensor", Use::Function},
    {"addbmm(Tensor self, Scalar beta, Scalar alpha, Tensor batch1, Tensor batch2) -> Tensor",
     Use::Method},
    {"addbmm(Tensor self, Scalar beta, Tensor batch1, Tensor batch2) -> Tensor", Use::Method},
    {"baddbmm(Scalar beta, Tensor self, Scalar alpha, Tensor batch1, Tensor batch2) -> Tensor",
     Use::Function},
    {"baddbmm(Scalar beta, Tensor self, Tensor batch1, Tensor batch2) -> Tensor", Use::Function},
    {"baddbmm(Tensor self, Scalar beta, Scalar alpha, Tensor batch1, Tensor batch2) -> Tensor",
     Use::Method},
    {"baddbmm(Tensor self, Scalar beta, Tensor batch1, Tensor batch2) -> Tensor", Use::Method},
    {"copy_(Tensor self, Tensor other, bool async=False) -> Tensor", Use::Both},
    {"floor_divide(Tensor self, Scalar other) -> Tensor", Use::Shown},
    {"multiply(Tensor self, Scalar other) -> Tensor", Use::Shown},
    {"randint_like(Tensor self, Tensor high, *, MemoryFormat? memory_format=None, ScalarType? "
     "dtype=None, Layout? layout=None, Device? device=None, bool pin_memory=False, bool "
     "requires_grad=False) -> Tensor", Use::Shown},
    {"subtract(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", Use::Shown},
    {"true_divide(Tensor self, Scalar other) -> Tensor", Use::Shown},
};

struct Signature {
  Record shape;
  Use use;
};

// The signatures above by the names of functions.
const std::vector<Signature>& signatures_of(std::string name, bool in_place) {
  static std::map<std::string, std::vector<Signature>> all;
  if (all.empty()) {
    for (const Known& k : kKnown) {
      Signature s;
      s.use = k.use;
      read_signature(s.shape, k.text);
      prepare_reading(s.shape);
      all[s.shape.base].push_back(std::move(s));
    }
  }
  if (in_place) name.pop_back();
  return all[name];
}

// Those of one Python name.
std::vector<const Signature*> others(const OpName& op) {
  std::vector<const Signature*> found;
  for (const Signature& s : signatures_of(op.name, op.in_place))
    if (s.use != (op.method ? Use::Function : Use::Method)) found.push_back(&s);
  return found;
}

bool deprecated(const Signature& s) { return s.use != Use::Shown; }

void warn_deprecated(const OpName& op, const Signature& s, const Record& r) {
  static bool said = false;
  if (said) return;
  said = true;
  Record taken = s.shape, given = r;
  if (!(r.forms & Out) || op.in_place) given.forms &= ~uint32_t(Out);
  else taken.forms |= Out;
  warn(text("This overload of ", op.name, " is deprecated:\n\t", op.name,
            signature_text(taken, op.method),
            "\nConsider using one of the following signatures instead:\n\t", op.name,
            signature_text(given, op.method)));
}

// The one overload that takes as many arguments as were given, if there is just one.
const Record* plausible(const OpName& op, const Call& call,
                        const std::vector<const Signature*>& more) {
  if (op.overloads.size() == 1 && more.empty()) return op.overloads[0];
  const size_t given = size_t(call.count) + size_t(call.names ? PyTuple_GET_SIZE(call.names) : 0) +
                       size_t(call.out != nullptr);
  const Record* found = nullptr;
  size_t count = 0;
  const auto consider = [&](const Record& r) {
    if (given < size_t(fewest(r)) || given > r.params.size() + size_t((r.forms & Out) != 0)) return;
    found = &r;
    ++count;
  };
  for (const Record* r : op.overloads) consider(*r);
  for (const Signature* s : more)
    if (!deprecated(*s)) consider(s->shape);
  return count == 1 ? found : nullptr;
}

}  // namespace

const Record* read_deprecated(const OpName& op, const Call& call, Arg* args, LazyRoom& room) {
  for (const Signature* s : others(op)) {
    if (!deprecated(*s)) continue;
    Arg given[kMostParams];
    if (!read_call(s->shape, call, given, room, nullptr)) continue;
    const Record& r = *op.overloads[0];
    for (size_t i = 0; i < r.params.size(); ++i) args[i] = r.params[i].fallback.arg();
    for (size_t i = 0; i < s->shape.params.size(); ++i) {
      const std::string& name = s->shape.params[i].name;
      args[r.param(name == "async" ? "non_blocking" : name)] = given[i];
    }
    warn_deprecated(op, *s, r);
    return &r;
  }
  return nullptr;
}

void refuse_call(const OpName& op, const Call& call) {
  const std::vector<const Signature*> more = others(op);
  if (const Record* r = plausible(op, call, more)) {
    Arg args[kMostParams];
    LazyRoom room;
    std::string why;
    if (!read_call(*r, call, args, room, &why)) {
      if (op.name != r->base && why.compare(0, r->base.size(), r->base) == 0)
        why = op.name + why.substr(r->base.size());
      fail(ErrorKind::Type, why);
    }
  }
  std::vector<const Record*> shown = op.overloads;
  for (const Signature* s : more)
    if (!deprecated(*s)) shown.push_back(&s->shape);
  std::string s = text(op.name, "() received an invalid combination of arguments - got ",
                       types_text(call), ", but expected ");
  if (shown.size() == 1) fail(ErrorKind::Type, s, signature_text(*shown[0], call.method));
  s += "one of:";
  for (const Record* r : shown)
    s += "\n * " + signature_text(*r, call.method) + mismatches_text(*r, call);
  fail(ErrorKind::Type, s, "\n");
}

}  // namespace rl::bind
