"""Fast clipping of a LayerNormalization does not clip where its two gradients cancel (tensorflow-privacy 0.9.0).

Expected: with l2_norm_clip 0.1 and one microbatch, a gradient of norm 0.1 at most. Seen: one of any size, for records
whose gradients of gamma and beta have sum 0. With two microbatches each is scaled by the norm of another gradient; with
more there is an error.

Cause: layer_normalization_computation calls maybe_add_microbatch_axis(grads, ...), with the list of the two gradients,
where stacked_grads is due. The repository has a mended version (commit 66d05a2) that no release has.
Condition: num_microbatches is given, and the layer's function is inserted into the registry. Mend: a release.
"""

import numpy as np
import tensorflow as tf
from tensorflow_privacy.privacy.fast_gradient_clipping import clip_grads, layer_registry
from tensorflow_privacy.privacy.fast_gradient_clipping.registry_functions import layer_normalization

registry = layer_registry.make_default_layer_registry()
registry.insert(tf.keras.layers.LayerNormalization, layer_normalization.layer_normalization_computation)
inputs = tf.keras.Input((4,))
model = tf.keras.Model(inputs, tf.keras.layers.LayerNormalization()(inputs))
model.compile(loss=tf.keras.losses.MeanSquaredError())


def norm(microbatches):
    """The record is normalized to 1, 1, -1, -1, and wrong in the last two alone, where the gradients cancel."""
    x, y = tf.constant([[5.0, 5.0, -5.0, -5.0]]), tf.constant([[1.0, 1.0, -100.0, -100.0]])
    found = clip_grads.compute_clipped_gradients_and_outputs(model, 0.1, registry, x, y, num_microbatches=microbatches)
    return np.linalg.norm(np.concatenate([np.ravel(gradient) for gradient in found[0]]))


print(f"norm of the clipped gradient: {norm(None):.3f} without microbatches, {norm(1):.3f} with one")
