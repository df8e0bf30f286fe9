// Forward mode: tangents of results from those of arguments.
#include <limits>
#include <set>

#include "ops/op_node.h"
#include "ops/promotion.h"
#include "ops/transform.h"

namespace rl {
namespace {

using Names = std::set<std::string_view>;

// Linear in all tensors that have gradients together; beside views and records that say so.
const Names kLinear = {
    "sum", "sum.dim_IntList", "mean", "mean.dim", "nanmean", "cumsum", "flip", "roll", "tril",
    "triu", "trace", "diag_embed", "repeat", "gather", "index_select", "take", "clone", "_to_copy",
    "select_backward", "slice_backward", "diagonal_backward", "unfold_backward", "scatter_add",
    "cat", "stack", "block_diag", "pixel_shuffle", "pixel_unshuffle", "rot90", "im2col", "col2im",
    "channel_shuffle", "native_channel_shuffle", "index", "masked_select", "complex",
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
    "replication_pad2d", "replication_pad3d", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
    "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d",
    "select_scatter", "slice_scatter", "diagonal_scatter", "_unsafe_view", "_pool_gather",
    "embedding_dense_backward"};
// Linear in each tensor by itself.
const Names kBilinear = {"mm", "bmm", "mv", "dot", "_stacked_matmul", "linalg_cross"};
const Names kLayers = {"_linear_addmm", "_linear_mm", "_linear_view", "_linear_unsafe_view",
                       "_linear_squeeze", "convolution"};
const Names kAdded = {"addmm", "addmv", "baddbmm", "addbmm", "addr"};
// These say that they are linear but also take a number that is added.
const Names kAffine = {"constant_pad_nd"};

bool is_linear(const Record& r) {
  return r.kind == Kind::View || r.linear || kLinear.count(r.name);
}

struct Forward {
  explicit Forward(const LevelCall& call) : c(call), r(call.r), low(call) {
    tangents.resize(r.params.size());
    for (size_t i = 0; i < r.params.size(); ++i) {
      if (c.args[i].is_tensor()) {
        tangents[i].push_back(tangent(c.tensor(i)));
        any |= bool(tangents[i][0]);
      } else if (c.args[i].tag == Tag::Tensors) {
        for (const Tensor& t : c.args[i].tensors()) {
          tangents[i].push_back(t ? tangent(t) : t);
          any |= bool(tangents[i].back());
        }
      }
    }
  }

  // A view made before its base had a tangent finds it there.
  Tensor tangent(const Tensor& t) const {
    if (!c.is_mine(t) || !is_differentiable(t.dtype())) return {};
    Wrapper& w = *wrapper_of(t);
    if (w.tangent || !is_view(t)) return w.tangent;
    const Tensor base = base_of(t);
    if (!c.is_mine(base) || !wrapper_of(base)->tangent) return {};
    const Tensor& whole = wrapper_of(base)->tangent;
    return w.tangent = ops::as_strided(whole, t.sizes(), t.strides(),
                                       whole.offset() + t.offset() - base.offset());
  }

  bool moves(size_t i) const {
    for (const Tensor& t : tangents[i])
      if (t) return true;
    return false;
  }
  const Tensor& of(size_t i) const { return tangents[i][0]; }

  void call(const Lowered& args, Value* made) { invoke(r, args.args(), made); }
  void run();

  void linear();
  void each_by_itself(bool bias);
  void added();
  bool pointwise();
  bool row_norm();
  bool channel_norm();
  template <class Laid>
  void norm(const Dims& dims, bool centred, double eps, int weight, int bias, Laid laid);
  void two_passes();
  bool recorded() const;
  void enter_graph(bool recorded, std::vector<Tensor>& inputs, std::vector<Tensor>& directions);
  void add(Tensor& sum, const Tensor& t) const {
    if (t) sum = sum ? Tensor(sum + t) : t;
  }
  Tensor one_result(Lowered& args) {
    Value made[kMostResults];
    call(args, made);
    return made[0].tensor();
  }

