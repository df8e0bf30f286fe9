"""Data loading whose results PyTorch's were recorded for; shared by the recorder and the test."""

import collections
import os
import re
import signal
import time
import warnings

Point = collections.namedtuple("Point", "x y")


def told(torch, value):
    """``value`` as plain data, types included."""
    if isinstance(value, torch.Tensor):
        return ["Tensor", str(value.dtype), list(value.shape), str(value.tolist())]
    if isinstance(value, dict):
        return [type(value).__name__, [[repr(k), told(torch, v)] for k, v in value.items()]]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [told(torch, item) for item in value]]
    return repr(value)


def caught(torch, call):
    """What ``call`` gives or raises; the parts that vary between runs are left out."""
    try:
        return told(torch, call())
    except Exception as error:
        text = str(error.args[0] if error.args else "")
        if "abstract class" in text:  # Python's words, which depend on its version
            text = re.sub(r" with.* abstract method '?(\w+)'?", r": \1", text)
        return [type(error).__name__, text.split(" at 0x")[0]]


def rows(torch):
    return torch.utils.data.TensorDataset(torch.arange(10.0).view(10, 1), torch.arange(10))


def shuffled(torch):
    data = torch.utils.data
    torch.manual_seed(3)
    result = [told(torch, batch) for batch in data.DataLoader(rows(torch), 4, shuffle=True)]
    loader = data.DataLoader(rows(torch), 4, shuffle=True, drop_last=True)
    result += [told(torch, batch) for _ in range(2) for batch in loader]
    generator = torch.Generator().manual_seed(9)
    loader = data.DataLoader(rows(torch), 3, shuffle=True, generator=generator)
    result += [told(torch, batch) for _ in range(2) for batch in loader]
    return [result, torch.randint(0, 1000, (3,)).tolist()]


def splits(torch):
    data = torch.utils.data
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    first, second = data.random_split(rows(torch), [7, 3], generator=generator)
    thirds = data.random_split(range(11), [0.5, 0.25, 0.25])
    nested = data.Subset(first, [4, 2, 0])
    batches = list(data.DataLoader(nested, 2, shuffle=True))
    return [
        first.indices, second.indices, [part.indices for part in thirds], told(torch, batches),
        caught(torch, lambda: data.random_split(range(4), [1, 2])),
        caught(torch, lambda: data.random_split(range(4), [1.5, -0.5])),
    ]  # fmt: skip


def samplers(torch):
    data = torch.utils.data
    torch.manual_seed(7)
    generator = torch.Generator().manual_seed(2)
    return [
        list(data.SequentialSampler(range(4))),
        list(data.RandomSampler(range(10))),
        list(data.RandomSampler(range(10), replacement=True, num_samples=70)),
        list(data.RandomSampler(range(10), num_samples=25)),
        list(data.RandomSampler(range(10), num_samples=3, generator=generator)),
        list(data.SubsetRandomSampler([5, 6, 7], generator=generator)),
        list(data.WeightedRandomSampler([0.1, 0.2, 0.7], 20)),
        list(data.WeightedRandomSampler([0.1, 0.2, 0.7], 3, replacement=False)),
        list(data.BatchSampler(range(7), 3, False)),
        list(data.BatchSampler(range(7), 3, True)),
        [list(data.DistributedSampler(range(11), 3, rank, seed=4)) for rank in range(3)],
        [list(data.DistributedSampler(range(11), 3, 2, shuffle=False, drop_last=True))],
    ]


class Mixed:
    """Samples of many types; made a Dataset by ``dataset_of``."""

    def __init__(self, torch):
        self.torch = torch

    def __len__(self):
        return 13

    def __getitem__(self, index):
        return {
            "int": index, "float": float(index), "text": str(index), "flag": index > 3,
            "tensor": self.torch.full((2,), index), "random": self.torch.rand(1),
            "list": [index, 2.0], "tuple": (index, "a"), "point": Point(index, index + 0.5),
        }  # fmt: skip


