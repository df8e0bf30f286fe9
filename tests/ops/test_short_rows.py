"""Many short rows, which are computed and copied in blocks, against numpy."""

import numpy as np
import pytest

import rushlight as torch

RANDOM = np.random.default_rng(0)
ROWS = (1, 5, 170, 171, 5000)


def arrays(rows, n, kind="float32"):
    return [(RANDOM.normal(size=size) * 9).astype(kind) for size in ((rows, n), n)]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 31, 32, 33])
@pytest.mark.parametrize("rows", ROWS)
def test_broadcasts_along_and_across(rows, n):
    x, row = arrays(rows, n)
    column = x[:, :1].copy()
    a, r, c = (torch.from_numpy(v.copy()) for v in (x, row, column))
    assert (torch.add(a, r).numpy() == x + row).all()
    assert (torch.mul(c, a).numpy() == column * x).all()
    assert (torch.where(a > r, a, c).numpy() == np.where(x > row, x, column)).all()
    assert ((a == r).numpy() == (x == row)).all()
    doubles = row.astype("float64")
    assert ((a + torch.from_numpy(doubles)).numpy() == x + doubles).all()
    assert ((a.int() * c.long()).numpy() == x.astype("int32") * column.astype("int64")).all()
    assert (a.t().contiguous().t() - c).numpy().tolist() == (x - column).tolist()


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", ["uint8", "int16", "float32", "float64", "complex128"])
def test_parts_of_rows(rows, kind):
    x, row = arrays(rows, 7, kind)
    a, r = torch.from_numpy(x.copy()), torch.from_numpy(row.copy())
    assert ((a[:, 1:4] + r[2:5]).numpy() == x[:, 1:4] + row[2:5]).all()
    assert (a[:, ::3].clone().numpy() == x[:, ::3]).all()
    assert (a.flip(1).numpy() == x[:, ::-1]).all()
    a[:, 2:5] += r[:3]
    x[:, 2:5] += row[:3]
    a[:, 5] = 3
    x[:, 5] = 3
    a[:, :2] = a[:, 3:5]
    x[:, :2] = x[:, 3:5]
    assert (a.numpy() == x).all()
    assert (a.repeat_interleave(3, 1).numpy() == np.repeat(x, 3, 1)).all()
    assert (a.unsqueeze(2).expand(-1, -1, 2).contiguous().numpy() == x[:, :, None]).all()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 63, 64, 65, 130])
@pytest.mark.parametrize("rows", (1, 5, 63, 64, 65, 1000))
@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
def test_folds_along_and_across(rows, n, kind):
    x, _ = arrays(rows, n, kind)
    if kind != "int64":
        x[RANDOM.integers(rows)] = np.nan
    a, wide = torch.from_numpy(x.copy()), x.astype("float64")
    close = {"rtol": 1e-4, "atol": 1e-3}
    for dim in (0, 1):
        np.testing.assert_allclose(a.sum(dim).numpy(), wide.sum(dim), **close)
        assert (a.argmax(dim).numpy() == x.argmax(dim)).all()  # numpy's first NaN wins as well
        assert (a.argmin(dim).numpy() == x.argmin(dim)).all()
        values, places = a.max(dim)
        np.testing.assert_array_equal(values.numpy(), x.max(dim))
        assert (places.numpy() == x.argmax(dim)).all()
        np.testing.assert_array_equal(a.amin(dim).numpy(), x.min(dim))
        assert (a.count_nonzero(dim).numpy() == (x != 0).sum(dim)).all()
        if kind == "int64":
            continue
        np.testing.assert_allclose(a.mean(dim).numpy(), wide.mean(dim), **close)
        np.testing.assert_allclose(a.norm(dim=dim).numpy(), np.linalg.norm(wide, axis=dim), **close)
        np.testing.assert_allclose(a.norm(1, dim=dim).numpy(), abs(wide).sum(dim), **close)
        shifted = wide - wide.max(dim, keepdims=True)
        total = np.exp(shifted).sum(dim, keepdims=True)
        np.testing.assert_allclose(a.softmax(dim).numpy(), np.exp(shifted) / total, **close)
        np.testing.assert_allclose(a.log_softmax(dim).numpy(), shifted - np.log(total), **close)
        np.testing.assert_allclose(a.logsumexp(dim, keepdim=True).numpy(),
                                   np.log(total) + wide.max(dim, keepdims=True), **close)


