"""What the inputs and outputs of an exported graph stand for."""

from __future__ import annotations

import dataclasses
import enum

__all__ = [
    "ConstantArgument", "CustomObjArgument", "ExportBackwardSignature", "ExportGraphSignature",
    "InputKind", "InputSpec", "OutputKind", "OutputSpec", "SymBoolArgument", "SymFloatArgument",
    "SymIntArgument", "TensorArgument",
]  # fmt: skip


@dataclasses.dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclasses.dataclass
class SymIntArgument:
    """A traced int."""

    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A traced float."""

    name: str


@dataclasses.dataclass
class SymBoolArgument:
    """A traced bool."""

    name: str


@dataclasses.dataclass
class CustomObjArgument:
    """An object of a class that PyTorch's C++ knows."""

    name: str
    class_fqn: str
    fake_val: object = None


@dataclasses.dataclass
class ConstantArgument:
    """A number, a text or None: the same in each call."""

    name: str
    value: int | float | bool | str | None


class InputKind(enum.Enum):
    """What an input is."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """What an output is."""

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclasses.dataclass
class InputSpec:
    """One input: its kind, its node, and the name it has in the module."""

    kind: InputKind
    arg: object
    target: str | None
    persistent: bool | None = None

    def __str__(self):
        target = "" if self.target is None else f" target='{self.target}'"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclasses.dataclass
class OutputSpec:
    """One output: its kind, its node, and what it is written to."""

    kind: OutputKind
    arg: object
    target: str | None

    def __str__(self):
        target = "" if self.target is None else f" target='{self.target}'"
        return f"{self.arg.name}: {self.kind.name}{target}"


@dataclasses.dataclass
class ExportBackwardSignature:
    """Outputs that are gradients."""

    gradients_to_parameters: dict
    gradients_to_user_inputs: dict
    loss_output: str


def _plain(arg):
    return arg.value if isinstance(arg, ConstantArgument) else arg.name


@dataclasses.dataclass
class ExportGraphSignature:
    """All inputs and outputs of a graph, in order."""

    input_specs: list
    output_specs: list

    def _inputs(self, kind: InputKind) -> dict:
        return {s.arg.name: s.target for s in self.input_specs if s.kind is kind}

    def _outputs(self, kind: OutputKind) -> dict:
        return {s.arg.name: s.target for s in self.output_specs if s.kind is kind}

    @property
    def parameters(self):
        """Names of the parameters."""
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self):
        """Names of the buffers."""
        return tuple(self.inputs_to_buffers.values())

    @property
    def non_persistent_buffers(self):
        """Names of the buffers that a state does not have."""
        return tuple(
            s.target for s in self.input_specs
            if s.kind is InputKind.BUFFER and s.persistent is False
        )  # fmt: skip

    @property
    def lifted_tensor_constants(self):
        """Names of the constants."""
        return tuple(self.inputs_to_lifted_tensor_constants.values())

    @property
    def lifted_custom_objs(self):
        """None."""
        return ()

    @property
    def user_inputs(self):
        """Nodes of the arguments, or their values where these are constants."""
        return tuple(_plain(s.arg) for s in self.input_specs if s.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self):
        """Nodes of the results, or their values where these are constants."""
        kinds = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        return tuple(_plain(s.arg) for s in self.output_specs if s.kind in kinds)

    @property
    def inputs_to_parameters(self):
        """Per node, the parameter."""
        return self._inputs(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self):
        """Per node, the buffer."""
        return self._inputs(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self):
        """Per node, the constant."""
        return self._inputs(InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_custom_objs(self):
        """None."""
        return {}

    @property
    def buffers_to_mutate(self):
        """Per output, the buffer it is written to."""
        return self._outputs(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self):
        """Per output, the parameter it is written to."""
        return self._outputs(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self):
        """Per output, the argument it is written to."""
        return self._outputs(OutputKind.USER_INPUT_MUTATION)

    @property
    def backward_signature(self):
        """None: gradients are no outputs."""
        return None

    @property
    def assertion_dep_token(self):
        """None."""
        return None

    @property
    def input_tokens(self):
        """None."""
        return ()

    output_tokens = input_tokens

    def __str__(self):
        inputs = "\n".join(str(s) for s in self.input_specs)
        outputs = "\n".join(str(s) for s in self.output_specs)
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"