  const LevelCall& c;
  const Record& r;
  Lowered low;
  std::vector<Tensors> tangents;
  bool any = false;
  Value primal[kMostResults], moved[kMostResults];
};

Tensor zeros_for(const Tensor& t) { return ops::zeros_like(t); }

void Forward::linear() {
  call(low, primal);
  Lowered shift(c);
  for (size_t i = 0; i < r.params.size(); ++i) {
    const Param& p = r.params[i];
    const bool differentiable = r.grad_params >> i & 1;
    if (c.args[i].is_tensor() && differentiable) {
      shift.set(i, of(i) ? of(i) : zeros_for(low[i].as_tensor()));
    } else if (c.args[i].tag == Tag::Tensors && differentiable) {
      Tensors list;
      for (size_t k = 0; k < tangents[i].size(); ++k) {
        const Tensor& given = low[i].tensors()[k];
        list.push_back(tangents[i][k] || !given ? tangents[i][k] : zeros_for(given));
      }
      shift.set(i, std::move(list));
    } else if (c.args[i].is_number() && (p.number || p.type == Type::Tensor ||
                                         (kAffine.count(r.name) && p.name == "value"))) {
      shift[i] = Arg(int64_t(0));
    }
  }
  call(shift, moved);
}

// The product rule; a bias, third, is added as it is.
void Forward::each_by_itself(bool bias) {
  call(low, primal);
  Tensor sum;
  for (size_t i = 0; i < 2; ++i) {
    if (!moves(i)) continue;
    Lowered shift(c);
    shift.set(i, of(i));
    if (bias) shift[2] = Arg();
    add(sum, one_result(shift));
  }
  if (bias && c.args[2].is_tensor() && of(2)) {
    Tensor t = of(2);
    const Tensor& whole = primal[0].tensor();
    if (r.name == "convolution")
      for (int64_t d = 2; d < whole.dim(); ++d) t = ops::unsqueeze(t, -1);
    add(sum, sum ? t : Tensor(ops::expand(t, whole.sizes(), false)));
  }
  moved[0] = Value(sum);
}

void Forward::added() {
  call(low, primal);
  Tensor sum;
  for (size_t i = 1; i < 3; ++i) {
    if (!moves(i)) continue;
    Lowered shift(c);
    shift.set(i, of(i));
    shift[size_t(r.param("beta"))] = Arg(int64_t(0));
    add(sum, one_result(shift));
  }
  if (moves(0)) {
    const Tensor& whole = primal[0].tensor();
    add(sum, ops::expand(of(0), whole.sizes(), false) * c.args[r.param("beta")].scalar());
  }
  moved[0] = Value(sum);
}

// Norms: their saved statistics are plain numbers, so that of two reverse passes no further
// derivative could be taken. h = (x - m(x)) rstd; dh = rstd (t - m(t) - h m(t h)). `weight` and
// `bias` are places of parameters (-1: there is none), which `laid` brings to the input's shape.
template <class Laid>
void Forward::norm(const Dims& dims, bool centred, double eps, int weight, int bias, Laid laid) {
  call(low, primal);
  const Tensor x = low[0].as_tensor(), out = primal[0].tensor();
  const auto m = [&](const Tensor& t) { return ops::mean_dim(t, dims, true); };
  const Tensor from = centred ? x - m(x) : x;
  const Tensor rstd = ops::rsqrt(m(from * from) + Scalar(eps)), h = from * rstd;
  Tensor sum;
  if (moves(0)) {
    const Tensor u = centred ? of(0) - m(of(0)) : of(0);
    sum = rstd * (u - h * m(of(0) * h));
    if (low[size_t(weight)].is_tensor()) sum = sum * laid(low[size_t(weight)].as_tensor());
  }
  if (moves(size_t(weight))) add(sum, h * laid(of(size_t(weight))));
  if (bias >= 0 && moves(size_t(bias)))
    add(sum, ops::expand(laid(of(size_t(bias))), out.sizes(), false));
  moved[0] = Value(sum && sum.dtype() != out.dtype() ? ops::to_dtype(sum, out.dtype()) : sum);
}

bool Forward::row_norm() {
  const Tensor& x = low[0].as_tensor();
  const bool centred = r.name == "native_layer_norm";
  if ((!centred && r.name != "_fused_rms_norm") || x.is_complex()) return false;
  Dims dims;
  const int64_t own = int64_t(c.args[1].ints().size());
  for (int64_t d = x.dim() - own; d < x.dim(); ++d) dims.push_back(d);
  const Arg& eps = c.args[centred ? 4 : 3];
  const bool wide = x.dtype() == DType::Double;
  norm(dims, centred, !eps.is_none() ? eps.scalar().to_double()
                      : wide         ? std::numeric_limits<double>::epsilon()
                                     : double(std::numeric_limits<float>::epsilon()),
       2, centred ? 3 : -1, [](const Tensor& t) { return t; });
  return true;
}

// By a batch's own statistics; by running ones, two passes do.
bool Forward::channel_norm() {
  if (r.name != "native_batch_norm" || !c.args[5].integer) return false;
  const int64_t dim = low[0].as_tensor().dim();
  Dims dims, shape(size_t(dim), 1);
  for (int64_t d = 0; d < dim; ++d)
    if (d != 1) dims.push_back(d);
  shape[1] = -1;
  norm(dims, true, c.args[7].scalar().to_double(), 1, 2,
       [&](const Tensor& t) { return ops::reshape(t, shape); });
  return true;
}

// A formula with the tangent in the place of the gradient: the derivative of each element.
Tensor formula_of(const Forward& f, const Formula& formula, size_t target, const Tensor& result,
                  const Tensor& grad) {
  Arg args[kMostSources];
  for (size_t k = 0; k < formula.sources.size(); ++k) {
    const Formula::Source& s = formula.sources[k];
    const Arg& a = f.low[size_t(s.index)];
    switch (s.kind) {
      case Formula::Source::Grad: args[k] = Arg(grad); break;
      case Formula::Source::Input: args[k] = a; break;
      case Formula::Source::Result: args[k] = Arg(result); break;
      case Formula::Source::ResultSizes: args[k] = Arg(result.sizes()); break;
      case Formula::Source::Sizes:
        args[k] = a.is_tensor() ? Arg(a.as_tensor().sizes()) : Arg(Ints());
        break;
      case Formula::Source::InputDType:
        args[k] = a.is_tensor() ? Arg(a.tensor->dtype) : Arg(DType::Float);
        break;
      case Formula::Source::Needed: args[k] = Arg(int64_t(1) << target); break;
      default: args[k] = a;
    }
  }
  Value made[kMostParams];
  formula.call(args, made);
  return made[target].take_tensor();
}

bool Forward::pointwise() {
  for (size_t i = 0; i < r.params.size(); ++i)
    if (c.args[i].is_tensor() && c.tensor(i).is_complex()) return false;
  call(low, primal);
  const Tensor result = primal[0].tensor();
  if (result.is_complex()) return false;
  Tensor sum;
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (!moves(i)) continue;
    const Tensor grad = ops::to_dtype(ops::expand(of(i), result.sizes(), false), result.dtype());
    for (const Formula& f : r.formulas)
      for (size_t t = 0; t < f.targets.size(); ++t)
        if (f.targets[t] == int(i)) add(sum, formula_of(*this, f, t, result, grad));
  }
  if (sum && sum.dtype() != result.dtype()) sum = ops::to_dtype(sum, result.dtype());
  moved[0] = Value(sum);
  return true;
}

// Note [Two reverse passes]
// J t for an op that has only J^T: with u a stand-in for the gradient of the results, g(u) = J^T u
// is linear in u, and the gradient of g with weights t is J t. Both passes run at the level below,
// on copies of the arguments that stand in one graph of their own, or, where somebody below takes
// gradients, in theirs.
Tensor graph_input(const Tensor& t, bool recorded) {
  const int top = current_level();
  Tensor own;
  if (level_of(t) == top) {
    if (recorded && requires_grad(t)) return ops::alias_op(t);
    own = detached(t);
  } else if (level_at(top).forward) {
    own = wrap_dual(t, Tensor(), level_at(top));
  } else {
    own = wrap_batched(t, level_at(top), false);
  }
  set_requires_grad(own, true);
  return own;
}

std::vector<Tensor> backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grads,
                             const std::vector<Tensor>& inputs, bool create_graph) {
  BackwardCall call;
  std::vector<Edge> roots;
  for (size_t i = 0; i < outputs.size(); ++i) {
    roots.push_back(gradient_edge(outputs[i]));
    call.grads.push_back(grads[i]);
  }
  call.roots = Span<Edge>(roots.data(), roots.size());
  call.keep_graph = true;
  call.create_graph = create_graph;
  for (const Tensor& t : inputs) call.wanted.push_back(gradient_edge(t));
  return run_backward(call);
}

