"""Fast gradient clipping of a layer normalization: the norm of a sum stands in for the norm of two gradients."""

CASE = {
    "library": "tensorflow-privacy", "affected": "0.9.0", "mended": "open",
    "requires": ["tensorflow-privacy=={version}", "tensorflow==2.15.1"],
    "claim": "the gradient of each microbatch is clipped to 0.1, here of microbatches of one record",
    "fault": "layer_normalization_computation hands the list of its two gradients to where a tensor is due, and with "
    "one microbatch takes the norm of their sum, which can be 0 where they are not (more than two microbatches raise)",
    "reported": "https://github.com/tensorflow/privacy/commit/66d05a2",
    "seen": "audit_clipping, one record a call",
    "assumption": "that the registry function of LayerNormalization is inserted by the user, as the default registry "
    "has Dense and Embedding alone",
}  # fmt: skip
BOUND = 0.1


def clipped_sum(batch):
    import numpy as np
    import tensorflow as tf
    from tensorflow_privacy.privacy.fast_gradient_clipping import clip_grads, layer_registry
    from tensorflow_privacy.privacy.fast_gradient_clipping.registry_functions import layer_normalization

    registry = layer_registry.make_default_layer_registry()
    registry.insert(tf.keras.layers.LayerNormalization, layer_normalization.layer_normalization_computation)
    inputs = tf.keras.Input((4,))
    model = tf.keras.Model(inputs, tf.keras.layers.LayerNormalization()(inputs))
    model.compile(loss=tf.keras.losses.MeanSquaredError())
    total = np.zeros(8)
    for record in np.asarray(batch, np.float32).reshape(-1, 1, 8):
        found = clip_grads.compute_clipped_gradients_and_outputs(
            model, BOUND, registry, tf.constant(record[:, :4]), tf.constant(record[:, 4:]), num_microbatches=1
        )
        total += np.concatenate([np.ravel(gradient) for gradient in found[0]])
    return total


def audit(run):
    import numpy as np

    import dpcheck

    records = np.random.default_rng(0).normal(size=(6, 8))
    return dpcheck.audit_clipping(run("clipped_sum"), records, bound=BOUND)