class Workers(Mixed):
    """Samples that tell which worker made them."""

    def __getitem__(self, index):
        info = self.torch.utils.data.get_worker_info()
        told = (-1, 0, 0) if info is None else (info.id, info.num_workers, info.seed)
        return index, *told, self.torch.randint(0, 10**6, (1,))


class Failing(Mixed):
    def __getitem__(self, index):
        if index == 7:
            raise ValueError("seven is out")
        return index


class Missing(Mixed):
    def __getitem__(self, index):
        return {}["no such key"]


class Killed(Mixed):
    def __getitem__(self, index):
        if index == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


class Slow(Mixed):
    def __getitem__(self, index):
        time.sleep(3 if index == 4 else 0)
        return index


def stream(torch, count, stated=None):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            start, step = (0, 1) if info is None else (info.id, info.num_workers)
            return iter(range(start, count, step))

        def __len__(self):
            return count if stated is None else stated

    return Stream()


def loaded(torch, dataset, **options):
    return [told(torch, batch) for batch in torch.utils.data.DataLoader(dataset, **options)]


def collation(torch):
    torch.manual_seed(5)
    return loaded(torch, Mixed(torch), batch_size=5, shuffle=True)


def unbatched(torch):
    return [
        loaded(torch, rows(torch), batch_size=None),
        loaded(torch, stream(torch, 3), batch_size=None),
        loaded(torch, rows(torch), batch_sampler=[[0, 9], [-1], [3]]),
        loaded(torch, rows(torch), sampler=[4, 2], batch_size=2),
        loaded(torch, rows(torch), batch_size=3, collate_fn=len),
        caught(torch, lambda: loaded(torch, rows(torch), batch_sampler=[[0, 10]])),
        caught(torch, lambda: loaded(torch, rows(torch), batch_sampler=[[0.5]])),
        caught(torch, lambda: loaded(torch, rows(torch), batch_sampler=[[True, 2]])),
    ]


def streams(torch):
    return [
        loaded(torch, stream(torch, 11), batch_size=3, num_workers=workers, drop_last=drop_last)
        for workers in (0, 2)
        for drop_last in (False, True)
    ]


def length_warning(torch):
    loader = torch.utils.data.DataLoader(stream(torch, 5, stated=3))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        before = len(list(loader))
        length = len(loader)
        list(loader)
    texts = [str(w.message) for w in seen]
    return [before, length, [t[t.index("was reported") :] for t in texts]]


def workers(torch):
    torch.manual_seed(11)
    options = {"batch_size": 4, "num_workers": 2, "shuffle": True}
    return [loaded(torch, Workers(torch), **options) for _ in range(2)]


def persistent_workers(torch):
    torch.manual_seed(12)
    loader = torch.utils.data.DataLoader(
        Workers(torch), 4, num_workers=2, persistent_workers=True, shuffle=True
    )
    first = told(torch, next(iter(loader)))  # leaves an epoch early
    return [first, [[told(torch, batch) for batch in loader] for _ in range(2)]]


def worker_failures(torch):
    def first_and_last_line(dataset, **options):
        try:
            loaded(torch, dataset, **options)
        except Exception as error:
            lines = str(error).strip().splitlines()
            return [type(error).__name__, lines[:2], lines[-1]]
        raise AssertionError("nothing was raised")

    def fail(worker_id):
        raise RuntimeError(f"no start for {worker_id}")

    result = [
        first_and_last_line(Failing(torch), batch_size=5, num_workers=2),
        first_and_last_line(Missing(torch), batch_size=5, num_workers=1),
        first_and_last_line(Failing(torch), num_workers=1, worker_init_fn=fail),
        caught(torch, lambda: loaded(torch, Slow(torch), batch_size=2, num_workers=1, timeout=1)),
    ]
    kind, text = caught(torch, lambda: loaded(torch, Killed(torch), batch_size=2, num_workers=2))
    return [*result, kind, text.partition("(pid(s)")[0], text.rpartition(")")[2]]


