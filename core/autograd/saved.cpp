// Saved values: what a node keeps for backward, checked against later changes.
#include "autograd/meta.h"
#include "autograd/names.h"
#include "autograd/transforms.h"

namespace rl {

std::shared_ptr<Saved::Packed> (*pack_saved)(const Tensor& t) = nullptr;

namespace {

// "[torch.FloatTensor [2, 3]], which is output 0 of Tanh,"
std::string describe(const Tensor& t, const Ref<Node>& made_by, int output) {
  const DType d = t.dtype();
  const bool old = d != DType::Bool && d != DType::BFloat16 && !is_complex(d);  // types before 0.4
  std::string s = text("[", t.device().is_meta() ? "torch.meta." : old ? "torch." : "CPU",
                       type_name_of(d), old || t.device().is_meta() ? "Tensor " : "Type ",
                       t.sizes(), "]");
  if (made_by)
    s += text(", which is output ", int64_t(output), " of ", forward_name(*made_by), ",");
  return s;
}

// What hooks made of a value comes back without a graph: its place there is kept beside it.
class PackedWithHistory : public Saved::Packed {
 public:
  PackedWithHistory(std::shared_ptr<Saved::Packed> packed, const Tensor& t, bool output)
      : packed_(std::move(packed)) {
    if (!output && requires_grad(t)) edge_ = gradient_edge(t);
  }
  Tensor unpack() override {
    Tensor t = packed_->unpack();
    return edge_ ? in_graph(t, edge_.node, edge_.input) : t;
  }
  static Tensor in_graph(const Tensor& t, const Ref<Node>& node, int output) {
    Tensor again = detached(t);
    Autograd& a = autograd_of(again);
    a.node = node;
    a.output = output;
    again->flags |= kNeedsGrad;
    return again;
  }

 private:
  std::shared_ptr<Saved::Packed> packed_;
  Edge edge_;
};

uint32_t version_of(const Tensor& t) {
  return t ? t.version().count.load(std::memory_order_relaxed) : 0;
}

// Versions only grow: the sum of a list's changes when one of them does.
uint32_t versions_of(const Arg& list) {
  uint32_t sum = 0;
  if (list.tag != Tag::Tensors) return sum;
  for (const Tensor& t : list.tensors()) sum += version_of(t);
  return sum;
}

[[noreturn]] void fail_modified(const std::string& what, uint32_t now, uint32_t then) {
  fail(ErrorKind::Runtime, "one of the variables needed for gradient computation has been "
       "modified by an inplace operation: ", what, " is at version ", int64_t(now),
       "; expected version ", int64_t(then), " instead. Hint: ",
       modes() & kAnomaly
           ? "the backtrace further above shows the operation that failed to compute its "
             "gradient. The variable in question was changed in there or anywhere later. Good "
             "luck!"
           : "enable anomaly detection to find the operation that failed to compute its "
             "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).");
}

// The first of a list that was changed at all stands for the one that was changed since.
void check_list(const Arg& list, uint32_t then) {
  const uint32_t now = versions_of(list);
  if (now == then) return;
  for (const Tensor& t : list.tensors()) {
    const uint32_t version = version_of(t);
    if (!version) continue;
    const Ref<Node> by = t->autograd ? t->autograd->node : nullptr;
    fail_modified(describe(t, by, by ? t->autograd->output : 0), version,
                  version - std::min(version, now - then));
  }
}

}  // namespace

Saved::Saved(const Arg& arg, bool output) {
  if (!arg.is_tensor()) {
    value_ = Value(arg);
    version_ = versions_of(arg);
    return;
  }
  const Tensor& t = arg.as_tensor();
  check(!t.is_inference() || transforms_in_inference,
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
        "inference mode in computation tracked by autograd. To work around this, you can "
        "make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
        "instead of `torch.inference_mode()`.");
  output = output && t->autograd && t->autograd->node;  // else it has no place in the graph
  is_output_ = output;
  if (output) output_ = t->autograd->output;
  if (__builtin_expect(modes() & kSavedHooks, 0) && pack_saved) {
    NoGrad quiet;
    hooks_ = pack_saved(output ? detached(t) : t);
    if (hooks_) {
      hooks_ = std::make_shared<PackedWithHistory>(std::move(hooks_), t, output);
      return;
    }
  }
  version_ = version_of(t);
  value_ = output ? Value(detached(t)) : Value(arg);
}

Value Saved::unpack(const Ref<Node>& self) const {
  if (hooks_) {
    Tensor t = hooks_->unpack();
    return Value(is_output_ ? PackedWithHistory::in_graph(t, self, output_) : std::move(t));
  }
  if (!value_.is_tensor()) {
    if (value_.arg().tag == Tag::Tensors) check_list(value_.arg(), version_);
    return value_;
  }
  const Tensor& t = value_.tensor();
  const uint32_t now = version_of(t);
  if (now != version_) {
    const Ref<Node> by = is_output_ ? self : t->autograd ? t->autograd->node : nullptr;
    const int output = is_output_ ? output_ : t->autograd ? t->autograd->output : 0;
    fail_modified(describe(t, by, output), now, version_);
  }
  if (!is_output_) return value_;
  return Value(PackedWithHistory::in_graph(t, self, output_));
}

int64_t Saved::bytes() const {
  return value_.is_tensor() ? int64_t(value_.tensor()->storage->nbytes()) : 0;
}

void fail_freed() {
  fail(ErrorKind::Runtime, "Trying to backward through the graph a second time (or directly access "
       "saved tensors after they have already been freed). Saved intermediate values of the graph "
       "are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you "
       "need to backward through the graph a second time or if you need to access saved tensors "
       "after calling backward.");
}

}  // namespace rl
