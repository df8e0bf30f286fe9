"""Recurrent layers and cells over the native sequence ops."""

from __future__ import annotations

import math
import numbers

import rushlight as torch

from .. import init
from ..parameter import Parameter
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor, permutation, dim=1):
    """Deprecated: ``tensor.index_select(dim, permutation)``."""
    import warnings

    warnings.warn(
        "apply_permutation is deprecated, please use "
        "tensor.index_select(dim, permutation) instead",
        FutureWarning,
        stacklevel=2,
    )
    return tensor.index_select(dim, permutation)


def _check_options(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj):
    if (
        not isinstance(dropout, numbers.Number)
        or not 0 <= dropout <= 1
        or isinstance(dropout, bool)
    ):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an "
            "element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        import warnings

        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=3,
        )
    for name, value, kind in (
        ("bias", bias, bool),
        ("batch_first", batch_first, bool),
        ("input_size", input_size, int),
        ("hidden_size", hidden_size, int),
    ):
        if not isinstance(value, kind):
            raise TypeError(
                f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
            )
        if kind is int and value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if mode not in _GATES:
        raise ValueError("Unrecognized RNN mode: " + mode)


class RNNBase(Module):
    """What RNN, LSTM and GRU share: weights, checks and their order."""

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout) if isinstance(dropout, numbers.Number) else dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        _check_options(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size
        )
        self._flat_weights_names = []
        self._all_weights = []
        directions = 2 if bidirectional else 1
        for layer in range(num_layers):
            for direction in range(directions):
                self._add_layer(layer, direction, directions, device, dtype)
        self.reset_parameters()

    def _add_layer(self, layer, direction, directions, device, dtype):
        gates = _GATES[self.mode] * self.hidden_size
        out = self.proj_size if self.proj_size > 0 else self.hidden_size
        inputs = self.input_size if layer == 0 else out * directions
        shapes = {"weight_ih": (gates, inputs), "weight_hh": (gates, out)}
        if self.bias:
            shapes["bias_ih"] = shapes["bias_hh"] = (gates,)
        if self.proj_size > 0:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        suffix = f"_l{layer}" + ("_reverse" if direction == 1 else "")
        for name, shape in shapes.items():
            setattr(
                self,
                name + suffix,
                Parameter(torch.empty(shape, device=device, dtype=dtype)),
            )
        names = [name + suffix for name in shapes]
        self._flat_weights_names.extend(names)
        self._all_weights.append(names)

    @property
    def _flat_weights(self):
        # Read from the registry each time, so that what replaces a weight is what is used.
        held = [getattr(self, name, None) for name in self._flat_weights_names]
        given = self.__dict__.get("_given_weights")
        if given is None:
            return held
        return [
            weight if now is before else now
            for weight, before, now in zip(*given, held, strict=False)
        ]

    @_flat_weights.setter
    def _flat_weights(self, weights):
        # Each serves in place of the registered one until that is set anew or all are converted.
        self.__dict__.pop("_given_weights", None)
        self.__dict__["_given_weights"] = (list(weights), self._flat_weights)

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self.__dict__.pop("_given_weights", None)
        return self

    def _weights_to_use(self):
        """The weights for one call. Those that a parametrization computes are asked for as often
        as PyTorch asks, twice and the first one four times: each time may be a power iteration."""
        names = self._flat_weights_names
        if "parametrizations" in self._modules:
            computed = [name for name in names if name not in self._parameters]
            for name in computed[:1] * 2 + computed:
                getattr(self, name)
        return self._flat_weights

    def flatten_parameters(self):
        """Accepted for programs that call it; the weights need no common block here."""

    def reset_parameters(self):
        """Draw all weights uniformly from +-1 / sqrt(hidden_size)."""
        stdv = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -stdv, stdv)

    @property
    def all_weights(self):
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def check_input(self, input, batch_sizes):
        """Raise unless ``input`` has the rank, width and dtype the weights ask for."""
        weight = self._parameters.get(self._flat_weights_names[0])
        if weight is None:  # computed from another
            weight = next(self.parameters())
        if weight.dtype != input.dtype and not torch.is_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: "
                f"model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input, batch_sizes):
        """(layers * directions, batch, features) of the hidden state."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        directions = 2 if self.bidirectional else 1
        features = self.proj_size if self.proj_size > 0 else self.hidden_size
        return (self.num_layers * directions, batch, features)

    def check_hidden_size(
        self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"
    ):
        """Raise unless ``hx`` has the size expected."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes):
        """Check input and hidden state."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """Reorder the batch of the hidden state."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    def __setstate__(self, state):
        state = dict(state)
        state.pop("_flat_weights", None)
        state.pop("_flat_weight_refs", None)
        state.setdefault("proj_size", 0)
        super().__setstate__(state)

    def _zeros(self, input, batch, features):
        directions = 2 if self.bidirectional else 1
        return torch.zeros(
            self.num_layers * directions, batch, features, dtype=input.dtype, device=input.device
        )

    def _unpack(self, input):
        """(data, batch_sizes, sorted_indices, unsorted_indices, batch, packed) of an input."""
        from ..utils.rnn import PackedSequence

        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            return data, batch_sizes, sorted_indices, unsorted_indices, int(batch_sizes[0]), True
        return input, None, None, None, None, False

    def _wrap(self, output, packed, batch_sizes, sorted_indices, unsorted_indices):
        if not packed:
            return output
        from ..utils.rnn import PackedSequence

        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)

    def _options(self):
        return self.bias, self.num_layers, self.dropout, self.training, self.bidirectional

    def _forward_single(self, op, input, hx, name):
        """Forward of the layers with one hidden state: RNN and GRU."""
        input, batch_sizes, order, back, batch, packed = self._unpack(input)
        if packed:
            if hx is None:
                hx = self._zeros(input, batch, self.hidden_size)
            else:
                hx = self.permute_hidden(hx, order)
        else:
            if input.dim() not in (2, 3):
                tail = "D tensor instead" if name == "RNN" else "D instead"
                raise ValueError(
                    f"{name}: Expected input to be 2D or 3D, got {input.dim()}{tail}"
                )
            batched = input.dim() == 3
            if not batched:
                input = input.unsqueeze(0 if self.batch_first else 1)
            if hx is not None:
                if batched and hx.dim() != 3:
                    raise RuntimeError(
                        f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor"
                    )
                if not batched:
                    if hx.dim() != 2:
                        raise RuntimeError(
                            "For unbatched 2-D input, hx should also be 2-D but got "
                            f"{hx.dim()}-D tensor"
                        )
                    hx = hx.unsqueeze(1)
            else:
                batch = input.size(0) if self.batch_first else input.size(1)
                hx = self._zeros(input, batch, self.hidden_size)
        self.check_forward_args(input, hx, batch_sizes)
        weights = self._weights_to_use()
        if packed:
            output, hidden = op(input, batch_sizes, hx, weights, *self._options())
            output = self._wrap(output, packed, batch_sizes, order, back)
            return output, self.permute_hidden(hidden, back)
        output, hidden = op(input, hx, weights, *self._options(), self.batch_first)
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            hidden = hidden.squeeze(1)
        return output, hidden


