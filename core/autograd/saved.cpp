// Saved values: what a node keeps for backward, checked against later changes.
#include "autograd/meta.h"
#include "autograd/names.h"
#include "autograd/transforms.h"

namespace rl {

std::shared_ptr<Saved::Packed> (*pack_saved)(const Tensor& t) = nullptr;

namespace {

// "[torch.FloatTensor [2, 3]], which is output 0 of Tanh,"
std::string describe(const Tensor& t, const Ref<Node>& made_by, int output) {
  std::string s = text("[", t.device().is_meta() ? "torch.meta." : "torch.",
                       type_name_of(t.dtype()), "Tensor ", t.sizes(), "]");
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

}  // namespace

Saved::Saved(const Arg& arg, bool output) {
  if (!arg.is_tensor()) {
    value_ = Value(arg);
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
  version_ = t.version().count.load(std::memory_order_relaxed);
  value_ = output ? Value(detached(t)) : Value(arg);
}

Value Saved::unpack(const Ref<Node>& self) const {
  if (hooks_) {
    Tensor t = hooks_->unpack();
    return Value(is_output_ ? PackedWithHistory::in_graph(t, self, output_) : std::move(t));
  }
  if (!value_.is_tensor()) return value_;
  const Tensor& t = value_.tensor();
  const uint32_t now = t.version().count.load(std::memory_order_relaxed);
  if (now != version_) {
    const Ref<Node> by = is_output_ ? self : t->autograd ? t->autograd->node : nullptr;
    const int output = is_output_ ? output_ : t->autograd ? t->autograd->output : 0;
    fail(ErrorKind::Runtime, "one of the variables needed for gradient computation has been "
         "modified by an inplace operation: ", describe(t, by, output), " is at version ",
         int64_t(now), "; expected version ", int64_t(version_), " instead. Hint: ",
         modes() & kAnomaly
             ? "the backtrace further above shows the operation that failed to compute its "
               "gradient. The variable in question was changed in there or anywhere later. Good "
               "luck!"
             : "enable anomaly detection to find the operation that failed to compute its "
               "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).");
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
