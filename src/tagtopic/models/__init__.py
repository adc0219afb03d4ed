"""The estimators: parameters, the EM loop, transform, weights, the model file."""
