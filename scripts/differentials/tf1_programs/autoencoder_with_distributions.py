# peer: 1.15: tf.contrib.distributions, which later versions do not have
"""A variational autoencoder with distributions, and a policy of two classes."""

import numpy as np
import tensorflow as tf

ds = tf.contrib.distributions
WIDTH, CODE = 6, 2


def weights(shape, dtype=None, partition_info=None):
    count = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(count) + 1.0).reshape(shape) * 0.3, tf.float32)


def make_encoder(data):
    with tf.variable_scope("encoder", reuse=tf.AUTO_REUSE):
        x = tf.layers.dense(data, 5, tf.nn.relu, kernel_initializer=weights, name="hidden")
        loc = tf.layers.dense(x, CODE, kernel_initializer=weights, name="loc")
        scale = tf.layers.dense(x, CODE, tf.nn.softplus, kernel_initializer=weights, name="scale")
    return ds.MultivariateNormalDiag(loc, scale)


def make_decoder(code):
    with tf.variable_scope("decoder", reuse=tf.AUTO_REUSE):
        x = tf.layers.dense(code, 5, tf.nn.relu, kernel_initializer=weights, name="hidden")
        logit = tf.layers.dense(x, WIDTH, kernel_initializer=weights, name="logit")
    return ds.Independent(ds.Bernoulli(logit), 1)


data = tf.placeholder(tf.float32, [None, WIDTH])
noise = tf.placeholder(tf.float32, [None, CODE])
prior = ds.MultivariateNormalDiag(tf.zeros(CODE), tf.ones(CODE))
posterior = make_encoder(data)
code = posterior.mean() + posterior.stddev() * noise
likelihood = make_decoder(code).log_prob(data)
divergence = ds.kl_divergence(posterior, prior)
elbo = tf.reduce_mean(likelihood - divergence)
train = tf.train.AdamOptimizer(0.05).minimize(-elbo)
print(posterior.event_shape, prior.batch_shape, posterior.dtype.name)
print(posterior.sample(3).shape.ndims, prior.sample(4).shape)

rows = (np.arange(4 * WIDTH).reshape(4, WIDTH) % 3 == 0).astype(np.float32)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(4):
        feed = {data: rows, noise: np.cos(np.arange(8.0) + step).reshape(4, CODE)}
        bound, apart, _ = sess.run([elbo, divergence, train], feed)
        print(step, "%.3f" % bound, ["%.3f" % each for each in apart])
    drawn = sess.run(prior.sample(1000, seed=1))
    print(abs(drawn.mean()) < 0.2, drawn.shape)

    mixture = ds.MixtureSameFamily(
        ds.Categorical(probs=[0.3, 0.7]), ds.Normal(loc=[-1.0, 1.0], scale=[0.5, 0.2])
    )
    lognormal = ds.TransformedDistribution(ds.Normal(0.0, 1.0), ds.bijectors.Exp())
    counts = ds.Poisson(rate=[1.0, 4.0])
    gumbel = ds.RelaxedOneHotCategorical(0.5, logits=[0.1, 0.2, 0.7])
    for what in (mixture.mean(), mixture.log_prob([0.0, 1.0]), lognormal.log_prob(2.0), lognormal.cdf(2.0),
                 counts.log_prob([0.0, 3.0]), gumbel.log_prob([0.2, 0.3, 0.5])):
        print(np.round(np.asarray(sess.run(what), np.float64), 3).tolist())
    soft = sess.run(gumbel.sample(5, seed=2))
    print(np.allclose(soft.sum(-1), 1.0), soft.shape)