// The derivative of `outputs` along `directions` of `inputs`: undefined where there is none.
std::vector<Tensor> along(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& directions, bool recorded) {
  std::vector<Tensor> found(outputs.size());
  if (outputs.empty()) return found;
  std::vector<Tensor> stand_ins, linear_in_u, weights;
  for (const Tensor& t : outputs) stand_ins.push_back(graph_input(zeros_for(t), false));
  const std::vector<Tensor> g = backward(outputs, stand_ins, inputs, true);
  for (size_t i = 0; i < g.size(); ++i) {
    if (!g[i] || !requires_grad(g[i])) continue;
    linear_in_u.push_back(g[i]);
    weights.push_back(directions[i]);
  }
  return linear_in_u.empty() ? found : backward(linear_in_u, weights, stand_ins, recorded);
}

// Whether somebody below takes gradients of what the op is given.
bool Forward::recorded() const {
  bool any = false;
  const auto look = [&](const Tensor& t) { any |= t && (requires_grad(t) || recorded_below(t)); };
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (low[i].is_tensor()) look(low[i].as_tensor());
    else if (low[i].tag == Tag::Tensors)
      for (const Tensor& t : low[i].tensors()) look(t);
    for (const Tensor& t : tangents[i]) look(t);
  }
  return any && grad_enabled();
}

