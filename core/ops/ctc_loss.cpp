// The CTC loss: alignments of unsegmented sequences with their labels.
#include "kernels/ctc.h"

#include "ops/dense.h"
#include "ops/random.h"

namespace rl::ops {
namespace {

using Two = std::pair<Tensor, Tensor>;

constexpr const char* kCaller = " (while checking arguments for ctc_loss_allocate_outputs)";

int64_t longest(Ints lengths) {
  int64_t most = 0;
  for (int64_t n : lengths) most = std::max(most, n);
  return most;
}

void check_lengths(const Tensor& log_probs, Ints input_lengths, Ints target_lengths) {
  const int64_t steps = log_probs->sizes[0];
  for (int64_t n : target_lengths)
    check(n >= 0, "Expected target_lengths to have value at least 0, but got value ", n, kCaller);
  for (int64_t n : input_lengths) {
    check(n >= 0, "Expected input_lengths to have value at least 0, but got value ", n, kCaller);
    check(n <= steps, "Expected input_lengths to have value at most ", steps, ", but got value ", n,
          kCaller);
  }
}

void check_targets(const Tensor& targets, Ints lengths) {
  const int64_t first = targets->sizes[0], batch = int64_t(lengths.size());
  int64_t total = 0;
  for (int64_t n : lengths)
    check(!__builtin_add_overflow(total, n, &total), "target_lengths are too large");
  const int64_t wanted = targets.dim() == 1 ? total : batch;
  check(first == wanted, "Expected tensor to have size ", wanted, " at dimension 0, but got size ",
        first, " for argument #2 'targets'", kCaller);
  check(targets.dim() == 1 || targets->sizes[1] >= longest(lengths),
        "Expected tensor to have size at least ", longest(lengths),
        " at dimension 1, but got size ", targets->sizes[targets.dim() - 1],
        " for argument #2 'targets'", kCaller);
}

void check_ctc(const Tensor& log_probs, const Tensor& targets, Ints input_lengths,
               Ints target_lengths, int64_t blank) {
  check(log_probs.numel() > 0, "log_probs tensor must not be empty");
  const DType t = log_probs.dtype();
  if (t != DType::Float && t != DType::Double && !log_probs.is_meta()) not_for("ctc_loss_cpu", t);
  check(targets.dtype() == DType::Int64 || targets.dtype() == DType::Int32,
        "Expected tensor for argument #2 'targets' to have scalar type Long; but got torch.",
        type_name_of(targets.dtype()), "Tensor instead", kCaller);
  check(log_probs.dim() == 3, "Expected 3-dimensional tensor, but got ", log_probs.dim(),
        "-dimensional tensor for argument #1 'log_probs'", kCaller);
  check(targets.dim() == 1 || targets.dim() == 2, "Expected 1 to 2 dimensions, but got ",
        targets.dim(), "-dimensional tensor for argument #2 'targets'", kCaller);
  const int64_t batch = log_probs->sizes[1];
  check(blank >= 0 && blank < log_probs->sizes[2], "blank must be in label range");
  check(int64_t(input_lengths.size()) == batch, "input_lengths must be of size batch_size");
  check(int64_t(target_lengths.size()) == batch, "target_lengths must be of size batch_size");
  check_lengths(log_probs, input_lengths, target_lengths);
  check_targets(targets, target_lengths);
}

// A call of the kernels, with dense copies of what they read.
struct CtcCall {
  Tensor probs, index;
  std::vector<int64_t> starts;
  kernels::Ctc ctc{};

