"""Memory shared with numpy, buffers and DLPack: values, lifetimes, PyTorch's errors."""

import array
import gc
import warnings

import pytest

import rushlight as torch

np = pytest.importorskip("numpy")

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
          "complex64", "complex128"]


def layouts(dtype):
    a = np.arange(24).reshape(2, 3, 4).astype(dtype)
    return [a, a.T, a[:, 1:], a[..., ::2], a[:0], a[0, 0, :1], np.array(3).astype(dtype),
            a[:, :1, None]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_round_trip(dtype):
    for values in layouts(dtype):
        tensor = torch.from_numpy(values)
        assert tensor.dtype == getattr(torch, dtype) and tuple(tensor.shape) == values.shape
        back = tensor.numpy()
        assert back.dtype == values.dtype and np.array_equal(back, values)
        if values.size:
            assert np.shares_memory(back, values) and np.shares_memory(tensor, values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_round_trip(dtype):
    for values in layouts(dtype):
        tensor = torch.from_numpy(values)
        for other in (torch.from_dlpack(tensor), torch.from_dlpack(tensor.__dlpack__()),
                      torch.from_dlpack(values)):
            assert other.dtype == tensor.dtype and np.array_equal(other.numpy(), values)
        assert np.array_equal(np.from_dlpack(tensor), values)


def test_writes_are_seen_on_both_sides():
    values = np.zeros(3)
    tensor = torch.from_numpy(values)
    tensor[0] = 1
    values[1] = 2
    assert tensor.tolist() == values.tolist() == [1, 2, 0]
    copied = np.array(tensor, copy=True)
    copied[:] = 9
    assert tensor.tolist() == [1, 2, 0]


def test_memory_outlives_its_maker():
    array_ = torch.arange(1000).numpy()
    tensor = torch.from_numpy(np.arange(1000))
    capsule_tensor = torch.from_dlpack(np.arange(1000))
    gc.collect()
    filler = [np.full(1000, 7) for _ in range(20)]
    assert array_[999] == tensor[999] == capsule_tensor[999] == 999 and filler


def test_array_protocol():
    tensor = torch.tensor([1.5, 2.5])
    assert np.asarray(tensor).dtype == np.float32
    assert np.asarray(tensor, dtype=np.int64).tolist() == [1, 2]
    assert (np.ones(2) + tensor.numpy()).tolist() == [2.5, 3.5]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: torch.ones(2, requires_grad=True), RuntimeError,
         "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."),
        (lambda: torch.ones(2, dtype=torch.complex64).conj(), RuntimeError,
         ("Can't call numpy() on Tensor that has conjugate bit set. "
          "Use tensor.resolve_conj().numpy() instead.")),
        (lambda: torch.ones(2, dtype=torch.bfloat16), TypeError,
         "Got unsupported ScalarType BFloat16"),
        (lambda: torch.ones(2, device="meta"), TypeError,
         ("can't convert meta device type tensor to numpy. "
          "Use Tensor.cpu() to copy the tensor to host memory first.")),
    ],
)
def test_numpy_refuses(make, error, message):
    with pytest.raises(error) as caught:
        make().numpy()
    assert str(caught.value) == message


def test_numpy_force():
    assert torch.ones(2, requires_grad=True).numpy(force=True).tolist() == [1, 1]
    z = torch.tensor([1 + 2j]).conj()
    assert z.numpy(force=True).tolist() == [1 - 2j]
    with torch.no_grad():
        assert torch.ones(1, requires_grad=True).numpy().tolist() == [1]


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (np.ones(4)[::-1], ValueError, "At least one stride in the given numpy array is negative"),
        (np.ones(4, ">f4"), ValueError, "given numpy array has byte order different from the nat"),
        (np.zeros(8, [("a", "i1"), ("b", "<f4")])["b"], ValueError, "given numpy array strides n"),
        (np.array([object()]), TypeError, "can't convert np.ndarray of type numpy.object_. The o"),
        (np.array(["a"]), TypeError, "can't convert np.ndarray of type numpy.str_. The only supp"),
        (np.zeros(2, "M8[s]"), TypeError, "can't convert np.ndarray of type numpy.datetime64."),
        ([1], TypeError, "expected np.ndarray (got list)"),
        (np.float32(1), TypeError, "expected np.ndarray (got numpy.float32)"),
    ],
)
def test_from_numpy_refuses(values, error, message):
    with pytest.raises(error) as caught:
        torch.from_numpy(values)
    assert str(caught.value).startswith(message)


def test_borrowed_memory_is_not_resized():
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        torch.from_numpy(np.ones(2)).resize_(5)


def test_read_only_memory_still_makes_a_tensor():
    values = np.ones(2)
    values.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.from_numpy(values).tolist() == [1, 1]
        assert torch.frombuffer(b"\1\0\0\0", dtype=torch.int32).tolist() == [1]