// Puts what has a tangent into a graph, in the place of the argument.
void Forward::enter_graph(bool recorded, std::vector<Tensor>& inputs,
                          std::vector<Tensor>& directions) {
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (!moves(i)) continue;
    Tensors list;
    const bool many = c.args[i].tag == Tag::Tensors;
    for (size_t k = 0; k < tangents[i].size(); ++k) {
      Tensor x = many ? low[i].tensors()[k] : low[i].as_tensor();
      if (tangents[i][k]) {
        x = graph_input(x, recorded);
        inputs.push_back(x);
        directions.push_back(tangents[i][k]);
      }
      list.push_back(x);
    }
    if (many) low.set(i, std::move(list));
    else low.set(i, list[0]);
  }
}

void Forward::two_passes() {
  const bool outer = recorded(), list = r.returns[0].list;
  std::vector<Tensor> inputs, directions, outputs;
  const EnableGrad record;
  enter_graph(outer, inputs, directions);
  call(low, primal);
  Tensors made;  // the results, or the items of the one that is a list
  if (list) {
    for (const Tensor& t : primal[0].tensors()) made.push_back(t);
  } else {
    for (int i = 0; i < r.visible; ++i)
      made.push_back(primal[i].is_tensor() ? primal[i].tensor() : Tensor());
  }
  std::vector<size_t> places;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i] || !requires_grad(made[i])) continue;
    outputs.push_back(made[i]);
    places.push_back(i);
  }
  const std::vector<Tensor> found = along(outputs, inputs, directions, outer);
  const auto cut = [&](const Tensor& t) { return t && !outer ? detached(t) : t; };
  Tensors shift;
  shift.resize(made.size());
  for (size_t k = 0; k < places.size(); ++k) shift[places[k]] = cut(found[k]);
  for (Tensor& t : made) t = cut(t);
  if (list) {
    primal[0] = Value(std::move(made));
    moved[0] = Value(std::move(shift));
    return;
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i]) primal[i] = Value(made[i]);
    moved[i] = Value(shift[i]);
  }
}