  CtcCall(const Tensor& log_probs, const Tensor& targets, Ints input_lengths, Ints target_lengths,
          int64_t blank) : probs(dense(log_probs)) {
    index = empty(targets.sizes(), DType::Int64);
    copy_data(index, targets);
    int64_t at = 0;
    for (size_t b = 0; b < target_lengths.size(); ++b) {
      starts.push_back(targets.dim() == 1 ? at : int64_t(b) * targets->sizes[1]);
      at += target_lengths[b];
    }
    ctc.dtype = probs.dtype();
    ctc.steps = probs->sizes[0];
    ctc.batch = probs->sizes[1];
    ctc.labels = probs->sizes[2];
    ctc.input_lengths = input_lengths.data();
    ctc.target_lengths = target_lengths.data();
    ctc.targets = index.ptr<int64_t>();
    ctc.starts = starts.data();
    ctc.target_stride = 1;
    ctc.blank = blank;
    ctc.width = 2 * longest(target_lengths) + 1;
    int64_t label = 0;
    check(!first_bad_label(ctc, &label), ErrorKind::Index, "Target ", label, " is out of bounds.");
  }
};

}  // namespace

using CtcBackward = Tensor(Tensor, Tensor, Tensor, Ints, Ints, Tensor, Tensor, int64_t, bool);
const auto ctc_loss_backward = define<CtcBackward>(
    "_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, "
    "int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, "
    "bool zero_infinity=False) -> Tensor")
  .doc("The gradient of the CTC loss with respect to the log-probabilities.")
  .forms(Hidden)
  .no_derivative("derivative for aten::_ctc_loss_backward is not implemented")
  .infer([](Infer& r, const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
            Ints input_lengths, Ints target_lengths, const Tensor& nll, const Tensor& log_alpha,
            int64_t blank, bool) {
    check_ctc(log_probs, targets, input_lengths, target_lengths, blank);
    const int64_t batch = log_probs->sizes[1], width = 2 * longest(target_lengths) + 1;
    check(grad.dtype() == log_probs.dtype() && nll.dtype() == log_probs.dtype() &&
          log_alpha.dtype() == log_probs.dtype(), "expected one dtype");
    check(grad.numel() == batch && nll.numel() == batch &&
          log_alpha.numel() == batch * log_probs->sizes[0] * width,
          "expected the results of _ctc_loss for these arguments");
    r.result(log_probs.sizes(), log_probs.dtype(), log_probs.device());
  })
  .kernel([](Tensor& result, const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
             Ints input_lengths, Ints target_lengths, const Tensor& nll, const Tensor& log_alpha,
             int64_t blank, bool zero_infinity) {
    const CtcCall call(log_probs, targets, input_lengths, target_lengths, blank);
    const Tensor g = dense(grad), loss = dense(nll), alpha = dense(log_alpha);
    kernels::ctc_loss_backward(call.ctc, g.data(), 1, call.probs.data(), loss.data(), alpha.data(),
                               zero_infinity, result.data());
  });

const auto ctc_loss_forward = define<Two(Tensor, Tensor, Ints, Ints, int64_t, bool)>(
    "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
    "int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)")
  .doc("The CTC loss of each sequence (Graves et al. 2006, section 4), and the logarithms of the "
       "forward variables.")
  .node("CtcLossBackward0")
  .nondiff("result1")
  .infer([](Infer& r, const Tensor& log_probs, const Tensor& targets, Ints input_lengths,
            Ints target_lengths, int64_t blank, bool) {
    check_ctc(log_probs, targets, input_lengths, target_lengths, blank);
    const int64_t steps = log_probs->sizes[0], batch = log_probs->sizes[1];
    r.result({batch}, log_probs.dtype(), log_probs.device());
    r.result({batch, steps, 2 * longest(target_lengths) + 1}, log_probs.dtype(),
             log_probs.device());
  })
  .kernel([](Tensor& loss, Tensor& log_alpha, const Tensor& log_probs, const Tensor& targets,
             Ints input_lengths, Ints target_lengths, int64_t blank, bool) {
    const CtcCall call(log_probs, targets, input_lengths, target_lengths, blank);
    kernels::ctc_loss(call.ctc, call.probs.data(), loss.data(), log_alpha.data());
  })
  .grad("log_probs", "grad.result, log_probs, targets, input_lengths, target_lengths, result, "
        "result1, blank, zero_infinity",
        [](const Tensor& grad, const Tensor& log_probs, const Tensor& targets, Ints input_lengths,
           Ints target_lengths, const Tensor& nll, const Tensor& log_alpha, int64_t blank,
           bool zero_infinity) {
    return ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, nll,
                             log_alpha, blank, zero_infinity);
  });

