// Rows of a table by index: embedding and embedding bags, with their gradients.
#include "kernels/embedding.h"

#include "ops/dense.h"
#include "ops/expect.h"
#include "ops/refusals.h"

namespace rl::ops {
namespace {

const char* tensor_type(DType t) {
  static thread_local std::string name;
  name = text("torch.", type_name_of(t), "Tensor");
  return name.c_str();
}

void check_indices(const Tensor& indices, const char* name, int64_t position, const char* caller) {
  const DType t = indices.dtype();
  const bool of_c = t == DType::Bool || is_complex(t);  // types with no legacy name in Python
  check(t == DType::Int64 || t == DType::Int32, "Expected tensor for argument #", position, " '",
        name, "' to have one of the following scalar types: Long, Int; but got ",
        of_c ? text("CPU", type_name_of(t), "Type") : std::string(tensor_type(t)),
        " instead (while checking arguments for ", caller, ")");
}

kernels::Indices index_list(const Tensor& dense_indices) {
  return {dense_indices.dtype(), dense_indices.data(), dense_indices.numel()};
}

Tensor to_long(const Tensor& indices) {
  const Tensor wide = empty(indices.sizes(), DType::Int64);
  copy_data(wide, indices);
  return wide;
}

void check_range(const kernels::Indices& index, int64_t rows) {
  check(kernels::first_bad_index(index, rows) < 0, ErrorKind::Index, "index out of range in self");
}

}  // namespace

extern const Op<Tensor(Tensor, Tensor, int64_t, int64_t, bool)> embedding_dense_backward;

const Op<Tensor(Tensor, Tensor, int64_t, bool, bool)> embedding =
    define<Tensor(Tensor, Tensor, int64_t, bool, bool)>(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, "
    "bool sparse=False) -> Tensor")
  .doc(R"(
    The rows of a table that `indices` name.

    >>> torch.embedding(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1, 0]))
    tensor([[3., 4.],
            [1., 2.]])
  )")
  .forms(Function | Out)
  .infer([](Infer& r, const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
    check(weight.dim() == 2, "'weight' must be 2-D");
    refuse_complex_gradient("embedding", weight);
    check_indices(indices, "indices", 1, "embedding");
    Dims sizes(indices.sizes());
    sizes.push_back(weight->sizes[1]);
    r.result(sizes, weight.dtype(), weight.device());
  })
  .kernel([](Tensor& result, const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
    const Tensor index = dense(indices), table = dense(weight);
    check_range(index_list(index), table->sizes[0]);
    const int64_t row = table->sizes[1] * table.element_size();
    kernels::embedding(table.data(), row, row, index_list(index), result.data());
  })
  .grad("weight", "grad, indices, weight.sizes, padding_idx, scale_grad_by_freq",
        [](const Tensor& grad, const Tensor& indices, Ints sizes, int64_t padding, bool scale) {
    return embedding_dense_backward(grad, indices, sizes[0], padding, scale);
  });

