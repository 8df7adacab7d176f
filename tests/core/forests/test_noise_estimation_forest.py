"""Description of the noise-estimation forest, which audits grow as a ForestClassifier."""

import core
from core import service_api
from core.forests import noise_estimation_forest
from core.growth.growth_problem import GrowthSettings


def test_audits_grow_the_forest_that_estimates_noise():
    classifier = core.ForestClassifier(**service_api.DEFAULT_AUDIT_PARAMETERS)
    parameters = classifier.get_params()
    assert parameters["n_estimators"] == noise_estimation_forest.N_TREES
    assert parameters["bootstrap"]
    assert core.parse_loss(parameters["loss"]) == core.SquaredError()
    settings = GrowthSettings(**{name: parameters[name] for name in GrowthSettings._fields})
    assert settings == noise_estimation_forest._GROWTH
