"""The distributions that noise, minibatches and outputs follow if a mechanism is what it claims to be."""