class RNN(RNNBase):
    """Elman network: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of that.

    input (L, N, input_size), with ``batch_first`` (N, L, input_size), or packed.
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__("RNN_" + self.nonlinearity.upper(), *args, **kwargs)

    def forward(self, input, hx=None):
        """Return the outputs of the last layer and the last hidden state."""
        op = torch.rnn_tanh if self.mode == "RNN_TANH" else torch.rnn_relu
        return self._forward_single(op, input, hx, "RNN")


class GRU(RNNBase):
    """Gated recurrent unit (Cho et al. 2014).

    input (L, N, input_size), with ``batch_first`` (N, L, input_size), or packed.
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input, hx=None):
        """Return the outputs of the last layer and the last hidden state."""
        return self._forward_single(torch.gru, input, hx, "GRU")


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), optionally projected.

    input (L, N, input_size), with ``batch_first`` (N, L, input_size), or packed.
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        """(layers * directions, batch, hidden_size) of the cell state."""
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return (layers, batch, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes):
        """Check input, hidden state and cell state."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0],
            self.get_expected_hidden_size(input, batch_sizes),
            "Expected hidden[0] size {}, got {}",
        )
        self.check_hidden_size(
            hidden[1],
            self.get_expected_cell_size(input, batch_sizes),
            "Expected hidden[1] size {}, got {}",
        )

    def permute_hidden(self, hx, permutation):
        """Reorder the batch of hidden and cell state."""
        if permutation is None:
            return hx
        return tuple(h.index_select(1, permutation) for h in hx)

    def _initial(self, input, batch):
        features = self.proj_size if self.proj_size > 0 else self.hidden_size
        return (
            self._zeros(input, batch, features),
            self._zeros(input, batch, self.hidden_size),
        )

    def forward(self, input, hx=None):
        """Return the outputs of the last layer and (last hidden state, last cell state)."""
        input, batch_sizes, order, back, batch, packed = self._unpack(input)
        batched = True
        if packed:
            hx = self._initial(input, batch) if hx is None else self.permute_hidden(hx, order)
        else:
            if input.dim() not in (2, 3):
                raise ValueError(
                    f"LSTM: Expected input to be 2D or 3D, got {input.dim()}D instead"
                )
            batched = input.dim() == 3
            if not batched:
                input = input.unsqueeze(0 if self.batch_first else 1)
            if hx is None:
                batch = input.size(0) if self.batch_first else input.size(1)
                hx = self._initial(input, batch)
            else:
                hx = self._checked_state(hx, batched)
        self.check_forward_args(input, hx, batch_sizes)
        weights = self._weights_to_use()
        if packed:
            result = torch.lstm(input, batch_sizes, hx, weights, *self._options())
        else:
            result = torch.lstm(input, hx, weights, *self._options(), self.batch_first)
        output, hidden = result[0], tuple(result[1:])
        if packed:
            output = self._wrap(output, packed, batch_sizes, order, back)
            return output, self.permute_hidden(hidden, back)
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            hidden = tuple(h.squeeze(1) for h in hidden)
        return output, hidden

    @staticmethod
    def _checked_state(hx, batched):
        rank, kind = (3, "batched 3-D") if batched else (2, "unbatched 2-D")
        if hx[0].dim() != rank or hx[1].dim() != rank:
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {rank}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
        return hx if batched else tuple(h.unsqueeze(1) for h in hx)


class RNNCellBase(Module):
    """What the cells share: their weights and repr."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias

        def parameter(*shape):
            return Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.weight_ih = parameter(num_chunks * hidden_size, input_size)
        self.weight_hh = parameter(num_chunks * hidden_size, hidden_size)
        if bias:
            self.bias_ih = parameter(num_chunks * hidden_size)
            self.bias_hh = parameter(num_chunks * hidden_size)
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def reset_parameters(self):
        """Draw all weights uniformly from +-1 / sqrt(hidden_size)."""
        stdv = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -stdv, stdv)

    def _weights(self):
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _step(self, op, input, hx):
        """One step of a cell with one hidden state; the batch may be left out."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(
                f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead"
            )
        if hx is not None and hx.dim() not in (1, 2):
            raise ValueError(
                f"{name}: Expected hidden to be 1D or 2D, got {hx.dim()}D instead"
            )
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = torch.zeros(
                input.size(0), self.hidden_size, dtype=input.dtype, device=input.device
            )
        elif not batched:
            hx = hx.unsqueeze(0)
        result = op(input, hx, *self._weights())
        return result if batched else result.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of an Elman network: input (N, input_size), hidden (N, hidden_size)."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None
    ):
        super().__init__(
            input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype
        )
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        """Return the next hidden state."""
        if self.nonlinearity == "tanh":
            op = torch.rnn_tanh_cell
        elif self.nonlinearity == "relu":
            op = torch.rnn_relu_cell
        else:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(op, input, hx)


class GRUCell(RNNCellBase):
    """One step of a GRU: input (N, input_size), hidden (N, hidden_size)."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(
            input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype
        )

    def forward(self, input, hx=None):
        """Return the next hidden state."""
        return self._step(torch.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of an LSTM: input (N, input_size), (hidden, cell) each (N, hidden_size)."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(
            input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype
        )

    def forward(self, input, hx=None):
        """Return the next hidden and cell state."""
        if input.dim() not in (1, 2):
            raise ValueError(
                f"LSTMCell: Expected input to be 1D or 2D, got {input.dim()}D instead"
            )
        if hx is not None:
            for idx, value in enumerate(hx):
                if value.dim() not in (1, 2):
                    raise ValueError(
                        f"LSTMCell: Expected hx[{idx}] to be 1D or 2D, got {value.dim()}D instead"
                    )
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = torch.zeros(
                input.size(0), self.hidden_size, dtype=input.dtype, device=input.device
            )
            hx = (zeros, zeros)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        hidden, cell = torch.lstm_cell(input, hx, *self._weights())
        if not batched:
            return hidden.squeeze(0), cell.squeeze(0)
        return hidden, cell