def test_frombuffer():
    buffer = bytearray(8)
    tensor = torch.frombuffer(buffer, dtype=torch.uint8)
    tensor[0] = 5
    assert buffer[0] == 5
    assert torch.frombuffer(array.array("d", [1, 2]), dtype=torch.float64).tolist() == [1, 2]
    assert torch.frombuffer(buffer, dtype=torch.float32, count=1, offset=4).tolist() == [0]
    assert torch.frombuffer(buffer, dtype=torch.float32, requires_grad=True).requires_grad


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"count": 3}, ("requested buffer length (3 * 4 bytes) after offset (0 bytes) must not be "
                        "greater than actual buffer length (8 bytes)")),
        ({"offset": 9}, ("offset (9 bytes) must be non-negative and no greater than buffer length "
                         "(8 bytes) minus 1")),
        ({"offset": 5}, ("buffer length (3 bytes) after offset (5 bytes) must be a multiple of "
                         "element size (4)")),
        ({"count": 0}, "both buffer length (8) and count (0) must not be 0"),
    ],
)
def test_frombuffer_refuses(kwargs, message):
    with pytest.raises(ValueError) as caught:
        torch.frombuffer(bytearray(8), dtype=torch.float32, **kwargs)
    assert str(caught.value) == message
    with pytest.raises(ValueError, match="object does not implement Python buffer protocol"):
        torch.frombuffer(3, dtype=torch.float32)


def test_dlpack_errors():
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        torch.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="Can't export tensors with the conjugate bit set"):
        torch.ones(2, dtype=torch.complex64).conj().__dlpack__()
    with pytest.raises(BufferError, match="Cannot pack tensors on meta"):
        torch.ones(2, device="meta").__dlpack__()
    capsule = torch.ones(2).__dlpack__()
    torch.from_dlpack(capsule)
    for spent in (capsule, 3):
        with pytest.raises(RuntimeError, match="from_dlpack received an invalid capsule"):
            torch.from_dlpack(spent)
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        torch.ones(2).__dlpack__(stream=1)
    assert torch.ones(2).__dlpack_device__() == (1, 0)


def test_dlpack_copy_and_bfloat16():
    tensor = torch.ones(2)
    copied = torch.from_dlpack(tensor.__dlpack__(copy=True))
    copied[0] = 5
    assert tensor.tolist() == [1, 1]
    assert torch.from_dlpack(torch.ones(2, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_asarray_shares_where_it_can():
    values, tensor = np.ones(2), torch.ones(2)
    assert torch.asarray(tensor) is tensor
    assert np.shares_memory(torch.asarray(values).numpy(), values)
    assert not np.shares_memory(torch.asarray(values, copy=True).numpy(), values)
    assert torch.asarray(values, dtype=torch.float32).dtype == torch.float32
    buffer = bytearray(8)
    torch.asarray(buffer)[0] = 1.0
    assert buffer != bytearray(8)
    assert torch.asarray(tensor.__dlpack__()).data_ptr() == tensor.data_ptr()
    assert torch.asarray(np.float32(2)).dtype == torch.float32
    assert torch.asarray([[1, 2]]).tolist() == [[1, 2]] and torch.asarray(5).item() == 5


def test_asarray_refuses_to_copy():
    with pytest.raises(ValueError, match=r"can't alias arbitrary sequence into a tensor\."):
        torch.asarray([1], copy=False)
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'Double' into dtype 'Flo"):
        torch.asarray(np.ones(2), dtype=torch.float32, copy=False)
    with pytest.raises(ValueError, match=r"can't alias tensor from device 'cpu' to 'meta'\."):
        torch.asarray(np.ones(2), device="meta", copy=False)
    with pytest.raises(RuntimeError, match="can't alias NumPy scalars"):
        torch.asarray(np.float32(1), copy=False)


def test_asarray_gradients():
    leaf = torch.ones(2, requires_grad=True)
    made = leaf * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.asarray(made) is made
    assert torch.asarray(made, copy=True, requires_grad=True).grad_fn is not None
    cut = torch.asarray(made, requires_grad=False)
    assert not cut.requires_grad and cut.data_ptr() == made.data_ptr()
    assert torch.asarray([1.0], requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
        torch.asarray(5, requires_grad=True)


@pytest.mark.parametrize("lend", ["numpy", "__array__", "dlpack", "buffer"])
def test_memory_that_was_lent_does_not_move(lend):
    """resize_ and set_ that would need more memory raise while an array or a buffer has it."""
    x = torch.arange(3.0)
    lent = {
        "numpy": lambda: x.numpy(),
        "__array__": lambda: x.__array__(),
        "dlpack": lambda: x.__dlpack__(),
        "buffer": lambda: memoryview(x.untyped_storage()),
    }[lend]()
    assert not x.untyped_storage().resizable()
    refused = pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable")
    with refused:
        x.resize_(10)
    with refused:
        x.untyped_storage().resize_(100)
    with refused:
        torch.empty(0).set_(x.untyped_storage(), 0, (10,), (1,))
    assert x.tolist() == [0, 1, 2]
    assert x.resize_(2).tolist() == [0, 1]
    del lent
