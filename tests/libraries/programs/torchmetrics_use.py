"""torchmetrics: metrics of several domains over batches, in collections, with gradients."""

import warnings

import torch
import torchmetrics as tm
from report import report
from torchmetrics import aggregation, classification, functional, regression, retrieval

warnings.simplefilter("ignore")
torch.manual_seed(0)
classes = 4
found = {}


def run(name, metric, *batches):
    values = [metric(*batch) for batch in batches]
    found[name] = [values, metric.compute()]
    metric.reset()


scores = [torch.randn(16, classes).softmax(-1) for _ in range(3)]
labels = [torch.randint(0, classes, (16,)) for _ in range(3)]
multi = list(zip(scores, labels))
for kind in (
    "Accuracy Precision Recall F1Score AUROC AveragePrecision ConfusionMatrix CohenKappa "
    "MatthewsCorrCoef JaccardIndex Specificity CalibrationError ExactMatch HammingDistance "
    "HingeLoss StatScores"
).split():
    if kind == "ExactMatch":
        grid = [(torch.randint(0, classes, (4, 5)), torch.randint(0, classes, (4, 5)))] * 2
        run(kind, classification.MulticlassExactMatch(classes), *grid)
        continue
    run(kind, getattr(classification, "Multiclass" + kind)(classes), *multi)
binary = [(torch.rand(20), torch.randint(0, 2, (20,))) for _ in range(3)]
for kind in "Accuracy AUROC AveragePrecision F1Score ROC PrecisionRecallCurve FBetaScore".split():
    options = {"beta": 0.5} if kind == "FBetaScore" else {}
    run("Binary" + kind, getattr(classification, "Binary" + kind)(**options), *binary)
pairs = [(torch.rand(12), torch.rand(12) + 0.1) for _ in range(3)]
for kind in (
    "MeanSquaredError MeanAbsoluteError R2Score ExplainedVariance PearsonCorrCoef SpearmanCorrCoef "
    "MeanAbsolutePercentageError MeanSquaredLogError LogCoshError KendallRankCorrCoef "
    "ConcordanceCorrCoef SymmetricMeanAbsolutePercentageError TweedieDevianceScore"
).split():
    run(kind, getattr(regression, kind)(), *pairs)
run("CosineSimilarity", regression.CosineSimilarity(), (torch.rand(4, 3), torch.rand(4, 3)))
for kind in "MeanMetric SumMetric MaxMetric MinMetric CatMetric".split():
    run(kind, getattr(aggregation, kind)(), *[(p[0],) for p in pairs])
index = torch.tensor([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2])
for kind in "RetrievalMAP RetrievalMRR RetrievalNormalizedDCG RetrievalPrecision".split():
    metric = getattr(retrieval, kind)()
    metric.update(pairs[0][0], torch.randint(0, 2, (12,)), indexes=index)
    found[kind] = metric.compute()
images = torch.rand(2, 3, 48, 48), torch.rand(2, 3, 48, 48)
found["psnr"] = functional.image.peak_signal_noise_ratio(*images, data_range=1.0)
found["ssim"] = functional.image.structural_similarity_index_measure(*images, data_range=1.0)
found["tv"] = functional.image.total_variation(images[0])
found["wer"] = functional.text.word_error_rate(["a b c"], ["a b d"])
found["bleu"] = functional.text.bleu_score(["the cat is on the mat"], [["a cat is on the mat"]])
found["snr"] = functional.audio.signal_noise_ratio(torch.rand(50), torch.rand(50))
found["pairwise"] = functional.pairwise_euclidean_distance(torch.rand(4, 3))
accuracy, f1 = classification.MulticlassAccuracy(classes), classification.MulticlassF1Score(classes)
collection = tm.MetricCollection({"acc": accuracy, "f1": f1})
for batch in multi:
    collection.update(*batch)
found["collection"] = collection.compute()
tracker = tm.MetricTracker(classification.MulticlassAccuracy(classes), maximize=True)
for batch in multi:
    tracker.increment()
    tracker.update(*batch)
found["tracker"] = [tracker.compute_all(), *tracker.best_metric(return_step=True)]
boot = tm.BootStrapper(regression.MeanSquaredError(), num_bootstraps=4)
boot.update(*pairs[0])
found["boot"] = boot.compute()
prediction = torch.rand(8, requires_grad=True)
regression.MeanSquaredError()(prediction, torch.rand(8)).backward()
found["grad"] = prediction.grad
metric = classification.MulticlassAccuracy(classes)
metric.persistent(True)
metric.update(*multi[0])
found["state"] = {name: value.tolist() for name, value in metric.state_dict().items()}
found["sum"] = (metric + regression.MeanAbsoluteError()).__class__.__name__
report(**found)
