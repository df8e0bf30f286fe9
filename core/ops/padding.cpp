// Padding: with a constant, or with the input's own edge, mirror image or other end.
#include "ops/fft.h"
#include "ops/formats.h"

namespace rl::ops {
namespace {

using Wide = __int128;  // no sum of sizes and pads is too large

}  // namespace

const Op<Tensor(Tensor, Ints, Scalar)> constant_pad_nd = define<Tensor(Tensor, Ints, Scalar)>(
    "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor")
  .doc(R"(
    The input with `value` around it; `pad` gives the amounts before and after, last dimension
    first. Negative amounts cut off.

    >>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, 0), 7)
    tensor([7, 1, 2])
  )")
  .forms(Function)
  .infer([](Infer& r, const Tensor& self, Ints pad, const Scalar& value) {
    const int64_t n = int64_t(pad.size()), rank = self.dim();
    check(n % 2 == 0, "Length of pad must be even but instead it equals ", n);
    check(rank >= n / 2, "Length of pad should be no more than twice the number of dimensions of "
          "the input. Pad length is ", n, "while the input has ", rank, "dimensions.");
    check_fits(value, self.dtype());
    Dims sizes(self.sizes());
    for (int64_t i = 0; i < n / 2; ++i) {
      int64_t& s = sizes[size_t(rank - 1 - i)];
      const int64_t was = s, before = pad[2 * i], after = pad[2 * i + 1];
      check(Wide(was) + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) >= 0,
            "narrow(): length must be non-negative.");
      const Wide size = Wide(was) + before + after;
      s = int64_t(size);
      check(size >= 0 && size == s, "The input size ", was, ", plus negative padding ", before,
            " and ", after, " resulted in a negative output size, which is invalid. Check "
            "dimension ", rank - 1 - i, " of your input.");
    }
    bool grows = false;
    for (int64_t p : pad) grows |= p > 0;
    if (grows) result_in_format(r, sizes, self, self.dtype());
    else r.result(sizes, dense_strides_like(alias(self, sizes, self.strides(), self.offset())),
                  self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, Ints pad, const Scalar& value) {
    set_value(result, value);
    Dims sizes(self.sizes());
    int64_t from = self.offset(), to = result.offset();
    for (size_t i = 0; i < pad.size() / 2; ++i) {
      const size_t d = sizes.size() - 1 - i;
      sizes[d] += std::min<int64_t>(pad[2 * i], 0) + std::min<int64_t>(pad[2 * i + 1], 0);
      if (pad[2 * i] < 0) from -= pad[2 * i] * self.strides()[d];
      else to += pad[2 * i] * result.strides()[d];
    }
    copy_data(alias(result, sizes, result.strides(), to), alias(self, sizes, self.strides(), from));
  })
  .grad("self", "grad, pad", [](const Tensor& grad, Ints pad) {
    Dims back;
    for (int64_t p : pad) back.push_back(-p);
    return constant_pad_nd(grad, back, 0);
  });