const Op<Tensor(Tensor, Tensor, int64_t, int64_t, bool)> embedding_dense_backward =
    define<Tensor(Tensor, Tensor, int64_t, int64_t, bool)>(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, "
    "int padding_idx, bool scale_grad_by_freq) -> Tensor")
  .doc("Adds rows of gradients up by index: the gradient of an embedding's table.")
  .forms(Function | Out)
  .infer([](Infer& r, const Tensor& grad, const Tensor& indices, int64_t rows, int64_t, bool) {
    check_indices(indices, "indices", 2, "embedding_backward");
    check(grad.dim() > 0, "embedding_dense_backward: expected rows of gradients, but got a "
          "0-dimensional tensor");
    check(grad.numel() == indices.numel() * grad->sizes[grad.dim() - 1],
          "embedding_dense_backward: expected a row of grad_output per index, but got shapes ",
          grad.sizes(), " and ", indices.sizes());
    r.result({rows, grad->sizes[grad.dim() - 1]}, grad.dtype(), grad.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& indices, int64_t rows,
             int64_t padding, bool scale) {
    const Tensor g = dense(grad), index = dense(indices);
    check_range(index_list(index), rows);
    kernels::embedding_backward(g.dtype(), g.data(), index_list(index), rows, result->sizes[1],
                                padding, scale, result.data());
  })
  .grad("grad_output", "grad, indices, padding_idx, scale_grad_by_freq",
        [](const Tensor& grad, const Tensor& indices, int64_t padding, bool scale) -> Tensor {
    check(!scale, "double backward of embedding with scale_grad_by_freq=True is not supported");
    if (padding < 0) return embedding(grad, indices);
    const Tensor table = clone(grad);
    zero_(select(table, 0, padding));
    return embedding(table, indices);
  });

const auto embedding_renorm_ = define<Tensor(Tensor, Tensor, double, double)>(
    "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) "
    "-> Tensor(a!)")
  .doc("Scales down, in place, the rows that `indices` name to the norm `max_norm`.")
  .node("EmbeddingRenormBackward0")
  .infer([](Infer&, const Tensor& self, const Tensor& indices, double, double) {
    check(self.dim() == 2, "Expected 2-dimensional tensor, but got ", self.dim(), "-dimensional "
          "tensor for argument #1 'self' (while checking arguments for embedding_renorm_)");
    check_indices(indices, "indices", 2, "embedding_renorm_");
    check(self.is_floating() || self.is_complex(), "norm(): input dtype should be either floating "
          "point or complex. Got ", type_name_of(self.dtype()), " instead.");
  })
  .effect([](const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
    const Tensor index = to_long(indices), table = dense(self);
    const int64_t rows = table->sizes[0];
    for (int64_t i = 0; i < index.numel(); ++i) {
      const int64_t at = index.ptr<int64_t>()[i];
      check(at >= -rows && at < rows, ErrorKind::Index, "select(): index ", at, " out of range for "
            "tensor of size ", self.sizes(), " at dimension 0");
    }
    kernels::embedding_renorm(table.dtype(), table.data(), rows, table->sizes[1],
                              index_list(index), max_norm, norm_type);
    if (!table.same(self)) copy_data(self, table);
  })
  .grad("self", "grad", [](const Tensor&) -> Tensor {
    fail(ErrorKind::NotImplemented, "the derivative for 'embedding_renorm' is not implemented.");
  });

// ---- Bags

namespace {

using Bag = std::tuple<Tensor, Tensor, Tensor, Tensor>;

struct BagCall {
  Tensor table, index, offsets, weights, ends;
  kernels::Bags bags{};

  BagCall(DType dtype, int64_t rows, int64_t dim, const Tensor& indices, const Tensor& starts,
          int64_t mode, const Tensor& sample_weights, bool include_last, int64_t padding,
          bool scale) {
    index = dense(indices);
    offsets = empty(starts.sizes(), DType::Int64);
    copy_data(offsets, starts);
    weights = dense(sample_weights);
    bags.dtype = dtype;
    bags.index = index_list(index);
    bags.offsets = offsets.ptr<int64_t>();
    bags.bags = starts.numel() - (include_last ? 1 : 0);
    bags.rows = rows;
    bags.dim = dim;
    bags.mode = kernels::BagMode(mode);
    bags.weights = weights ? weights.data() : nullptr;
    bags.padding_idx = padding;
    bags.scale_by_freq = scale;
  }
};

// Which bag each index lies in.
Tensor bag_numbers(const Tensor& indices, const Tensor& offsets, bool include_last) {
  const Tensor starts = empty(offsets.sizes(), DType::Int64);
  copy_data(starts, offsets);
  const Tensor bag = empty(indices.sizes(), DType::Int64);
  const int64_t bags = offsets.numel() - (include_last ? 1 : 0), n = indices.numel();
  for (int64_t b = 0; b < bags; ++b) {
    const int64_t from = starts.ptr<int64_t>()[b];
    const int64_t to = b + 1 < bags ? starts.ptr<int64_t>()[b + 1] : n;
    for (int64_t i = from; i < to; ++i) bag.ptr<int64_t>()[i] = b;
  }
  return bag;
}

int64_t bag_count(const char* op, const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                  int64_t mode, bool include_last) {
  check_indices(indices, "indices", 1, op);
  check_indices(offsets, "offsets", 1, op);
  expect(indices.dim() == 1 && offsets.dim() == 1, op, "indices and offsets have one dimension");
  expect(mode >= 0 && mode <= 2, op, "the mode is sum, mean or max");
  const int64_t bags = offsets.numel() - (include_last ? 1 : 0);
  expect(bags >= 0 && grad.dim() == 2 && grad->sizes[0] == bags && grad.is_floating(), op,
         "the gradient has a row for each bag");
  return bags;
}

// Inside kernels: bags lie one after the other.
void expect_bags(const char* op, const BagCall& call, int64_t rows) {
  int64_t before = 0;
  bool fits = true;
  for (int64_t i = 0; i < call.offsets.numel(); ++i) {
    const int64_t at = call.bags.offsets[i];
    fits &= at >= before && at <= call.index.numel() && (i > 0 || at == 0);
    before = at;
  }
  expect(fits, op, "offsets must begin at 0, ascend and end within the indices");
  const int64_t bad = kernels::first_bad_index(call.bags.index, rows);
  if (bad < 0) return;
  const int64_t value = to_long(call.index).ptr<int64_t>()[bad];
  const bool plain = call.bags.mode == kernels::BagMode::Max || call.bags.dtype == DType::Double;
  check(!plain, "embedding_bag: Expected idx >= 0 && idx < "
        "num_embeddings but found idx to be ", value);
  fail(ErrorKind::Runtime, "Index ", bad, " of input takes value ", value, " which is not in the "
       "valid range [0, ", rows, ")");
}

}  // namespace

extern const Op<Tensor(Tensor, Tensor, Tensor, Tensor, Tensor, int64_t, bool, int64_t, Tensor, bool,
                       int64_t)> embedding_bag_dense_backward;
extern const Op<Tensor(Tensor, Tensor, Tensor, Tensor, int64_t, int64_t, bool)>
    embedding_bag_weights_backward;

const auto embedding_bag_op =
    define<Bag(Tensor, Tensor, Tensor, bool, int64_t, bool, Tensor, bool, int64_t)>(
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, "
    "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
    "bool include_last_offset=False, int padding_idx=-1) "
    "-> (Tensor, Tensor, Tensor, Tensor)")
  .doc("Sums, means or maxima of rows of a table, bag by bag.")
  .node("EmbeddingBagBackward0")
  .nondiff("result1").nondiff("result2").nondiff("result3")
  .forms(Function)
  .infer([](Infer& r, const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool,
            int64_t mode, bool, const Tensor& sample_weights, bool include_last, int64_t) {
    check_indices(indices, "indices", 1, "embedding_bag");
    check_indices(offsets, "offsets", 1, "embedding_bag");
    check(weight.is_floating() || weight.is_meta(), "Expected tensor for argument #1 'weight' to "
          "have one of the following scalar types: Half, BFloat16, Float, Double; but got ",
          weight.is_complex() ? text("CPU", type_name_of(weight.dtype()), "Type").c_str()
                              : tensor_type(weight.dtype()),
          " instead (while checking arguments for embedding_bag)");
    check(weight.dim() == 2, "weight has to be a 2D Tensor, but got Tensor of dimension ",
          weight.dim());
    check(!sample_weights || mode == 0, "embedding_bag: per_sample_weights was not None. "
          "per_sample_weights is only supported for mode='sum' (got mode='",
          mode == 1 ? "mean" : "max", "'). Please open a feature request on GitHub.");
    const int64_t bags = offsets->sizes[0] - (include_last ? 1 : 0), dim = weight->sizes[1];
    r.result({bags, dim}, weight.dtype(), weight.device());
    r.result(indices.sizes(), DType::Int64, weight.device());
    r.result({bags}, DType::Int64, weight.device());
    if (mode == 2) r.result({bags, dim}, DType::Int64, weight.device());
    else r.result({bags}, DType::Int64, weight.device());
  })
  .kernel([](Tensor& output, Tensor& offset2bag, Tensor& bag_size, Tensor& max_indices,
             const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool,
             int64_t mode, bool, const Tensor& sample_weights, bool include_last,
             int64_t padding) {
    const Tensor table = dense(weight);
    const BagCall call(table.dtype(), table->sizes[0], table->sizes[1], indices, offsets, mode,
                       sample_weights, include_last, padding, false);
    const int64_t* starts = call.bags.offsets;
    check(offsets.numel() == 0 || starts[0] == 0, "offsets[0] has to be 0, i.e., the first "
          "sequence in the mini-batch has to start from position 0. However, got ",
          offsets.numel() ? starts[0] : 0, "\n[ ", tensor_type(offsets.dtype()), "{} ]");
    check(offsets.numel() == 0 || starts[offsets.numel() - 1] <= indices.numel(),
          "offsets[-1] can not be greater than input's length ", indices.numel(),
          " but got offsets[-1] of ", offsets.numel() ? starts[offsets.numel() - 1] : 0);
    expect_bags("embedding_bag", call, table->sizes[0]);
    copy_data(offset2bag, bag_numbers(indices, offsets, include_last));
    if (mode != 2) set_zero(max_indices);
    kernels::embedding_bag(call.bags, table.data(), output.data(), bag_size.ptr<int64_t>(),
                           mode == 2 ? max_indices.ptr<int64_t>() : nullptr);
  })
  .grad("weight", "grad.result, weight.layout, indices, offsets, result2, mode, "
        "include_last_offset, padding_idx, per_sample_weights, scale_grad_by_freq, result3",
        [](const Tensor& grad, const Tensor& weight, const Tensor& indices, const Tensor& offsets,
           const Tensor& bag_size, int64_t mode, bool include_last, int64_t padding,
           const Tensor& sample_weights, bool scale, const Tensor& max_indices) {
    return embedding_bag_dense_backward(grad, indices, offsets, bag_size, max_indices,
                                        weight->sizes[0], scale, mode, sample_weights,
                                        include_last, padding);
  })
  .grad("per_sample_weights", "grad.result, weight, indices, offsets, mode, padding_idx, "
        "include_last_offset",
        [](const Tensor& grad, const Tensor& weight, const Tensor& indices, const Tensor& offsets,
           int64_t mode, int64_t padding, bool include_last) {
    return embedding_bag_weights_backward(grad, weight, indices, offsets, mode, padding,
                                          include_last);
  });

const Op<Tensor(Tensor, Tensor, Tensor, Tensor, Tensor, int64_t, bool, int64_t, Tensor, bool,
                int64_t)> embedding_bag_dense_backward =
    define<Tensor(Tensor, Tensor, Tensor, Tensor, Tensor, int64_t, bool, int64_t, Tensor, bool,
                  int64_t)>(
    "_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor bag_size, "
    "Tensor maximum_indices, int num_weights, bool scale_grad_by_freq, int mode, "
    "Tensor? per_sample_weights, bool include_last_offset=False, int padding_idx=-1) -> Tensor")
  .doc("The gradient of an embedding bag's table.")
  .forms(Hidden)
  .no_derivative("derivative for aten::_embedding_bag_dense_backward is not implemented")
  .infer([](Infer& r, const Tensor& grad, const Tensor& indices, const Tensor& offsets,
            const Tensor& bag_size, const Tensor& maxima, int64_t rows, bool, int64_t mode,
            const Tensor& weights, bool include_last, int64_t) {
    const char* op = "_embedding_bag_dense_backward";
    const int64_t bags = bag_count(op, grad, indices, offsets, mode, include_last);
    expect_like(bag_size, {bags}, DType::Int64, op, "bag_size");
    if (mode == 2) expect_like(maxima, grad.sizes(), DType::Int64, op, "maximum_indices");
    expect_like(weights, indices.sizes(), grad.dtype(), op, "per_sample_weights");
    expect(rows >= 0, op, "num_weights is not negative");
    r.result({rows, grad->sizes[1]}, grad.dtype(), grad.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& indices, const Tensor& offsets,
             const Tensor& bag_size, const Tensor& max_indices, int64_t rows, bool scale,
             int64_t mode, const Tensor& sample_weights, bool include_last, int64_t padding) {
    const Tensor g = dense(grad);
    const BagCall call(g.dtype(), rows, g->sizes[1], indices, offsets, mode, sample_weights,
                       include_last, padding, scale);
    expect_bags("_embedding_bag_dense_backward", call, rows);
    const Tensor sizes = dense(bag_size), maxima = mode == 2 ? dense(max_indices) : Tensor();
    bool fits = true;  // -1: a bag of nothing
    for (int64_t i = 0; maxima && i < maxima.numel(); ++i)
      fits &= maxima.ptr<int64_t>()[i] >= -1 && maxima.ptr<int64_t>()[i] < rows;
    expect(fits, "_embedding_bag_dense_backward", "maximum_indices lie outside the table");
    kernels::embedding_bag_backward(call.bags, g.data(), sizes.ptr<int64_t>(),
                                    maxima ? maxima.ptr<int64_t>() : nullptr, result.data());
  });

const Op<Tensor(Tensor, Tensor, Tensor, Tensor, int64_t, int64_t, bool)>
    embedding_bag_weights_backward =
    define<Tensor(Tensor, Tensor, Tensor, Tensor, int64_t, int64_t, bool)>(
    "_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, "
    "Tensor offsets, int mode, int padding_idx=-1, bool include_last_offset=False) -> Tensor")
  .doc("The gradient of an embedding bag's weights per sample.")
  .forms(Hidden)
  .no_derivative("derivative for aten::_embedding_bag_per_sample_weights_backward is not "
                 "implemented")
  .infer([](Infer& r, const Tensor& grad, const Tensor& weight, const Tensor& indices,
            const Tensor& offsets, int64_t mode, int64_t, bool include_last) {
    const char* op = "_embedding_bag_per_sample_weights_backward";
    bag_count(op, grad, indices, offsets, mode, include_last);
    expect(weight.dim() == 2, op, "the weight is a table");
    expect_like(weight, {weight->sizes[0], grad->sizes[1]}, grad.dtype(), op, "weight");
    r.result(indices.sizes(), grad.dtype(), grad.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& weight, const Tensor& indices,
             const Tensor& offsets, int64_t mode, int64_t padding, bool include_last) {
    const Tensor g = dense(grad), table = dense(weight);
    const BagCall call(g.dtype(), table->sizes[0], table->sizes[1], indices, offsets, mode,
                       Tensor(), include_last, padding, false);
    expect_bags("_embedding_bag_per_sample_weights_backward", call, table->sizes[0]);
    kernels::embedding_bag_weights_backward(call.bags, g.data(), table.data(), result.data());
  });

const auto embedding_bag =
    define<Bag(Tensor, Tensor, Tensor, bool, int64_t, bool, Tensor, bool, MaybeInt)>(
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, "
    "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None) "
    "-> (Tensor, Tensor, Tensor, Tensor)")
  .doc("Sums, means or maxima of rows of a table, bag by bag.")
  .composite([](const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale,
                int64_t mode, bool sparse, const Tensor& sample_weights, bool include_last,
                MaybeInt padding) {
    int64_t pad = padding.value_or(-1);
    if (padding) {
      const int64_t rows = weight->sizes[0];
      check(pad >= -rows && pad < rows, "padding_idx must be within the number of embeddings");
      if (pad < 0) pad += rows;
    }
    return embedding_bag_op(weight, indices, offsets, scale, mode, sparse, sample_weights,
                            include_last, pad);
  });

}  // namespace rl::ops