namespace {

// Lengths in meta tensors cannot be read: PyTorch's words for it.
void refuse_meta_lengths(const Tensor& log_probs) {
  check(!log_probs.is_meta(), ErrorKind::NotImplemented, "aten::_ctc_loss.Tensor: attempted to run "
        "this operator with Meta tensors, but there was no fake impl or Meta kernel registered. "
        "You may have run into this message while using an operator with PT2 compilation APIs "
        "(torch.compile/torch.export); in order to use this operator with those APIs you'll need "
        "to add a fake impl. Please see the following for next steps:  "
        "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html");
}

std::vector<int64_t> lengths_of(const Tensor& t, const char* name) {
  check(is_integral(t.dtype()), name, " must be integral");
  check(!t.is_meta(), "Expected all tensors to be on the same device, but found at least two "
        "devices, cpu and meta!");
  const Tensor wide = contiguous(to_dtype(t, DType::Int64), Format());
  const int64_t* const from = wide.ptr<int64_t>();
  return std::vector<int64_t>(from, from + wide.numel());
}

}  // namespace

const auto ctc_loss_forward_tensor = define<Two(Tensor, Tensor, Tensor, Tensor, int64_t, bool)>(
    "_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, "
    "Tensor target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)")
  .composite([](const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, bool zero_infinity) {
    refuse_meta_lengths(log_probs);
    return ctc_loss_forward(log_probs, targets, lengths_of(input_lengths, "input_lengths"),
                            lengths_of(target_lengths, "target_lengths"), blank, zero_infinity);
  });

using CtcLoss = Tensor(Tensor, Tensor, Ints, Ints, int64_t, int64_t, bool);
const auto ctc_loss = define<CtcLoss>(
    "ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
    "int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor")
  .doc(R"(
    Minus the log-probability of the targets over all alignments (Graves et al. 2006).

    `log_probs` is (T, N, C) or (T, C); `targets` (N, S), or all targets one after another. The mean
    divides each loss by its target's length first.
  )")
  .autocast(Autocast::Float)
  .composite([](const Tensor& log_probs, const Tensor& targets, Ints input_lengths,
                Ints target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
    const bool batched = log_probs.dim() == 3;
    const Tensor scores = batched ? log_probs : Tensor(unsqueeze(log_probs, 1));
    Tensor loss = std::get<0>(ctc_loss_forward(scores, to_dtype(targets, DType::Int64),
                                               input_lengths, target_lengths, blank,
                                               zero_infinity));
    if (zero_infinity) {
      const double infinity = std::numeric_limits<double>::infinity();
      loss = where(eq(loss, full({}, infinity, loss.dtype(), loss.device())),
                   zeros({}, loss.dtype(), loss.device()), loss);
    }
    if (reduction == 2) return Tensor(sum(loss));
    if (reduction != 1) return batched ? loss : Tensor(squeeze_dim(loss, 0));
    if (loss.is_meta()) return Tensor(mean(loss));
    const Tensor lengths = empty(Ints{int64_t(target_lengths.size())}, DType::Int64);
    for (size_t b = 0; b < target_lengths.size(); ++b)
      lengths.ptr<int64_t>()[b] = std::max<int64_t>(1, target_lengths[b]);
    return Tensor(mean(loss / to_dtype(lengths, loss.dtype())));
  });

const auto ctc_loss_tensor =
    define<Tensor(Tensor, Tensor, Tensor, Tensor, int64_t, int64_t, bool)>(
    "ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, "
    "Tensor target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor")
  .autocast(Autocast::Float)
  .composite([](const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, int64_t reduction,
                bool zero_infinity) {
    refuse_meta_lengths(log_probs);
    return ctc_loss(log_probs, targets, lengths_of(input_lengths, "input_lengths"),
                    lengths_of(target_lengths, "target_lengths"), blank, reduction, zero_infinity);
  });

}  // namespace rl::ops
