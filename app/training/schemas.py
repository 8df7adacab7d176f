"""Examples of training requests. The request itself is in `app.training.specs`."""

EXAMPLES = {
    "forest": {
        "summary": "A forest with a robust loss",
        "value": {
            "name": "credit-risk",
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "forest", "n_estimators": 100, "loss": {"kind": "ne", "lambda": 0.5}},
            "evaluation": {"kind": "holdout", "test_fraction": 0.2},
            "seed": 0,
        },
    },
    "experiment": {
        "summary": "The effect of 30 % label noise, with lambda chosen from the data",
        "value": {
            "name": "credit-risk-noisy",
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "forest", "loss": "adaptive_ne"},
            "noise": {"inject": {"kind": "uniform", "rate": 0.3}},
        },
    },
    "cross_validation": {
        "summary": "Mean and standard deviation of the scores over ten folds; the model is trained on all rows",
        "value": {
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "extra_trees", "n_estimators": 50},
            "noise": {"inject": {"kind": "uniform", "rate": 0.2}},
            "evaluation": {"kind": "cross_validation", "folds": 10},
        },
    },
    "correction": {
        "summary": "A forest corrected for a known transition matrix: [clean class][observed class]",
        "value": {
            "name": "credit-risk-corrected",
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "forest"},
            "noise": {"correction": {"kind": "forward", "transition": [[0.9, 0.1], [0.3, 0.7]]}},
        },
    },
    "booster": {
        "summary": "Minimax boosting, whose model has a certificate",
        "value": {
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "rmboost", "n_rounds": 100},
        },
    },
    "tree": {
        "summary": "A single tree",
        "value": {
            "dataset_id": "8a5b6f0e-5d0f-4f6c-9a53-5f1c2b0d7e11",
            "model": {"kind": "tree", "loss": "misclassification", "max_depth": 12},
        },
    },
}
