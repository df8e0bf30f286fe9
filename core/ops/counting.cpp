// Distinct values, places in sorted tables, and histograms.
#include "kernels/counting.h"

#include <cmath>

#include "ops/dispatch.h"
#include "ops/promotion.h"
#include "ops/reduce.h"

namespace rl::ops {
namespace {

using Triple = std::tuple<Tensor, Tensor, Tensor>;
using Pair = std::pair<Tensor, Tensor>;

Tensor dense(const Tensor& t) {
  if (t.is_contiguous()) return t;
  const Tensor r = empty(t.sizes(), t.dtype());
  copy_data(r, t);
  return r;
}
// The first n elements, in memory of their own size.
Tensor first_of(const Tensor& room, int64_t n) {
  if (room.numel() == n) return room;
  const Tensor r = empty({n}, room.dtype());
  copy_data(r, alias(room, {n}, {1}, 0));
  return r;
}
Tensor none() { return empty({0}, DType::Int64); }
void refuse_complex(const char* kernel, const Tensor& self) {
  check(!self.is_complex(), ErrorKind::NotImplemented, "\"", kernel, "\" not implemented for '",
        type_name_of(self.dtype()), "'");
}

Triple distinct(const Tensor& self, bool neighbours, bool inverse, bool counts) {
  refuse_complex("unique", self);
  const Tensor in = dense(self);
  const int64_t n = in.numel();
  const Tensor values = empty({n}, self.dtype());
  const Tensor places = inverse ? empty(self.sizes(), DType::Int64) : none();
  const Tensor count = counts ? empty({n}, DType::Int64) : none();
  int64_t* const p = inverse ? places.ptr<int64_t>() : nullptr;
  int64_t* const c = counts ? count.ptr<int64_t>() : nullptr;
  const auto run = neighbours ? kernels::unique_consecutive : kernels::unique;
  const int64_t found = n ? run(in.data(), self.dtype(), n, values.data(), p, c) : 0;
  return {first_of(values, found), places, counts ? first_of(count, found) : count};
}

// Whether two rows differ, as values: NaN differs from itself.
bool rows_differ(const Tensor& rows, int64_t a, int64_t b) {
  bool differ = false;
  dispatch(rows.dtype(), [&](auto* none) {
    using T = pointee<decltype(none)>;
    const int64_t size = rows.sizes()[1];
    const T *x = rows.ptr<T>() + a * size, *y = rows.ptr<T>() + b * size;
    for (int64_t i = 0; i < size && !differ; ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        differ = to_float(x[i]) != to_float(y[i]);
      } else {
        differ = x[i] != y[i];
      }
    }
  });
  return differ;
}
int64_t consecutive_rows(const Tensor& rows, int64_t* first, int64_t* inverse, int64_t* counts) {
  int64_t found = 0;
  for (int64_t r = 0; r < rows.sizes()[0]; ++r) {
    if (r == 0 || rows_differ(rows, r - 1, r)) {
      counts[found] = 0;
      first[found++] = r;
    }
    ++counts[found - 1];
    inverse[r] = found - 1;
  }
  return found;
}

// A list of sizes or strides with one dimension moved.
Dims moved(Ints list, int64_t from, int64_t to) {
  Dims r(list);
  const int64_t one = r[from];
  r.erase(size_t(from));
  r.insert(size_t(to), one);
  return r;
}

// Distinct slices along a dimension.
Triple distinct_slices(const Tensor& self, int64_t dim, bool neighbours, bool inverse,
                       bool counts) {
  const int64_t d = wrap_dim(dim, self.dim());
  if (!neighbours || self.numel() > 0) {
    bool empty_elsewhere = false;
    for (int64_t i = 0; i < self.dim(); ++i) empty_elsewhere |= i != d && self.sizes()[i] == 0;
    check(!empty_elsewhere || (self.dim() && self.sizes()[d] == 0),
          "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  }
  if (self.dim() == 0) return distinct(self, neighbours, inverse, counts);
  refuse_complex("unique_dim", self);
  const int64_t n = self.sizes()[d];
  if (self.numel() == 0) return {clone(self, std::nullopt), empty({n}, DType::Int64), none()};
  Dims sizes = moved(self.sizes(), d, 0), strides = moved(self.strides(), d, 0);
  const Tensor turned = dense(alias(self, sizes, strides, self.offset()));
  const Tensor rows = alias(turned, {n, self.numel() / n}, {self.numel() / n, 1}, turned.offset());
  const Tensor first = empty({n}, DType::Int64), places = empty({n}, DType::Int64),
               count = empty({n}, DType::Int64);
  const int64_t found =
      neighbours ? consecutive_rows(rows, first.ptr<int64_t>(), places.ptr<int64_t>(),
                                    count.ptr<int64_t>())
                 : kernels::unique_rows(rows.data(), self.dtype(), n, rows.sizes()[1],
                                        first.ptr<int64_t>(), places.ptr<int64_t>(),
                                        count.ptr<int64_t>());
  sizes[0] = found;
  const Tensor picked = empty(sizes, self.dtype());
  const size_t bytes = size_t(rows.sizes()[1] * self.element_size());
  for (int64_t i = 0; i < found; ++i) {
    std::memcpy(picked.data() + i * int64_t(bytes),
                rows.data() + first.ptr<int64_t>()[i] * int64_t(bytes), bytes);
  }
  const Dims back = moved(contiguous_strides(sizes), 0, d);
  return {alias(picked, moved(sizes, 0, d), back, 0), inverse ? places : none(),
          counts ? first_of(count, found) : none()};
}

constexpr const char* kNoUnique = "the derivative for '_unique2' is not implemented.";

}  // namespace

const auto unique2 = define<Triple(Tensor, bool, bool, bool)>(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False,"
    " bool return_counts=False) -> (Tensor, Tensor, Tensor)")
  .doc(R"(
    The distinct elements in ascending order, each element's place among them, and their counts.

    >>> torch._unique2(torch.tensor([3, 1, 3]))[0]
    tensor([1, 3])
  )")
  .node("Unique2Backward0")
  .no_derivative(kNoUnique)
  .produce([](const Tensor& self, bool, bool inverse, bool counts) {
    refuse_meta("_unique2", self);
    return distinct(self, false, inverse, counts);
  });

const auto unique_dim = define<Triple(Tensor, int64_t, bool, bool, bool)>(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False,"
    " bool return_counts=False) -> (Tensor, Tensor, Tensor)")
  .doc(R"(
    The distinct slices along a dimension in ascending order, each one's place, and their counts.

    >>> torch.unique_dim(torch.tensor([[3, 1, 3]]), 1)[0]
    tensor([[1, 3]])
  )")
  .no_derivative("the derivative for 'unique_dim' is not implemented.")
  .produce([](const Tensor& self, int64_t dim, bool, bool inverse, bool counts) {
    refuse_meta("unique_dim", self);
    return distinct_slices(self, dim, false, inverse, counts);
  });

const auto unique_consecutive = define<Triple(Tensor, bool, bool, MaybeInt)>(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False,"
    " int? dim=None) -> (Tensor, Tensor, Tensor)")
  .doc(R"(
    The first of each run of equal neighbours, each element's run, and the lengths of the runs.

    >>> torch.unique_consecutive(torch.tensor([3, 3, 1]))
    tensor([3, 1])
  )")
  .forms(Hidden)
  .no_derivative("the derivative for 'unique_consecutive' is not implemented.")
  .produce([](const Tensor& self, bool inverse, bool counts, MaybeInt dim) {
    refuse_meta("unique_consecutive", self);
    return dim ? distinct_slices(self, *dim, true, inverse, counts)
               : distinct(self, true, inverse, counts);
  });

namespace {

void check_search(const Tensor& table, const Tensor& input, bool number, const Tensor& sorter,
                  bool right, MaybeText side) {
  check(!side || *side == "left" || *side == "right",
        "torch.searchsorted(): side can only be 'left' or 'right' but got ", std::string(side.value_or("")));
  check(!side || *side == "right" || !right, "torch.searchsorted(): side and right can't be set to "
        "opposites, got side of left while right was True");
  check(table.dim() != 0, "torch.searchsorted(): boundaries tensor should have positive dimension, "
        "but got 0 dimension");
  check(!number || table.dim() == 1, "torch.searchsorted(): input value can be a scalar only when "
        "boundaries tensor dimension is 1, but we got boundaries tensor dim(", table.dim(),
        ") and input value's dim(0) numel(1)");
  bool match = table.dim() == 1;
  if (!match && table.dim() == input.dim()) {
    match = true;
    for (int64_t i = 0; i + 1 < table.dim(); ++i) match &= table.sizes()[i] == input.sizes()[i];
  }
  check(match, "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
        "dimensions of boundaries tensor and input value tensor must match, but we got boundaries "
        "tensor ", table.sizes(), " and input value tensor ", input.sizes());
  if (!sorter) return;
  check(sorter.sizes() == table.sizes(), "torch.searchsorted(): boundary and sorter must have the "
        "same size, but got boundary tensor ", table.sizes(), "and got sorter tensor ",
        sorter.sizes());
  check(sorter.dtype() == DType::Int64, "torch.searchsorted(): sorter must be a tensor of long "
        "dtype but got dtype ", type_name_of(sorter.dtype()));
}
void check_sorter(const Tensor& sorter) {
  const int64_t n = sorter.sizes().back();
  for (int64_t i = 0; i < sorter.numel(); ++i) {
    const int64_t at = sorter.ptr<int64_t>()[i];
    check(at >= 0 && at < n, "torch.searchsorted(): sorter index out of range");
  }
}

void search_into(const Tensor& out, const Tensor& table, const Tensor& input, bool right,
                 const Tensor& sorter) {
  if (out.numel() == 0) return;
  refuse_complex("searchsorted_out_cpu", table);
  check(!is_bool(table.dtype()), ErrorKind::NotImplemented,
        "\"searchsorted_out_cpu\" not implemented for 'Bool'");
  const DType common = result_type(table, input);
  const auto ready = [&](const Tensor& t) {
    if (t.dtype() == common) return dense(t);
    const Tensor r = empty(t.sizes(), common);
    copy_data(r, t);
    return r;
  };
  const Tensor places = sorter ? dense(sorter) : sorter;
  if (places) check_sorter(places);
  const Tensor t = ready(table), in = ready(input);
  kernels::Search s;
  s.boundaries = t.data();
  s.sorter = places ? places.ptr<int64_t>() : nullptr;
  s.input = in.data();
  s.dtype = common;
  s.size = t.sizes().back();
  s.shared = t.dim() == 1;
  s.width = s.shared ? in.numel() : in.sizes().back();
  s.rows = s.shared ? 1 : in.numel() / s.width;
  s.right = right;
  s.narrow = out.dtype() == DType::Int32;
  kernels::searchsorted(s, out.data());
}
DType place_dtype(bool narrow) { return narrow ? DType::Int32 : DType::Int64; }

// N: where `out_int32` stands among the arguments.
template <int N> void check_places_out(const Arg* args, const Tensor* targets) {
  const bool narrow = args[N].integer != 0;
  check(targets->dtype() == place_dtype(narrow), "torch.searchsorted(): output tensor's dtype is "
        "wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is "
        "True, but we got output tensor's dtype ", type_name_of(targets->dtype()),
        " and out_int32 flag is ", narrow ? "True" : "False");
}

using Side = MaybeText;

}  // namespace

const auto searchsorted = define<Tensor(Tensor, Tensor, bool, bool, Side, Tensor)>(
    "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False,"
    " bool right=False, str? side=None, Tensor? sorter=None) -> Tensor")
  .doc(R"(
    Where each value would go into a sorted sequence (its last dimension) to keep it sorted: before
    equal values, or after them if `right`.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
  )")
  .out({.dtype = OutDType::Exact, .check = check_places_out<2>})
  .forms(Function | Out)
  .infer([](Infer& r, const Tensor& table, const Tensor& self, bool narrow, bool right, Side side,
            const Tensor& sorter) {
    check_search(table, self, false, sorter, right, side);
    r.result(self.sizes(), place_dtype(narrow), table.device());
  })
  .kernel([](Tensor& result, const Tensor& table, const Tensor& self, bool, bool right, Side side,
             const Tensor& sorter) {
    search_into(result, table, self, right || side == "right", sorter);
  });

const auto searchsorted_number = define<Tensor(Tensor, Scalar, bool, bool, Side, Tensor)>(
    "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False,"
    " bool right=False, str? side=None, Tensor? sorter=None) -> Tensor")
  .out({.dtype = OutDType::Exact, .check = check_places_out<2>})
  .forms(Function | Out)
  .infer([](Infer& r, const Tensor& table, const Scalar& self, bool narrow, bool right, Side side,
            const Tensor& sorter) {
    check_search(table, wrapped_number(self), true, sorter, right, side);
    r.result({}, place_dtype(narrow), table.device());
  })
  .kernel([](Tensor& result, const Tensor& table, const Scalar& self, bool, bool right, Side side,
             const Tensor& sorter) {
    search_into(result, table, wrapped_number(self), right || side == "right", sorter);
  });

const auto bucketize = define<Tensor(Tensor, Tensor, bool, bool)>(
    "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False)"
    " -> Tensor")
  .doc(R"(
    The index of the bucket between sorted `boundaries` that each element falls into.

    >>> torch.bucketize(torch.tensor([0, 4]), torch.tensor([1, 3, 5]))
    tensor([0, 2])
  )")
  .out({.dtype = OutDType::Exact, .check = check_places_out<2>})
  .forms(Function | Out)
  .infer([](Infer& r, const Tensor& self, const Tensor& boundaries, bool narrow, bool) {
    check(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(",
          boundaries.dim(), ")");
    r.result(self.sizes(), place_dtype(narrow), boundaries.device());
  })
  .kernel([](Tensor& result, const Tensor& self, const Tensor& boundaries, bool, bool right) {
    search_into(result, boundaries, self, right, Tensor());
  });

const auto bucketize_number = define<Tensor(Scalar, Tensor, bool, bool)>(
    "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False)"
    " -> Tensor")
  .forms(Function)
  .infer([](Infer& r, const Scalar&, const Tensor& boundaries, bool narrow, bool) {
    check(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(",
          boundaries.dim(), ")");
    r.result({}, place_dtype(narrow), boundaries.device());
  })
  .kernel([](Tensor& result, const Scalar& self, const Tensor& boundaries, bool, bool right) {
    search_into(result, boundaries, wrapped_number(self), right, Tensor());
  });

const auto bincount = define<Tensor(Tensor, Tensor, int64_t)>(
    "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor")
  .doc(R"(
    How often each number from 0 to the largest comes among non-negative integers, or the sum of
    its weights.

    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
  )")
  .forms(Function | Method)
  .produce([](const Tensor& self, const Tensor& weights, int64_t minlength) {
    refuse_meta("bincount", self);
    refuse_meta("bincount", weights);
    check(is_integral(self.dtype()), ErrorKind::NotImplemented,
          "\"bincount_cpu\" not implemented for '", type_name_of(self.dtype()), "'");
    check(minlength >= 0, "minlength should be >= 0");
    if (self.dim() == 1 && self.numel() == 0) return zeros({minlength}, DType::Int64);
    const Tensor in = dense(self);
    const int64_t n = in.numel();
    const int64_t least = self.dim() == 1 ? kernels::bincount_size(in.data(), in.dtype(), n) : -1;
    check(least >= 0, "bincount only supports 1-d non-negative integral inputs.");
    check(!weights || (weights.dim() == 1 && weights.numel() == n),
          "weights should be 1-d and have the same length as input");
    const int64_t bins = std::max(least, minlength);
    if (!weights) {
      const Tensor counts = empty({bins}, DType::Int64);
      kernels::bincount(in.data(), in.dtype(), n, bins, counts.ptr<int64_t>());
      return counts;
    }
    const bool narrow = weights.dtype() == DType::Float;
    const Tensor w = empty({n}, narrow ? DType::Float : DType::Double);
    copy_data(w, weights);
    const Tensor sums = empty({bins}, w.dtype());
    if (narrow) kernels::bincount(in.data(), in.dtype(), n, bins, w.ptr<float>(), sums.ptr<float>());
    else kernels::bincount(in.data(), in.dtype(), n, bins, w.ptr<double>(), sums.ptr<double>());
    return sums;
  })
  .no_derivative("derivative for aten::bincount is not implemented");

namespace {

// The smallest and the largest element, as doubles.
std::pair<double, double> range_of(const Tensor& self) {
  const Tensor low = empty({}, self.dtype()), high = empty({}, self.dtype());
  fold_into(low, self, kAllDims, Fold::Min);
  fold_into(high, self, kAllDims, Fold::Max);
  return {item_of(low).to_double(), item_of(high).to_double()};
}
// bins + 1 edges at equal distances, worked out from both ends in the dtype, as linspace does.
Tensor even_edges(double low, double high, int64_t bins, DType dtype) {
  const Tensor edges = empty({bins + 1}, dtype);
  dispatch(dtype, [&](auto* none) {
    using T = pointee<decltype(none)>;
    if constexpr (std::is_floating_point_v<T>) {
      const T first = T(low), last = T(high), step = (last - first) / T(bins);
      for (int64_t i = 0; i <= bins; ++i) {
        edges.ptr<T>()[i] = i < (bins + 1) / 2 ? first + step * T(i) : last - step * T(bins - i);
      }
    } else {
      const double step = (high - low) / double(bins);
      for (int64_t i = 0; i <= bins; ++i) edges.ptr<T>()[i] = Scalar(low + step * double(i)).to<T>();
    }
  });
  return edges;
}
void histogram_into(const Tensor& out, const Tensor& self, const Tensor& edges,
                    const Tensor& weight, kernels::Binning binning) {
  const Tensor points = dense(self), weights = weight ? dense(weight) : weight;
  const void* edge_data = edges.data();
  const int64_t bins = out.numel();
  kernels::Histogram h{points.data(), weights ? weights.data() : nullptr, &edge_data, &bins, 1,
                       points.numel(), self.dtype(), binning};
  kernels::histogram(h, out.data());
}
void check_bins(int64_t bins) {
  check(bins > 0, "torch.histogram(): bins must be > 0, but got ", bins, " for dimension 0");
}
void refuse_type(const char* kernel, const Tensor& self) {
  check(is_floating(self.dtype()), ErrorKind::NotImplemented, "\"", kernel,
        "\" not implemented for '", type_name_of(self.dtype()), "'");
}

}  // namespace

const auto histc = define<Tensor(Tensor, int64_t, Scalar, Scalar)>(
    "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor")
  .doc(R"(
    How many elements fall into each of `bins` equal bins from `min` to `max`; the data's own range
    where the two are equal.

    >>> torch.histc(torch.tensor([0., 1., 1., 4.]), 2, 0, 4)
    tensor([3., 1.])
  )")
  .out({.dtype = OutDType::Exact, .internal = true,
        .text = "torch.histogram: input tensor and hist tensor should have the same "
                "dtype, but got input %w and hist %g"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, int64_t bins, const Scalar&, const Scalar&) {
    check_bins(bins);
    r.result({bins}, self.dtype(), self.device());
  })
  .kernel([](Tensor& result, const Tensor& self, int64_t bins, const Scalar& min,
             const Scalar& max) {
    check(self.dtype() != DType::UInt8 || (min.to_double() >= 0 && max.to_double() >= 0),
          "value cannot be converted to type uint8_t without overflow");
    refuse_type("histogram_cpu", self);
    double low = min.to_double(), high = max.to_double();
    if (low == high && self.numel() > 0) std::tie(low, high) = range_of(self);
    if (low == high) {
      low -= 1;
      high += 1;
    }
    check(std::isfinite(low) && std::isfinite(high), "torch.histc: range of [", low, ", ", high,
          "] is not finite");
    check(low < high, "torch.histc: max must be larger than min");
    histogram_into(result, self, even_edges(low, high, bins, self.dtype()), Tensor(),
                   kernels::Binning::Proportion);
  });

namespace {

void check_weight(const Tensor& self, const Tensor& weight) {
  if (!weight) return;
  check(weight.dtype() == self.dtype(), "torch.histogramdd: if weight tensor is provided, input "
        "tensor and weight tensor should have the same dtype, but got input(",
        c_name_of(self.dtype()), "), and weight(", c_name_of(weight.dtype()), ")");
  check(weight.sizes() == self.sizes(), "torch.histogramdd: if weight tensor is provided it should "
        "have the same shape as the input tensor excluding its innermost dimension, but got input "
        "with shape ", Ints{self.numel(), 1}, " and weight with shape ", weight.sizes());
}
// Counts over their sum and the widths of the bins.
void make_density(const Tensor& hist, const Tensor& edges) {
  const Tensor h = empty(hist.sizes(), DType::Double), e = empty(edges.sizes(), DType::Double);
  copy_data(h, hist);
  copy_data(e, edges);
  double total = 0;
  for (int64_t i = 0; i < h.numel(); ++i) total += h.ptr<double>()[i];
  for (int64_t i = 0; i < h.numel(); ++i) {
    h.ptr<double>()[i] /= total * (e.ptr<double>()[i + 1] - e.ptr<double>()[i]);
  }
  copy_data(hist, h);
}

using Numbers = MaybeNumbers;

}  // namespace

const auto histogram_edges = define<Pair(Tensor, Tensor, Tensor, bool)>(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False)"
    " -> (Tensor hist, Tensor bin_edges)")
  .out({.dtype = OutDType::Exact,
        .text = "torch.histogram: input tensor and hist tensor should have the same "
                "dtype, but got input %w and hist %g"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, const Tensor& bins, const Tensor& weight, bool) {
    refuse_meta("histogram.bins_tensor", self);
    check(bins.dim() == 1, "torch.histogramdd: bins tensor should have one dimension, but got ",
          bins.dim(), " dimensions in the bins tensor for dimension 0");
    check(bins.dtype() == self.dtype(), "torch.histogramdd: input tensor and bins tensors should have "
          "the same dtype, but got input with dtype ", c_name_of(self.dtype()), " and bins for "
          "dimension 0 with dtype ", c_name_of(bins.dtype()));
    check_bins(bins.numel() - 1);
    check_weight(self, weight);
    r.result({bins.numel() - 1}, self.dtype(), self.device());
    r.result(bins.sizes(), bins.dtype(), self.device());
  })
  .kernel([](Tensor& hist, Tensor& edges, const Tensor& self, const Tensor& bins,
             const Tensor& weight, bool density) {
    refuse_type("histogramdd", self);
    copy_data(edges, bins);
    histogram_into(hist, self, edges, weight, kernels::Binning::Search);
    if (density) make_density(hist, edges);
  });

const auto histogram = define<Pair(Tensor, int64_t, Numbers, Tensor, bool)>(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None,"
    " bool density=False) -> (Tensor hist, Tensor bin_edges)")
  .doc(R"(
    How many elements fall into each bin, and the edges of the bins: a number of equal bins, or bins
    between the edges given.

    >>> torch.histogram(torch.tensor([0., 1., 1., 4.]), 2, range=(0., 4.)).hist
    tensor([3., 1.])
  )")
  .out({.dtype = OutDType::Exact,
        .text = "torch.histogram: input tensor and hist tensor should have the same "
                "dtype, but got input %w and hist %g"})
  .forms(Function | Method | Out)
  .infer([](Infer& r, const Tensor& self, int64_t bins, Numbers, const Tensor& weight, bool) {
    refuse_meta("histogram.bin_ct", self);
    check_bins(bins);
    check_weight(self, weight);
    r.result({bins}, self.dtype(), self.device());
    r.result({bins + 1}, self.dtype(), self.device());
  })
  .kernel([](Tensor& hist, Tensor& edges, const Tensor& self, int64_t bins, Numbers range,
             const Tensor& weight, bool density) {
    refuse_type("histogramdd", self);
    double low = 0, high = 0;
    if (range && range->size() == 2) {
      low = (*range)[0].to_double();
      high = (*range)[1].to_double();
    } else if (self.numel() > 0) {
      std::tie(low, high) = range_of(self);
    } else {
      high = 1;
    }
    check(low <= high, "torch.histogramdd: min should not exceed max, but got min ", low, " max ",
          high, " for dimension 0");
    if (low == high) {
      low -= 0.5;
      high += 0.5;
    }
    copy_data(edges, even_edges(low, high, bins, self.dtype()));
    histogram_into(hist, self, edges, weight, kernels::Binning::Corrected);
    if (density) make_density(hist, edges);
  });

}  // namespace rl::ops