void Forward::run() {
  bool differentiable = false;
  for (size_t i = 0; i < r.params.size(); ++i) {
    const uint64_t served = r.no_derivative.empty() ? r.grad_params : r.tensor_params;
    differentiable |= moves(i) && served >> i & 1;
  }
  if (!differentiable) return call(low, primal);
  if (is_linear(r)) return linear();
  if (kBilinear.count(r.name)) return each_by_itself(false);
  if (kLayers.count(r.name)) return each_by_itself(true);
  if (kAdded.count(r.name)) return added();
  if (r.kind == Kind::Pointwise && pointwise()) return;
  if (row_norm() || channel_norm()) return;
  two_passes();
}

void wrap_duals(const LevelCall& c, Value* primal, Value* moved, Value* results) {
  for (int i = 0; i < c.r.visible; ++i) {
    const bool differentiable = c.r.returns[size_t(i)].differentiable;
    if (primal[i].is_tensor()) {
      const Tensor t = primal[i].tensor();
      const bool has = differentiable && moved[i].is_tensor() && is_differentiable(t.dtype());
      results[i] = Value(wrap_dual(t, has ? moved[i].tensor() : Tensor(), c.at));
    } else if (primal[i].arg().tag == Tag::Tensors) {
      Tensors list;
      const bool has = moved[i].arg().tag == Tag::Tensors;
      for (size_t k = 0; k < primal[i].tensors().size(); ++k) {
        const Tensor& t = primal[i].tensors()[k];
        list.push_back(t ? wrap_dual(t, has ? moved[i].tensors()[k] : Tensor(), c.at) : t);
      }
      results[i] = Value(std::move(list));
    } else {
      results[i] = std::move(primal[i]);
    }
  }
}

}  // namespace

const char* forward_of(const Record& r) {
  if (r.kind == Kind::Composite) return "composite";
  if (!r.differentiable()) return "none";
  if (is_linear(r)) return "linear";
  if (kBilinear.count(r.name) || kLayers.count(r.name) || kAdded.count(r.name)) return "product";
  return r.kind == Kind::Pointwise ? "pointwise" : "two passes";
}

void forward_rule(const LevelCall& c, Value* results) {
  Forward f(c);
  if (f.any) f.run();
  else invoke(c.r, f.low.args(), f.primal);
  wrap_duals(c, f.primal, f.moved, results);
}

// ---- In place