def test_infinite_rows():
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([[-inf, -inf], [inf, 0.0], [-inf, 2.0], [nan, 1.0]])
    np.testing.assert_array_equal(x.logsumexp(1).numpy(), [-inf, inf, 2, nan])
    np.testing.assert_array_equal(x.softmax(1).numpy(), [[nan] * 2, [nan] * 2, [0, 1], [nan] * 2])


@pytest.mark.parametrize("widths", [(1, 3), (3, 2, 5), (10, 10), (16, 7), (0, 4), (33, 1)])
@pytest.mark.parametrize("kind", ["uint8", "int16", "float32", "complex128"])
def test_joined_along_rows(widths, kind):
    for rows in (0, 1, 2000):
        parts = [RANDOM.normal(size=(rows, w)).astype(kind) for w in widths]
        joined = torch.cat([torch.from_numpy(p.copy()) for p in parts], 1)
        assert (joined.numpy() == np.concatenate(parts, 1)).all()


@pytest.mark.parametrize("kind", [torch.bool, torch.int16, torch.bfloat16, torch.float32,
                                  torch.complex64])
def test_one_number_at_many_places(kind):
    for value in (2, 2.5, torch.tensor(3, dtype=torch.int64), torch.tensor([[4.5]])):
        x = torch.zeros(40, 70, dtype=kind)
        x[1:, 3:60] = value
        expected = torch.as_tensor(value).to(kind).reshape(1, 1)
        assert (x[1:, 3:60] == expected).all()
        assert x.count_nonzero() == 39 * 57 and not x[0].any() and not x[:, 60:].any()
        x[:] = value
        assert (x == expected).all()


def test_dimensions_in_between():
    x = RANDOM.normal(size=(40, 3, 5, 2)).astype("float32")
    a = torch.from_numpy(x.copy())
    for order in ((0, 2, 1, 3), (3, 2, 1, 0), (1, 0, 3, 2)):
        y, b = x.transpose(order), a.permute(order)
        assert (b.contiguous().numpy() == y).all()
        assert ((b + b.contiguous()).numpy() == y + y).all()
        assert ((b * b[..., :1]).numpy() == y * y[..., :1]).all()


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 33, 3000])
def test_complex_numbers_side_by_side(kind, n):
    x, y = ((RANDOM.normal(size=n) + 1j * RANDOM.normal(size=n)).astype(kind) for _ in range(2))
    a, b = torch.from_numpy(x.copy()), torch.from_numpy(y.copy())
    error = 1e-6 if kind == "complex64" else 1e-14
    tight = {"rtol": error, "atol": error}
    assert (torch.add(a, b).numpy() == x + y).all() and (torch.sub(a, b).numpy() == x - y).all()
    np.testing.assert_allclose((a * b).numpy(), x * y, **tight)
    np.testing.assert_allclose((a * 2j).numpy(), x * np.array(2j, kind), **tight)
    assert ((-a).numpy() == -x).all()
    np.testing.assert_allclose(a.abs().numpy(), abs(x), **tight)
    np.testing.assert_allclose(a.sum().numpy(), x.astype("complex128").sum(), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("n", [8191, 8192, 16384, 40001])
def test_long_dot_products(n):
    before = torch.get_num_threads()
    for kind in (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bfloat16):
        a, b = (torch.randn(2 * n).mul(9).to(kind)[::2] for _ in range(2))
        exact = (a.to(torch.complex128) * b.to(torch.complex128)).sum()
        results = []
        try:
            for threads in (1, 2):
                torch.set_num_threads(threads)
                results.append(torch.dot(a, b))
        finally:
            torch.set_num_threads(before)
        assert torch.equal(*results) and results[0].dtype == kind
        scale = 81 * n**0.5
        loose = 0.02 if kind == torch.bfloat16 else 1e-5
        assert abs(complex(results[0]) - complex(exact)) < loose * scale