namespace {

enum class Edge { Reflect, Replicate, Circular };

// Where each element of a padded dimension comes from.
Tensor sources(Edge how, int64_t n, int64_t before, int64_t after) {
  const Tensor index = empty({int64_t(Wide(n) + before + after)}, DType::Int64);
  for (int64_t i = 0; i < index.numel(); ++i) {
    Wide at = Wide(i) - before;
    if (how == Edge::Replicate) at = std::clamp<Wide>(at, 0, n - 1);
    else at = at < 0 ? -at : at >= n ? 2 * (n - 1) - at : at;
    index.ptr<int64_t>()[i] = int64_t(at);
  }
  return index;
}

void check_edges(Edge how, const Tensor& self, Ints pad) {
  const int64_t dims = int64_t(pad.size()) / 2, rank = self.dim();
  check(pad.size() % 2 == 0 && dims >= 1 && dims <= 3 && (rank == dims + 1 || rank == dims + 2),
        ErrorKind::NotImplemented,
        "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
  for (int64_t d = rank == dims + 2; d < rank; ++d)
    check(self.sizes()[d] > 0, "Expected ", dims + 1, "D or ", dims + 2,
          "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
          "input, but got: ", self.sizes());
  constexpr const char* kNames[] = {"W", "H", "D"};
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t d = rank - 1 - i, n = self.sizes()[d];
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    if (how == Edge::Reflect) {
      check(before < n && after < n, "Argument #", 4 + 2 * i, ": Padding size should be less than "
            "the corresponding input dimension, but got: padding (", before, ", ", after,
            ") at dimension ", d, " of input ", self.sizes());
    } else if (how == Edge::Circular) {
      check(before <= n && after <= n, "Padding value causes wrapping around more than once.");
    }
    const Wide size = Wide(n) + before + after;
    check(size >= (how != Edge::Circular) && size == int64_t(size), "input (", kNames[i], ": ", n,
          ") is too small. Calculated output ", kNames[i], ": ", int64_t(size));
  }
  check(how == Edge::Circular || self.dtype() != DType::Bool || self.is_meta(),
        ErrorKind::NotImplemented, "\"", how == Edge::Reflect ? "reflection" : "replication",
        "_pad", dims, "d\" not implemented for 'Bool'");
}

// The input copied into the middle, then for each dimension its two ends, of what is there by then.
Tensor pad_outwards(Edge how, const Tensor& self, Ints pad) {
  Dims sizes(self.sizes());
  for (size_t i = 0; i < pad.size() / 2; ++i)
    sizes[sizes.size() - 1 - i] += pad[2 * i] + pad[2 * i + 1];
  const Tensor result = empty(sizes, self.dtype(), self.device());
  const auto copy = [](const Tensor& to, const Tensor& from) { copy_(to, from, false); };
  Tensor middle = result, inner = self;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t d = self.dim() - 1 - int64_t(i), before = pad[2 * i], after = pad[2 * i + 1];
    const int64_t cut = std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    const int64_t kept = self->sizes[d] + cut;
    middle = narrow(middle, d, std::max<int64_t>(before, 0), kept);
    inner = narrow(inner, d, std::max<int64_t>(-before, 0), kept);
  }
  copy(middle, inner);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t d = self.dim() - 1 - int64_t(i), size = sizes[size_t(d)];
    const int64_t before = std::max<int64_t>(pad[2 * i], 0);
    const int64_t after = std::max<int64_t>(pad[2 * i + 1], 0);
    const auto part = [&](int64_t start, int64_t n) { return narrow(result, d, start, n); };
    const auto mirrored = [&](int64_t start, int64_t n) {
      return n == 1 ? Tensor(part(start, n)) : Tensor(flip(part(start, n), Ints{d}));
    };
    const int64_t end = size - after;
    if (how == Edge::Circular) {
      if (before) copy(part(0, before), part(end - before, before));
      if (after) copy(part(end, after), part(before, after));
    } else if (how == Edge::Reflect) {
      if (before) copy(part(0, before), mirrored(before + 1, before));
      if (after) copy(part(end, after), mirrored(end - 1 - after, after));
    } else {
      if (before) copy(part(0, before), part(before, 1));
      if (after) copy(part(end, after), part(end - 1, 1));
    }
  }
  return result;
}

Tensor pad_circular(const Tensor& self, Ints pad) {
  check_edges(Edge::Circular, self, pad);
  return pad_outwards(Edge::Circular, self, pad);
}

Tensor pad_edges(Edge how, const Tensor& self, Ints pad) {
  check_edges(how, self, pad);
  const bool grows = *std::min_element(pad.begin(), pad.end()) >= 0;
  if (grows && !self.is_meta()) return pad_outwards(how, self, pad);
  Tensor result = self;  // what is cut away may be what the other side mirrors
  for (int64_t i = 0; i < int64_t(pad.size()) / 2; ++i) {
    const int64_t d = self.dim() - 1 - i, n = self.sizes()[d];
    if (self.is_meta()) {
      Dims sizes(result.sizes());
      sizes[d] += pad[2 * i] + pad[2 * i + 1];
      result = empty(sizes, self.dtype(), self.device());
      continue;
    }
    result = index_select(result, d, sources(how, n, pad[2 * i], pad[2 * i + 1]));
  }
  return result;
}

