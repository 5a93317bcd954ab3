"""Writes with the weights that minimaxir/textgenrnn ships, and trains a new model on four sentences."""

from __future__ import annotations

from textgenrnn import textgenrnn

SENTENCES = ["the cat sat on the mat", "a dog ran in the park", "the sun is in the sky", "the cat ran to the dog"]

print(textgenrnn().generate(2, temperature=0.2, max_gen_length=60, return_as_list=True))
model = textgenrnn(name="made")
model.train_on_texts(
    SENTENCES * 8,
    new_model=True,
    num_epochs=8,
    gen_epochs=0,
    batch_size=32,
    rnn_layers=1,
    rnn_size=64,
    dim_embeddings=20,
    rnn_bidirectional=True,
)
print(model.generate(1, temperature=0.2, max_gen_length=40, return_as_list=True))