namespace {

// A tensor of the levels below becomes one with a tangent: what it was goes on in `value`.
void become_dual(const LevelCall& c, const Tensor& t) {
  if (c.is_mine(t)) return;
  const bool view = is_view(t);
  const Tensor base = view ? base_of(t) : Tensor();
  if (view) become_dual(c, base);
  const Tensor below = alias(t, t.sizes(), t.strides(), t.offset());
  constexpr uint16_t kGraph = kNeedsGrad | kView | kWrapped;
  below->flags |= t->flags & kGraph;
  below->autograd = std::exchange(t->autograd, nullptr);
  if (below->autograd) forget_retained(*below->autograd);
  if (view) below->autograd->base = wrapper_of(base)->value;
  t->flags = uint16_t(t->flags & ~kGraph);
  const Tensor dual = wrap_dual(below, Tensor(), c.at);
  autograd_of(t).wrapper = dual->autograd->wrapper;
  t->flags |= kDual;
  if (view) record_view(t, base, ViewKind::Normal);
}

Tensor zero_tangent(const Tensor& primal) {
  const Tensor z = ops::new_empty_strided(primal, primal.sizes(), primal.strides());
  NoGrad quiet;
  ops::zero_(z);
  return z;
}

// Whether views look at the memory of a tangent, so that a change must be written there.
bool is_shared(const Tensor& self, const Tensor& tangent) {
  return is_view(self) || tangent->storage->refs() > 1;
}

void set_tangent(const LevelCall& c, const Tensor& self, const Tensor& tangent) {
  Wrapper& w = *wrapper_of(self);
  if (!w.tangent && !tangent) return;
  if (w.tangent && !is_shared(self, w.tangent)) {
    const bool alike = tangent && tangent.strides() == self.strides();
    w.tangent = !tangent || alike ? tangent : Tensor(zero_tangent(w.value));
    if (tangent && !alike) ops::copy_(w.tangent, tangent);
    return;
  }
  if (!w.tangent && is_view(self)) {
    const Tensor base = base_of(self);
    Wrapper& of_base = *wrapper_of(base);
    if (c.is_mine(base)) {
      if (!of_base.tangent) of_base.tangent = zero_tangent(of_base.value);
      w.tangent = ops::as_strided(of_base.tangent, self.sizes(), self.strides(),
                                  of_base.tangent.offset() + self.offset() - base.offset());
    }
  }
  if (!w.tangent) {
    w.tangent = tangent.sizes() == self.sizes() && tangent.strides() == self.strides()
                    ? tangent : Tensor();
    if (w.tangent) return;
    w.tangent = zero_tangent(w.value);
  } else if (internal_overlap(w.tangent) == Overlap::Yes) {
    w.tangent = ops::clone(w.tangent);
  }
  if (tangent) ops::copy_(w.tangent, tangent);
  else ops::zero_(w.tangent);
}

void effect(const LevelCall& c, const Tensor& self) {
  const bool copies = c.r.name == "copy_" || c.r.name == "fill_.Tensor";
  const Forward f(c);
  Tensor tangent = copies && f.moves(1) ? f.of(1) : Tensor();
  if (tangent) become_dual(c, self);
  Lowered low(c);
  low.set(0, c.below(self));
  Value results[kMostResults];
  invoke(c.r, low.args(), results);
  if (c.is_mine(self)) {
    if (tangent) tangent = ops::to_dtype(ops::expand(tangent, self.sizes(), false), self.dtype());
    set_tangent(c, self, tangent);
  }
}

}  // namespace

void forward_in_place(const LevelCall& given) {
  const Tensor& self = given.tensor(0);
  const Descent down(given.level - 1);
  const LevelCall c(given, given.args);
  if (c.r.kind == Kind::Effect) return effect(c, self);
  Forward f(c);
  if (!f.any) return invoke_in_place(c.r, f.low.args());
  if (grad_enabled()) {                 // what the level below saves is not what will be written
    f.low.set(0, ops::clone(f.low[0].as_tensor()));
    Tensor& own = f.tangents[0][0];
    if (own && is_shared(self, own)) own = ops::clone(own);
  }
  f.run();
  const Tensor made = f.primal[0].is_tensor() ? f.primal[0].tensor() : Tensor();
  if (!made || made.sizes() != self.sizes() || !can_cast(made.dtype(), self.dtype()))
    return invoke_in_place(c.r, Lowered(c).args());
  become_dual(c, self);
  ops::copy_(c.below(self), made);
  Tensor tangent = f.moved[0].is_tensor() ? f.moved[0].tensor() : Tensor();
  if (tangent) tangent = ops::to_dtype(tangent, self.dtype());
  set_tangent(c, self, tangent);
}

}  // namespace rl