// Each padded element's gradient is added to where it came from.
Tensor pad_edges_backward(Edge how, const Tensor& grad, Ints sizes, Ints pad) {
  Tensor result = grad;
  for (int64_t i = int64_t(pad.size()) / 2; i-- > 0;) {
    const int64_t d = int64_t(sizes.size()) - 1 - i, n = sizes[d];
    Dims shape(result.sizes());
    shape[d] = n;
    const Tensor whole = zeros(shape, grad.dtype(), grad.device());
    result = index_add(whole, d, sources(how, n, pad[2 * i], pad[2 * i + 1]), result);
  }
  return result;
}

template <Edge how> auto define_pad(const char* signature, const char* node, const char* doc) {
  return define<Tensor(Tensor, Ints)>(signature)
    .doc(doc)
    .node(node)
    .forms(NN)
    .linear()
    .produce([](const Tensor& self, Ints pad) {
      NoGrad quiet;
      const Tensor padded = pad_edges(how, self, pad);
      return Tensor(contiguous(padded, suggested_format(self)));
    })
    .grad("self", "grad, self, padding", [](const Tensor& grad, const Tensor& self, Ints pad) {
      const Tensor made = pad_edges_backward(how, grad, self.sizes(), pad);
      return Tensor(contiguous(made, suggested_format(self)));
    });
}

constexpr const char* kReflect =
    "Pads with the input mirrored at its edges, the edge itself left out.";
constexpr const char* kReplicate = "Pads with the elements at the input's edges.";

}  // namespace

#define RL_PAD(name, edge, length, node, doc) \
  const auto name = \
      define_pad<edge>(#name "(Tensor self, int[" #length "] padding) -> Tensor", node, doc);
RL_PAD(reflection_pad1d, Edge::Reflect, 2, "ReflectionPad1DBackward0", kReflect)
RL_PAD(reflection_pad2d, Edge::Reflect, 4, "ReflectionPad2DBackward0", kReflect)
RL_PAD(reflection_pad3d, Edge::Reflect, 6, "ReflectionPad3DBackward0", kReflect)
RL_PAD(replication_pad1d, Edge::Replicate, 2, "ReplicationPad1DBackward0", kReplicate)
RL_PAD(replication_pad2d, Edge::Replicate, 4, "ReplicationPad2DBackward0", kReplicate)
RL_PAD(replication_pad3d, Edge::Replicate, 6, "ReplicationPad3DBackward0", kReplicate)
#undef RL_PAD

const auto pad = define<Tensor(Tensor, Ints, std::string_view, MaybeDouble)>(
    "pad(Tensor self, int[] pad, str mode=\"constant\", float? value=None) -> Tensor")
  .doc(R"(
    Pads the last dimensions; `mode` is constant, reflect, replicate or circular.

    >>> torch.nn.functional.pad(torch.tensor([1., 2.]), (1, 1))
    tensor([0., 1., 2., 0.])
  )")
  .forms(NN)
  .composite([](const Tensor& self, Ints pad, std::string_view mode, MaybeDouble value) {
    check(pad.size() % 2 == 0, "Padding length must be divisible by 2");
    check(int64_t(pad.size()) <= 2 * self.dim(), "Padding length should be less than or equal to "
          "two times the input dimension but got padding length ", int64_t(pad.size()),
          " and input of dimension ", self.dim());
    if (mode == "constant") return Tensor(constant_pad_nd(self, pad, Scalar(value.value_or(0))));
    check(!value || *value == 0, "Padding mode \"", mode, "\" doesn't take in value argument");
    const int64_t dims = int64_t(pad.size()) / 2, rank = self.dim();
    if (dims >= 1 && dims <= 3 && (rank == dims + 1 || rank == dims + 2)) {
      const auto by_dims = [&](const auto& one, const auto& two, const auto& three) {
        return Tensor((dims == 1 ? one : dims == 2 ? two : three)(self, pad));
      };
      if (mode == "reflect") return by_dims(reflection_pad1d, reflection_pad2d, reflection_pad3d);
      if (mode == "replicate")
        return by_dims(replication_pad1d, replication_pad2d, replication_pad3d);
      if (mode == "circular") return pad_circular(self, pad);
      fail(ErrorKind::NotImplemented, "Unrecognised padding mode ", mode);
    }
    fail(ErrorKind::NotImplemented, "Padding size ", int64_t(pad.size()), " is not supported for ",
         rank, "D input tensor.\nSupported combinations for non-constant padding:\n"
         "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
         "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
         "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)");
  });

}  // namespace rl::ops