_WRONG = (
    {"num_workers": -1}, {"timeout": -1}, {"batch_size": 0}, {"batch_size": 1.5},
    {"sampler": [1], "shuffle": True}, {"batch_sampler": [[1]], "batch_size": 3},
    {"batch_sampler": [[1]], "drop_last": True}, {"batch_size": None, "drop_last": True},
    {"prefetch_factor": 3}, {"num_workers": 1, "prefetch_factor": -1},
    {"persistent_workers": True}, {"multiprocessing_context": "fork"},
    {"num_workers": 1, "multiprocessing_context": "nothing"},
    {"num_workers": 1, "multiprocessing_context": 3}, {"drop_last": 1},
)  # fmt: skip


def wrong_arguments(torch):
    data = torch.utils.data
    result = [caught(torch, lambda o=o: data.DataLoader(rows(torch), **o)) for o in _WRONG]
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        result.append(caught(torch, lambda o=options: data.DataLoader(stream(torch, 3), **o)))
    loader = data.DataLoader(rows(torch))
    result.append(caught(torch, lambda: setattr(loader, "batch_size", 3)))
    for call in (
        lambda: data.RandomSampler([], num_samples=0), lambda: data.RandomSampler([]),
        lambda: data.RandomSampler([1], replacement=1),
        lambda: data.WeightedRandomSampler([1.0], 0),
        lambda: data.WeightedRandomSampler([[1.0]], 2),
        lambda: data.WeightedRandomSampler([1.0], 1, replacement=3),
        lambda: data.TensorDataset(torch.ones(2), torch.ones(3)), lambda: data.ConcatDataset([]),
        lambda: data.ConcatDataset([stream(torch, 2)]), lambda: data.StackDataset(),
        lambda: data.StackDataset([1], [1, 2]), lambda: data.StackDataset([1], a=[1]),
        lambda: data.Dataset()[0], lambda: iter(data.IterableDataset()),
        lambda: iter(data.Sampler()), lambda: data.DistributedSampler([1], 2, 2),
        lambda: data.ConcatDataset([[1]])[-2], lambda: data.ConcatDataset([[1]])[1],
    ):  # fmt: skip
        result.append(caught(torch, call))
    return result


def combined(torch):
    data = torch.utils.data
    both = data.ConcatDataset([rows(torch), rows(torch)])
    stack = data.StackDataset(rows(torch), range(10))
    named = data.StackDataset(a=rows(torch), b=both.datasets[1])
    chain = data.ChainDataset([stream(torch, 2), stream(torch, 3)])
    return [
        len(both), told(torch, both[13]), told(torch, both[-1]), both.cumulative_sizes,
        told(torch, stack[3]), told(torch, named[2]), loaded(torch, stack, batch_size=4),
        loaded(torch, named, batch_size=6), len(chain), list(chain),
        len(rows(torch) + rows(torch)),
    ]  # fmt: skip


def collate_values(torch):
    import numpy

    collate, convert = torch.utils.data.default_collate, torch.utils.data.default_convert
    batches = (
        [None], [1, 2.5], [2.5, 1], [True, False], [1 + 2j], [[1], [1, 2]], ["a", "b"], [b"x"],
        [{"a": 1}, {"a": 2}], [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
        [Point(1, 2), Point(3, 4)], [(1, "a"), (2, "b")], [torch.ones(2), torch.zeros(2)],
        [numpy.ones(2), numpy.zeros(2)], [numpy.float32(3), numpy.float32(4)], [numpy.int8(3)],
        [numpy.array(["a"])], [numpy.array([None])], [numpy.bool_(True)], [numpy.str_("a")],
        [{}], [[]], [()], [range(2), range(3, 5)], [{1, 2}], [frozenset()], [Ellipsis],
    )  # fmt: skip
    pairs = [
        [caught(torch, lambda b=b: collate(b)), caught(torch, lambda b=b: convert(b))]
        for b in batches
    ]
    return [*pairs, caught(torch, lambda: collate([torch.ones(2), torch.ones(3)]))]


CASES = {
    function.__name__: function
    for function in (
        shuffled, splits, samplers, collation, unbatched, streams, length_warning, workers,
        persistent_workers, worker_failures, wrong_arguments, combined, collate_values,
    )
}  # fmt: skip
