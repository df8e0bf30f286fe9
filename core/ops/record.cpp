// The registry: signatures read, formulas resolved to slots, faults gathered.
#include "ops/signature.h"

#include <cstdlib>

#include "ops/op_node.h"

namespace rl {

std::deque<Record>& registry() {
  static std::deque<Record> all;
  return all;
}

std::vector<std::string>& faults() {
  static std::vector<std::string> all;
  return all;
}

int Record::param(std::string_view wanted) const {
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].name == wanted) return int(i);
  return -1;
}

const Record* find_record(std::string_view name) {
  for (const Record& r : registry())
    if (r.name == name) return &r;
  return nullptr;
}

namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// Splits at `mark` outside brackets.
std::vector<std::string_view> split(std::string_view s, char mark) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '(' || s[i] == '[') ++depth;
    else if (s[i] == ')' || s[i] == ']') --depth;
    else if (s[i] == mark && depth == 0) {
      parts.push_back(trim(s.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (!trim(s.substr(begin)).empty()) parts.push_back(trim(s.substr(begin)));
  return parts;
}

bool strip(std::string_view& s, std::string_view tail) {
  if (s.size() < tail.size() || s.substr(s.size() - tail.size()) != tail) return false;
  s.remove_suffix(tail.size());
  return true;
}

struct Base { std::string_view text; Type one, many; };
constexpr Base kBases[] = {
    {"Tensor", Type::Tensor, Type::Tensors}, {"int", Type::Int, Type::Ints},
    {"float", Type::Float, Type::Floats},    {"bool", Type::Bool, Type::Bools},
    {"Scalar", Type::Number, Type::Numbers}, {"str", Type::Text, Type::Text},
    {"ScalarType", Type::DType, Type::DType}, {"Device", Type::Device, Type::Device},
    {"Layout", Type::Layout, Type::Layout},  {"Generator", Type::Generator, Type::Generator},
    {"MemoryFormat", Type::MemoryFormat, Type::MemoryFormat},
};

bool read_type(std::string_view s, Param& p) {
  p.optional = strip(s, "?");
  bool list = false;
  if (!s.empty() && s.back() == ']') {
    list = true;
    const size_t open = s.rfind('[');
    p.length = std::atoi(std::string(s.substr(open + 1)).c_str());
    s = s.substr(0, open);
    p.optional_items = strip(s, "?");
  }
  if (strip(s, ")")) {
    p.written = strip(s, "!");
    s = s.substr(0, s.rfind('('));
  }
  for (const Base& b : kBases)
    if (s == b.text) {
      p.type = list ? b.many : b.one;
      return true;
    }
  return false;
}

Value read_default(const Param& p, std::string_view s) {
  const std::string text(s);
  if (s == "None") return Value();
  if (s == "True" || s == "False") return Value(s == "True");
  if (s.front() == '\'' || s.front() == '"') return Value(std::string(s.substr(1, s.size() - 2)));
  if (s.front() == '[' || p.type == Type::Ints) {
    Dims list;
    if (s.front() == '[') {
      for (std::string_view item : split(s.substr(1, s.size() - 2), ','))
        list.push_back(std::atoll(std::string(item).c_str()));
    } else {
      list.resize(size_t(std::max(p.length, 1)), std::atoll(text.c_str()));
    }
    return Value(Arg(Ints(list)));
  }
  if (p.type == Type::MemoryFormat) return Value(Arg(MemoryFormat(std::atoi(text.c_str()))));
  const bool integer = text.find_first_of(".eEif") == std::string::npos;
  if (integer && p.type != Type::Float) return Value(int64_t(std::atoll(text.c_str())));
  return Value(std::atof(text.c_str()));
}

void read_param(Record& r, std::string_view s, bool keyword_only) {
  Param p;
  p.keyword_only = keyword_only;
  const size_t equal = s.find('=');
  std::string_view head = trim(s.substr(0, equal));
  const size_t space = head.rfind(' ');
  p.name = std::string(head.substr(space + 1));
  if (space == std::string_view::npos || !read_type(trim(head.substr(0, space)), p)) {
    faults().push_back(r.name + ": cannot read parameter '" + std::string(s) + "'");
    return;
  }
  if (equal != std::string_view::npos) {
    p.has_default = true;
    p.default_text = std::string(trim(s.substr(equal + 1)));
    p.fallback = read_default(p, p.default_text);
  }
  r.has_written |= p.written;
  if (p.type == Type::Tensor || p.type == Type::Tensors) {
    r.tensor_params |= uint64_t(1) << r.params.size();
    if (r.first_tensor < 0) r.first_tensor = int(r.params.size());
  }
  r.params.push_back(std::move(p));
}

void read_return(Record& r, std::string_view s) {
  Return out;
  out.name = r.returns.empty() ? "result" : "result" + std::to_string(r.returns.size());
  if (s.substr(0, 6) == "saved ") {
    out.saved = true;
    s = trim(s.substr(6));
  }
  const size_t space = s.rfind(' ');
  if (space != std::string_view::npos) {
    out.name = std::string(s.substr(space + 1));
    s = trim(s.substr(0, space));
  }
  out.list = strip(s, "[]");
  if (strip(s, ")")) {
    out.alias = true;
    out.written = strip(s, "!");
    s = s.substr(0, s.rfind('('));
  }
  out.tensor = s == "Tensor";
  r.returns.push_back(out);
}

std::string node_name(const std::string& base) {
  std::string s;
  bool upper = true;
  for (char c : base) {
    if (c == '_') {
      upper = true;
      continue;
    }
    s.push_back(upper ? char(std::toupper(c)) : c);
    upper = false;
  }
  return s + "Backward0";
}

}  // namespace

void with_defaults(const Record& r, std::initializer_list<Arg> given, Arg* args) {
  Arg* next = std::copy(given.begin(), given.end(), args);
  for (size_t i = given.size(); i < r.params.size(); ++i) *next++ = r.params[i].fallback.arg();
}

void read_signature(Record& r, std::string_view signature) {
  r.signature = std::string(signature);
  const size_t open = signature.find('('), arrow = signature.rfind("->");
  r.name = std::string(trim(signature.substr(0, open)));
  r.base = r.name.substr(0, r.name.find('.'));
  r.node = node_name(r.base);
  if (open == std::string_view::npos || arrow == std::string_view::npos) {
    faults().push_back("cannot read signature '" + r.signature + "'");
    return;
  }
  const size_t close = signature.rfind(')', arrow);
  bool keyword_only = false;
  for (std::string_view p : split(signature.substr(open + 1, close - open - 1), ',')) {
    if (p == "*") keyword_only = true;
    else read_param(r, p, keyword_only);
  }
  std::string_view out = trim(signature.substr(arrow + 2));
  if (!out.empty() && out.front() == '(') out = out.substr(1, out.size() - 2);
  for (std::string_view s : split(out, ',')) read_return(r, s);
  r.visible = 0;
  for (const Return& x : r.returns) r.visible += !x.saved;
  if (r.params.size() > 64) faults().push_back(r.name + ": more than 64 parameters");
}

Record& new_record(std::string_view signature) {
  Record& r = registry().emplace_back();
  read_signature(r, signature);
  return r;
}

void check_types(Record& r, const Type* types, size_t n, size_t results, bool list) {
  if (n != r.params.size()) {
    faults().push_back(text(r.name, ": ", int64_t(r.params.size()),
                            " parameters in the signature, ", int64_t(n), " in the C++ type"));
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    const Type want = r.params[i].type;
    const bool same = types[i] == want || (want == Type::Layout && types[i] == Type::Int) ||
                      (want == Type::Floats && types[i] == Type::Numbers) ||
                      (want == Type::Bools && types[i] == Type::Ints);
    if (!same) faults().push_back(r.name + ": '" + r.params[i].name + "' has another C++ type");
  }
  const bool one_list = r.returns.size() == 1 && r.returns[0].list;
  if (list != one_list || (!list && results != size_t(r.visible))) {
    faults().push_back(r.name + ": the results have another C++ type");
  }
}

void add_formula(Record& r, std::string_view targets, std::string_view sources, size_t arity,
                 size_t made, void (*call)(const Arg*, Value*)) {
  Formula f;
  f.call = call;
  for (std::string_view t : split(targets, ',')) {
    const int i = r.param(t);
    if (i < 0) faults().push_back(r.name + ": gradient of unknown '" + std::string(t) + "'");
    else r.grad_params |= uint64_t(1) << i;
    f.targets.push_back(i);
  }
  if (made > f.targets.size()) {  // each has a place of its own, and there are no more
    faults().push_back(r.name + ": the formula for '" + std::string(targets) + "' gives " +
                       std::to_string(made) + " gradients");
  }
  auto result_named = [&](std::string_view name) {
    for (size_t i = 0; i < r.returns.size(); ++i)
      if (r.returns[i].name == name) return int(i);
    return -1;
  };
  using Source = Formula::Source;
  for (std::string_view s : split(sources, ',')) {
    const size_t dot = s.find('.');
    const std::string_view head = s.substr(0, dot);
    const std::string_view tail = dot == std::string_view::npos ? "" : s.substr(dot + 1);
    if (head == "grads") {
      f.sources.push_back({Source::Grads, 0});
    } else if (head == "grad") {
      const int i = tail.empty() ? 0 : result_named(tail);
      if (i < 0) faults().push_back(r.name + ": '" + std::string(s) + "' names no result");
      f.sources.push_back({Source::Grad, i});
    } else if (head == "needs") {
      f.sources.push_back({Source::Needed, 0});
    } else if (const int i = r.param(head); i >= 0) {
      f.sources.push_back({tail == "sizes"    ? Source::Sizes
                           : tail == "dtype"  ? Source::InputDType
                           : tail == "layout" ? Source::Layout
                                              : Source::Input, i});
    } else if (const int o = result_named(head); o >= 0) {
      f.sources.push_back({tail == "sizes" ? Source::ResultSizes : Source::Result, o});
    } else {
      faults().push_back(r.name + ": '" + std::string(s) + "' names no parameter and no result");
    }
  }
  for (const Source& s : f.sources) {
    int slot = -1;
    if (s.kind != Source::Grad && s.kind != Source::Grads && s.kind != Source::Needed) {
      for (size_t i = 0; i < r.saves.size(); ++i)
        if (r.saves[i].kind == s.kind && r.saves[i].index == s.index) slot = int(i);
      if (slot < 0) {
        slot = int(r.saves.size());
        r.saves.push_back(s);
      }
      f.saved |= uint64_t(1) << slot;
      r.saves_self |= s.kind == Source::Input && s.index == 0;
    }
    f.slots.push_back(slot);
  }
  for (int t : f.targets)
    if (t >= 0) f.target_params |= uint64_t(1) << t;
  if (f.sources.size() != arity) {
    faults().push_back(r.name + ": a gradient of '" + std::string(targets) + "' takes " +
                       std::to_string(arity) + " values, but " +
                       std::to_string(f.sources.size()) + " are named");
  }
  if (f.sources.size() > kMostSources)
    faults().push_back(r.name + ": a gradient of '" + std::string(targets) + "' asks too much");
  r.formulas.push_back(std::move(f));
}

namespace {

PointwiseShape shape_of(const Record& r) {
  PointwiseShape s;
  const auto fault = [&](const std::string& what) { faults().push_back(r.name + ": " + what); };
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (r.params[i].type == Type::Tensor || r.params[i].number) {
      if (s.operand_count < kernels::kMaxArity) s.operands[s.operand_count++] = uint8_t(i);
      else fault("more operands than a kernel takes");
    } else if (s.number_count < PointwiseShape::kMostNumbers) {
      s.numbers[s.number_count++] = uint8_t(i);
    } else {
      fault("more numbers than a kernel takes");
    }
  }
  if (!r.pointwise && !r.choose) fault("a pointwise op names no kernel");
  if (r.pointwise && r.pointwise->arity != s.operand_count) {
    fault(text("its kernel takes ", int64_t(r.pointwise->arity), " operands, its signature has ",
               int64_t(s.operand_count)));
  }
  return s;
}

void check_gradients(const Record& r) {
  uint64_t served = 0;
  for (const Formula& f : r.formulas) {
    if (served & f.target_params) faults().push_back(r.name + ": two gradients of one parameter");
    served |= f.target_params;
  }
}

}  // namespace

void finish_records() {
  for (Record& r : registry()) {
    if (r.kind == Kind::Pointwise) r.shape = shape_of(r);
    const bool body = r.kind == Kind::Produce || r.kind == Kind::View || r.kind == Kind::Composite;
    if (r.kind == Kind::Kernel && (!r.infer || !r.kernel))
      faults().push_back(r.name + ": a kernel needs infer and kernel");
    if (body && !r.produce) faults().push_back(r.name + ": has no body");
    check_gradients(r);
    if (r.kind == Kind::Composite && r.differentiable())
      faults().push_back(r.name + ": a composite has no formulas of its own");
    for (size_t i = 0; i < registry().size() && &registry()[i] != &r; ++i)
      if (registry()[i].name == r.name) faults().push_back(r.name + ": defined twice");
  }
}

}  // namespace rl
