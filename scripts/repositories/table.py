"""The table of repositories, in the order of the kinds of models."""

from __future__ import annotations

from . import data
from .row import Row
from .sign import Falls, Reaches

__all__ = ["ROWS"]

_NUMBER = r"([-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf))"

_KERAS = ("keras==2.3.1", "keras-applications==1.0.8", "keras-preprocessing==1.1.2")

ROWS: tuple[Row, ...] = (
    Row(
        source="openai/gpt-2@9b63575ef42771a015060c964af2c3da4cf7c8ab",
        what="two layers trained on a sentence, then the sampler goes on with it",
        programs=("DRIVERS/train_gpt2.py",),
        sign=Reaches("letters right", rf"right {_NUMBER}", least=0.95),
        requires=("regex",),
    ),
    Row(
        source="google-research/bert@eedf5716ce1268e56f0a50264a88cafad334ac61",
        what="`create_pretraining_data.py` and `run_pretraining.py`, two layers on its sample text",
        programs=(
            "create_pretraining_data.py --input_file=sample_text.txt --output_file=made.tfrecord"
            " --vocab_file=vocab.txt --max_seq_length=32 --max_predictions_per_seq=5 --dupe_factor=5",
            "run_pretraining.py --input_file=made.tfrecord --output_dir=out --do_train --do_eval"
            " --bert_config_file=bert_config.json --max_seq_length=32 --max_predictions_per_seq=5"
            " --train_batch_size=16 --num_train_steps=300 --num_warmup_steps=10 --learning_rate=2e-3"
            " --max_eval_steps=20 --save_checkpoints_steps=300",
        ),
        data=data.bert,
        sign=Reaches("accuracy of masked words", rf"masked_lm_accuracy = {_NUMBER}", least=0.5),
    ),
    Row(
        source="google-research/bert@eedf5716ce1268e56f0a50264a88cafad334ac61",
        what="`run_classifier.py`, task CoLA on generated sentences",
        programs=(
            "run_classifier.py --task_name=cola --do_train --do_eval --data_dir=cola --output_dir=out"
            " --bert_config_file=bert_config.json --vocab_file=vocab.txt --max_seq_length=16"
            " --train_batch_size=16 --num_train_epochs=10 --learning_rate=1e-3",
        ),
        data=data.bert,
        sign=Reaches("accuracy", rf"eval_accuracy = {_NUMBER}", least=0.9),
    ),
    Row(
        source="tensorflow/nmt@0be864257a76c151eef20ea689755f08bc1faf4e",
        what="`nmt.nmt`, attention, beam search; a made language in turned order",
        programs=(
            "-m nmt.nmt --src=src --tgt=tgt --vocab_prefix=made/vocab --train_prefix=made/train"
            " --dev_prefix=made/dev --test_prefix=made/test --out_dir=out --num_train_steps=600"
            " --steps_per_stats=50 --num_layers=1 --num_units=64 --attention=scaled_luong"
            " --encoder_type=bi --num_layers=2 --beam_width=3 --infer_mode=beam_search --optimizer=adam"
            " --learning_rate=0.01 --dropout=0.0 --batch_size=32 --metrics=bleu",
        ),
        data=data.nmt,
        sign=Reaches("BLEU", rf"test bleu {_NUMBER}", least=60),
    ),
    Row(
        source="dennybritz/cnn-text-classification-tf@18762b459e21d9c70e5c242f8d43fc4e6db37a0d",
        what="`train.py`, film reviews that it ships, 4 epochs",
        programs=("train.py --num_epochs=4 --num_filters=32 --embedding_dim=64",),
        sign=Falls("loss", rf"step \d+, loss {_NUMBER}", to=0.55),
    ),
    Row(
        source="sherjilozair/char-rnn-tensorflow@4bff62d34ba6d536f052145cd3f8f79b6fa11365",
        what="`train.py` and `sample.py`, Shakespeare that it ships, one epoch",
        programs=("train.py --num_epochs=1 --rnn_size=96 --log_dir=logs", "sample.py -n 100"),
        sign=Falls("loss", rf"train_loss = {_NUMBER}", to=0.65),
    ),
    Row(
        source="tkipf/gcn@39a4089fe72ad9f055ed6fdb9746abdcfebc4d81",
        what="`train.py`, Cora, 200 epochs",
        programs=("train.py",),
        folder="gcn",
        path=("..",),
        requires=("scipy", "networkx"),
        sign=Reaches("accuracy on the test set", rf"Test set results: .*accuracy= {_NUMBER}", least=0.79),
        figure="0.815, the paper",
    ),
    Row(
        source="PetarV-/GAT@5af87e7fce2b90ae1cbd621cd58059036a3c7436",
        what="`execute_cora_sparse.py`, Cora, 100 epochs",
        programs=("execute_cora_sparse.py",),
        constants={"execute_cora_sparse.py": {"nb_epochs": "100"}},
        requires=("scipy", "networkx"),
        sign=Reaches("accuracy on the test set", rf"Test accuracy: {_NUMBER}", least=0.75),
        figure="0.83, the paper, with up to 100,000 epochs",
    ),
    Row(
        source="ibab/tensorflow-wavenet@3c973c038c8c2c20fef0039f111cb04139ff594b",
        what="`train.py`, 16 dilated layers, generated tones",
        programs=(
            "train.py --data_dir=made --wavenet_params=made/params.json --num_steps=100 --sample_size=2000"
            " --silence_threshold=0 --checkpoint_every=1000 --logdir=out",
        ),
        data=lambda folder: data.waves(folder / "made"),
        requires=("librosa",),
        sign=Falls("loss", rf"loss = {_NUMBER}", to=0.7),
    ),
    Row(
        source="carpedm20/DCGAN-tensorflow@62c9a2a7f74505cad30858bf40307c93e5bd9293",
        what="`main.py`, 60 steps, generated digits of MNIST's form",
        programs=(
            "main.py --dataset mnist --input_height=28 --output_height=28 --train --epoch=1"
            " --batch_size=36 --train_size=2160 --sample_freq=20 --out_name=made",
            "DRIVERS/judge_dcgan.py out/made/samples",
        ),
        data=lambda folder: data.digits(folder / "data" / "mnist", zipped=False),
        requires=("scipy", "pillow", "opencv-python-headless"),
        sign=Reaches("likeness of samples with their digits", rf"likeness {_NUMBER}", least=0.6, count=3),
        figure="0.785, TensorFlow 2.21 with layers that stand for `contrib`",
    ),
    Row(
        source="tkipf/gae@0ebbe9b9a8f496eb12deb9aa6a62e7016b5a5ac3",
        what="`train.py`, Cora, 100 epochs",
        programs=("train.py --epochs=100",),
        folder="gae",
        path=("..",),
        requires=("scipy", "networkx", "scikit-learn"),
        sign=Reaches("area under the curve", rf"Test ROC score: {_NUMBER}", least=0.87),
        figure="0.91, the paper, after 200 epochs",
    ),
    Row(
        source="williamleif/GraphSAGE@a0fdef95dca7b456dab01cb35034717c8b6dd017",
        what="`supervised_train`, means of neighbours, a generated graph of three communities",
        programs=(
            "-m graphsage.supervised_train --train_prefix=made/made --epochs=8 --batch_size=64 --dim_1=32"
            " --dim_2=32 --validate_batch_size=-1 --max_degree=25",
        ),
        data=lambda folder: data.communities(folder / "made"),
        requires=("scikit-learn",),
        apart=("networkx==1.11", "decorator==4.3.0"),
        sign=Reaches("F1", rf"Full validation stats: .*f1_micro= {_NUMBER}", least=0.9),
    ),
    Row(
        source="hunkim/word-rnn-tensorflow@5df11c5578a43bf0b732e0bcb63ee8fec7a29d33",
        what="`train.py`, two LSTMs, generated sentences",
        programs=(
            "train.py --data_dir=made --rnn_size=64 --batch_size=10 --seq_length=15 --num_epochs=2"
            " --learning_rate=0.01",
        ),
        data=lambda folder: data.words(folder / "made"),
        sign=Falls("loss", rf"train_loss = {_NUMBER}", to=0.5),
    ),
    Row(
        source="aymericdamien/TensorFlow-Examples@6dcbe14649163814e72a22a999f20c5e247ce988",
        what="`dynamic_rnn.py`, its toy sequences",
        programs=("dynamic_rnn.py",),
        folder="tensorflow_v1/examples/3_NeuralNetworks",
        sign=Reaches("accuracy", rf"Testing Accuracy: {_NUMBER}", least=0.8),
    ),
    Row(
        source="nlintz/TensorFlow-Tutorials@d6bdab7df46492446c48537fcf37e20ba44e8168",
        what="`05_convolutional_net.py`, digits made up",
        programs=("05_convolutional_net.py",),
        environment={"ACTORSESSION_SYNTHETIC_MNIST": "1"},
        sign=Reaches("accuracy", rf"(?m)^\d+ {_NUMBER}$", least=0.9),
        endless=True,
    ),
    Row(
        source="jakeret/tf_unet@0dcdf2ff1ebcc2ee59997d127a0c0be847168884",
        what="`launcher.py`, noisy circles of its own, 196 pixels wide, with Adam",
        programs=("scripts/launcher.py",),
        path=(".",),
        constants={
            "scripts/launcher.py": {
                "generator": "image_gen.GrayScaleDataProvider(nx=196, ny=196, cnt=20, rectangles=False)",
                "trainer": "unet.Trainer(net, optimizer='adam', opt_kwargs=dict(learning_rate=0.002))",
            }
        },
        requires=("pillow",),
        sign=Falls("loss", rf"Average loss: {_NUMBER}", to=0.7),
    ),
    Row(
        source="tflearn/tflearn@db5176773299b67a2a75c5889fb2aba7fd0fea8a",
        what="`convnet_mnist.py`, generated digits",
        programs=("examples/images/convnet_mnist.py",),
        path=(".",),
        data=lambda folder: data.digits(folder / "mnist", 8000),
        requires=("pillow", "h5py", "scipy"),
        sign=Reaches("accuracy", rf"val_acc: {_NUMBER}", least=0.9),
        endless=True,
    ),
    Row(
        source="tflearn/tflearn@db5176773299b67a2a75c5889fb2aba7fd0fea8a",
        what="`seq2seq_example.py`, sorts ten numbers",
        programs=("examples/nlp/seq2seq_example.py -e 30 -r 0.005 train 2000",),
        path=(".",),
        requires=("pillow", "h5py", "scipy"),
        sign=Falls("loss", rf"loss: .*?{_NUMBER}", to=0.7),
    ),
    Row(
        source="openai/baselines@ea25b9e8b234e6ee1bca43083f8f3cf974143998",
        what="`train_cartpole.py`, deep Q-learning",
        programs=("baselines/deepq/experiments/train_cartpole.py",),
        path=(".",),
        requires=("cloudpickle", "opencv-python-headless", "joblib", "tqdm", "scipy"),
        apart=("gym==0.15.7",),
        sign=Reaches("reward of 100 episodes", rf"mean 100 episode reward\s*\| {_NUMBER}", least=100),
        figure="199 is the aim, after up to 100,000 steps",
        endless=True,
    ),
    Row(
        source="openai/baselines@ea25b9e8b234e6ee1bca43083f8f3cf974143998",
        what="`baselines.run`, PPO, CartPole, 30,000 steps",
        programs=(
            "-m baselines.run --alg=ppo2 --env=CartPole-v0 --network=mlp --num_timesteps=30000 --nsteps=128"
            " --num_env=1 --log_interval=5 --noptepochs=10 --lr=2e-3",
        ),
        path=(".",),
        requires=("cloudpickle", "opencv-python-headless", "joblib", "tqdm", "scipy"),
        apart=("gym==0.15.7",),
        sign=Reaches("reward of an episode", rf"eprewmean\s*\| {_NUMBER}", least=80),
    ),
    Row(
        source="affinelayer/pix2pix-tensorflow@0f2174424356162920fc25067e63db2bcf19f4e7",
        what="`pix2pix.py`, generated outlines to discs",
        programs=(
            "pix2pix.py --mode=train --input_dir=made --output_dir=out --max_steps=400 --ngf=8 --ndf=8"
            " --progress_freq=10 --which_direction=AtoB",
        ),
        data=lambda folder: data.discs(folder / "made", 12, 256, pairs=True),
        requires=("pillow",),
        sign=Reaches("difference of images", rf"gen_loss_L1 {_NUMBER}", most=0.4, count=40),
    ),
    Row(
        source="vanhuyz/CycleGAN-TensorFlow@befe2f57032ee6c25d0dbd1f497f5b5432375da5",
        what="`build_data.py` and `train.py`, generated red and blue discs",
        programs=(
            "build_data.py --X_input_dir=x --Y_input_dir=y --X_output_file=made/x.tfrecords"
            " --Y_output_file=made/y.tfrecords",
            "train.py --X=made/x.tfrecords --Y=made/y.tfrecords --image_size=32 --ngf=8",
        ),
        data=lambda folder: [data.discs(folder / "x", 30, 32, colour=0), data.discs(folder / "y", 30, 32, colour=2)],
        requires=("pillow",),
        sign=Falls("loss of the generator", rf"G_loss   : {_NUMBER}", to=0.5),
        endless=True,
    ),
    Row(
        source="hwalsuklee/tensorflow-generative-model-collections@3abde8a9bcfe31815da50347d14641ec95096f62",
        what="`main.py --gan_type VAE`, generated digits",
        programs=("main.py --gan_type=VAE --epoch=1",),
        data=lambda folder: data.digits(folder / "data" / "mnist"),
        requires=("scipy", "pillow", "matplotlib"),
        sign=Falls("loss", rf", loss: {_NUMBER}", to=0.6, least=60),
        endless=True,
    ),
    Row(
        source="cbfinn/maml@a7f45f1bcd7457fe97b227a21e89b8a82cc5fa49",
        what="`main.py`, sinusoids, 4,000 steps",
        programs=(
            "main.py --datasource=sinusoid --logdir=logs --metatrain_iterations=4001 --norm=None"
            " --update_batch_size=10",
        ),
        requires=("pandas", "tqdm"),
        sign=Reaches("loss after adaptation", rf"Iteration \d+: .*, {_NUMBER}", most=3.0),
    ),
    Row(
        source="keithito/tacotron@d26c763342518d4e432e9c4036a1aff3b4fdaa1e",
        what="`train.py`, small layers, generated spectrograms",
        programs=(
            "train.py --base_dir=. --input=made/train.txt --hparams=batch_size=8,num_mels=20,num_freq=65,"
            "encoder_depth=64,decoder_depth=64,attention_depth=32,postnet_depth=32,embed_depth=32,"
            "prenet_depths=[64,32]",
        ),
        data=lambda folder: data.speech(folder / "made"),
        requires=("librosa", "unidecode", "inflect", "scipy", "matplotlib"),
        sign=Falls("loss", rf"[^_]loss={_NUMBER}", to=0.5, least=60),
        endless=True,
    ),
    Row(
        source="google-deepmind/dnc@f5981c66ac6fe27978014c314c4aba39f1962ee3",
        what="`train.py`, repeated copies, with Sonnet 1.23",
        programs=("train.py --checkpoint_dir=out --learning_rate=1e-3 --report_interval=20",),
        requires=("wrapt", "contextlib2", "semantic_version"),
        apart=("dm-sonnet==1.23", "protobuf==3.20.3"),
        sign=Falls("loss", rf"Avg training loss {_NUMBER}", to=0.85),
        endless=True,
    ),
    Row(
        source="guillaumegenthial/sequence_tagging@5cb9890e7c52e35a1239378da43a8de7be508003",
        what="`build_data.py` and `train.py`, LSTMs over letters and words with a CRF, generated sentences",
        programs=("build_data.py", "train.py"),
        data=data.names_of_places,
        constants={
            "model/config.py": {
                "dim_word": "30",
                "dim_char": "10",
                "hidden_size_char": "20",
                "hidden_size_lstm": "30",
                "nepochs": "5",
                "lr": "0.01",
            }
        },
        sign=Reaches("F1", rf"f1 {_NUMBER}", least=90),
    ),
    Row(
        source="Kyubyong/transformer@fb023bb097e08d53baf25b46a9da490beba51a21",
        what="`train.py`, two blocks, a made language in turned order",
        programs=(
            "train.py --train1=train.de.bpe --train2=train.en.bpe --eval1=eval.de.bpe --eval2=eval.en.bpe"
            " --eval3=eval.en --vocab=bpe.vocab --vocab_size=20 --batch_size=32 --eval_batch_size=32"
            " --lr=0.003 --warmup_steps=100 --num_epochs=4 --d_model=64 --d_ff=128 --num_blocks=2"
            " --num_heads=4 --maxlen1=10 --maxlen2=10 --dropout_rate=0.1 --logdir=out --evaldir=eval",
            "DRIVERS/names.py eval",
        ),
        data=data.translations,
        requires=("tqdm",),
        sign=Reaches("BLEU", rf"iwslt2016_E04.*B{_NUMBER}$", least=60),
    ),
    Row(
        source="allenai/bilm-tf@7cffee2b0986be51f5e2a747244836e1047657f4",
        what="its trainer, letters and two LSTMs in both directions, generated sentences",
        programs=("DRIVERS/train_bilm.py",),
        path=(".",),
        data=lambda folder: data.words(folder / "made"),
        sign=Falls("perplexity", rf"train_perplexity={_NUMBER}", to=0.9, least=2),
    ),
    Row(
        source="dennybritz/reinforcement-learning@2b832284894a65eccdd82353cc446f68d100676e",
        what="notebook: REINFORCE with a baseline, walks along a cliff",
        programs=("DRIVERS/notebook.py 'CliffWalk REINFORCE with Baseline Solution.ipynb'",),
        folder="PolicyGradient",
        requires=("pandas", "matplotlib"),
        apart=("gym==0.26.2", "gym_notices"),
        sign=Reaches("reward of an episode", r"@ Episode \d+/2000 \((-\d+)", least=-30, count=1000),
        attempts=3,
        figure="-17 by the safe way, the notebook's plot",
    ),
    Row(
        source="awjuliani/DeepRL-Agents@f3c9a3ff9ee86029a72b63bbfa4dce3c56979ab3",
        what="notebook: Q-learning with a network, FrozenLake",
        programs=("DRIVERS/notebook.py Q-Network.ipynb",),
        requires=("matplotlib",),
        apart=("gym==0.15.7",),
        sign=Reaches("episodes with success", rf"succesful episodes: {_NUMBER}", least=0.15),
        figure="0.3 to 0.5, the notebook; at random 0.015",
    ),
    Row(
        source="MorvanZhou/Reinforcement-learning-with-tensorflow@93e333484be0e262d28b65507b6a1d002424a056",
        what="`run_CartPole.py`, policy gradient",
        programs=("run_CartPole.py",),
        folder="contents/7_Policy_gradient_softmax",
        requires=("matplotlib",),
        apart=("gym==0.15.7",),
        sign=Reaches("reward of an episode", r"reward: (\d+)", least=100, count=50),
        endless=True,
    ),
    Row(
        source="Hvass-Labs/TensorFlow-Tutorials@d5f33973570fe6ef9c78c8a38c7449a932c81010",
        what="notebook: `02_Convolutional_Neural_Network`, generated digits",
        programs=("DRIVERS/notebook.py 02_Convolutional_Neural_Network.ipynb",),
        data=lambda folder: data.digits(folder / "data" / "MNIST"),
        requires=("scikit-learn", "matplotlib"),
        sign=Reaches("accuracy", rf"Accuracy on Test-Set: {_NUMBER}%", least=90, count=4),
        endless=True,
        figure="93 after 1,000 steps with MNIST's digits, the notebook",
    ),
    Row(
        source="lengstrom/fast-style-transfer@0d3d981f7ab948253d355585bdbdfa914247b4d0",
        what="`style.py`, generated images, a small random VGG",
        programs=(
            "style.py --style made/000.jpg --checkpoint-dir out --train-path made --test made/001.jpg"
            " --test-dir out --vgg-path vgg.mat --epochs 4 --batch-size 2 --checkpoint-iterations 4"
            " --learning-rate 0.01",
        ),
        data=lambda folder: [
            data.discs(folder / "made", 16, 256),
            data.vgg(folder / "vgg.mat"),
            (folder / "out").mkdir(),
        ],
        requires=("scipy", "pillow", "imageio", "moviepy<2"),
        sign=Falls("loss", rf"(?i)loss: {_NUMBER}", to=0.7, least=4),
    ),
    Row(
        source="anishathalye/neural-style@d0a114879c1c69086e5f812f3432be634e29db5e",
        what="`neural_style.py`, generated images, a small random VGG",
        programs=(
            "neural_style.py --content made/000.jpg --styles made/001.jpg --output out.jpg"
            " --network vgg.mat --iterations 100 --print-iterations 5 --overwrite",
        ),
        data=lambda folder: [data.discs(folder / "made", 2, 128), data.vgg(folder / "vgg.mat")],
        requires=("scipy", "pillow"),
        sign=Falls("loss", rf"total loss: {_NUMBER}", to=0.5),
    ),
    Row(
        source="brightmart/text_classification@091ff9910839ba5053302383af99762c0c91a992",
        what="`a1_seq2seq_attention_model.py`, turns sequences round",
        programs=("a1_seq2seq_attention_model.py",),
        folder="a06_Seq2seqWithAttention",
        sign=Falls("loss", rf"(?m)^\d+ loss: {_NUMBER}", to=0.5),
    ),
    Row(
        source="chiphuyen/stanford-tensorflow-tutorials@51e53daaa2a32cfe7a1966f060b28dbbd081791c",
        what="`07_convnet_layers.py`, generated digits",
        programs=("07_convnet_layers.py",),
        folder="examples",
        data=lambda folder: data.digits(folder / "examples" / "data" / "mnist", 8000, zipped=False),
        requires=("matplotlib",),
        sign=Reaches("accuracy", rf"Accuracy at epoch \d+: {_NUMBER}", least=0.9),
        endless=True,
    ),
    Row(
        source="pkmital/tensorflow_tutorials@c3eefe59979cdde7b8cb59d2c52da8ebebe43254",
        what="`07_autoencoder.py`, ten epochs, generated digits",
        programs=("07_autoencoder.py",),
        folder="python",
        data=lambda folder: data.digits(folder / "python" / "MNIST_data", 12000),
        requires=("matplotlib", "scikit-image"),
        sign=Falls("loss", rf"(?m)^\d+ {_NUMBER}$", to=0.2, least=10),
        figure="137 → 7.08, TensorFlow 2.21 on the same digits",
        endless=True,  # it waits for a key in the end
    ),
    Row(
        source="google-deepmind/learning-to-learn@f3c1a8d176b8ea7cc60478bfcfdd10a7a52fd296",
        what="`train.py`, an optimiser for quadratic problems, with Sonnet 1.23",
        programs=("train.py --problem=quadratic --num_epochs=600 --log_period=20 --num_steps=40",),
        requires=("wrapt", "contextlib2", "semantic_version", "mock", "dill"),
        apart=("dm-sonnet==1.23", "protobuf==3.20.3"),
        sign=Falls("error", rf"Log Mean Final Error: {_NUMBER}", to=0.8),
        endless=True,
    ),
    Row(
        source="openai/pixel-cnn@bbc15688dd37934a12c2759cf2b34975e15901d9",
        what="`train.py`, one block of 8 filters, generated slopes",
        programs=(
            "--soft-placement train.py -i made -o out -d imagenet -q 1 -n 8 -m 2 -b 16 -u 16 -g 1 -p 0"
            " -l 0.01 -t 1000 -x 30",
        ),
        data=lambda folder: [data.thumbnails(folder / "made" / "small_imagenet"), (folder / "out").mkdir()],
        requires=("imageio", "matplotlib", "pillow"),
        sign=Falls("bits per pixel", rf"train bits_per_dim = {_NUMBER}", to=0.7),
        endless=True,
    ),
    Row(
        source="zihangdai/xlnet@bbaa3a6fa0b3a2ee694e8cf66167434f9eca9660",
        what="`data_utils.py` and `train_gpu.py`, two layers, generated sentences",
        programs=(
            "data_utils.py --use_tpu=False --bsz_per_host=8 --num_core_per_host=1 --seq_len=32"
            " --reuse_len=16 --input_glob=made/documents.txt --save_dir=out --bi_data=False"
            " --sp_path=made/pieces.model --num_predict=6 --uncased=True --mask_alpha=6 --mask_beta=1",
            "train_gpu.py --record_info_dir=out/tfrecords --num_core_per_host=1 --train_batch_size=8"
            " --seq_len=32 --reuse_len=16 --mem_len=16 --perm_size=16 --n_layer=2 --d_model=32 --d_embed=32"
            " --n_head=2 --d_head=16 --d_inner=64 --untie_r=True --mask_alpha=6 --mask_beta=1"
            " --num_predict=6 --uncased=True --bi_data=False --train_steps=300 --iterations=10"
            " --learning_rate=5e-3 --warmup_steps=10 --model_dir=model --save_steps=1000",
        ),
        data=lambda folder: data.pieces(folder / "made"),
        requires=("sentencepiece", *_KERAS),
        sign=Falls("loss", rf"loss {_NUMBER}", to=0.6),
    ),
    Row(
        source="davidsandberg/facenet@096ed770f163957c1e56efa7feeb194773920f6e",
        what="`train_softmax.py`, SqueezeNet, discs for faces",
        programs=(
            "src/train_softmax.py --data_dir made --model_def models.squeezenet --image_size 64"
            " --batch_size 15 --epoch_size 20 --max_nrof_epochs 3 --embedding_size 32 --logs_base_dir out"
            " --models_base_dir out --learning_rate 0.005 --optimizer ADAM --random_flip",
        ),
        data=lambda folder: [
            data.discs(folder / "made" / f"face{colour}", 20, 64, colour=colour) for colour in range(3)
        ],
        requires=("scipy", "scikit-learn", "h5py", "pillow"),
        sign=Falls("loss", rf"Epoch: .*\tLoss {_NUMBER}", to=0.6),
        endless=True,
    ),
    Row(
        source="YunYang1994/tensorflow-yolov3@03cb272af2e26d598c553f3a2d38024fc6f67a0b",
        what="`train.py`, the whole network, generated discs of 96 pixels",
        programs=("train.py",),
        data=lambda folder: data.discs(folder / "made", 80, 96, boxes=folder / "boxes.txt"),
        constants={
            "core/config.py": {
                "__C.TRAIN.ANNOT_PATH": "'boxes.txt'",
                "__C.TEST.ANNOT_PATH": "'boxes.txt'",
                "__C.TRAIN.BATCH_SIZE": "2",
                "__C.TRAIN.INPUT_SIZE": "[96]",
                "__C.TRAIN.LEARN_RATE_INIT": "1e-3",
                "__C.TRAIN.WARMUP_EPOCHS": "1",
            }
        },
        requires=("easydict", "opencv-python-headless", "tqdm", "pillow"),
        sign=Falls("loss", rf"train loss: {_NUMBER}", to=0.5),
        endless=True,
    ),
    Row(
        source="google/seq2seq@7f485894d412e8d81ce0e07977831865e44309ce",
        what="`bin.train`, attention, a made language in turned order",
        programs=(
            "-m bin.train --config_paths=example_configs/nmt_small.yml"
            " --model_params='{vocab_source: made/vocab.src, vocab_target: made/vocab.tgt,"
            " optimizer.learning_rate: 0.005}' --input_pipeline_train='{class: ParallelTextInputPipeline,"
            " params: {source_files: [made/train.src], target_files: [made/train.tgt]}}'"
            " --input_pipeline_dev='{class: ParallelTextInputPipeline,"
            " params: {source_files: [made/dev.src], target_files: [made/dev.tgt]}}' --batch_size=32"
            " --train_steps=200 --output_dir=out --schedule=train",
        ),
        data=data.nmt,
        requires=("pyyaml", "matplotlib"),
        sign=Falls("loss", rf"(?:loss = |Loss: ){_NUMBER}", to=0.6, least=2),
    ),
    Row(
        source="qqwweee/keras-yolo3@e6598d13c703029b2686bc2eb8d5c09badf42992",
        what="the tiny model, on generated rectangles",
        programs=("DRIVERS/train_yolo3.py",),
        path=(".",),
        data=lambda folder: data.boxes(folder / "made"),
        requires=("h5py", "pillow", "matplotlib", "scipy", "pyyaml", "six"),
        apart=_KERAS,
        sign=Falls("loss", rf"loss: {_NUMBER}", to=0.5, least=12),
    ),
    Row(
        source="fizyr/keras-retinanet@08af308d01a8f22dc286d62bc26c8496e1ff6539",
        what="`keras_retinanet.bin.train`, ResNet-50 from the beginning, generated rectangles",
        programs=(
            "DRIVERS/train_retinanet.py --epochs=4 --steps=4 --batch-size=2 --no-weights --lr=1e-4"
            " --image-min-side=128 --image-max-side=128 --workers=0 --snapshot-path=out"
            " --tensorboard-dir=logs csv made/boxes.csv made/classes.csv --val-annotations=made/boxes.csv",
        ),
        path=(".",),
        data=lambda folder: data.boxes(folder / "made"),
        requires=(
            "h5py",
            "pillow",
            "scipy",
            "pyyaml",
            "six",
            "cython",
            "setuptools",
            "progressbar2",
            "opencv-python-headless",
        ),
        apart=(*_KERAS, "keras-resnet==0.2.0"),
        sign=Falls("loss", rf"loss: {_NUMBER}", to=0.6, least=4),
    ),
    Row(
        source="minimaxir/textgenrnn@f65413bb3b4e3b177d50b897f3a97cb5db700c08",
        what="writes with the weights that it ships, and `train_on_texts`, four sentences",
        programs=("DRIVERS/train_textgenrnn.py",),
        path=(".",),
        requires=("h5py", "scipy", "pyyaml", "six", "scikit-learn", "tqdm"),
        apart=_KERAS,
        sign=Falls("loss", rf"loss: {_NUMBER}", to=0.7, least=8),
    ),
    Row(
        source="taehoonlee/tensornets@c9b1d78f806892193efdebee2789a47fd148b984",
        what="`MobileNet25`, 30 steps on 16 random images",
        programs=("DRIVERS/train_tensornets.py",),
        path=(".",),
        requires=("h5py", "scipy", "pyyaml", "six"),
        apart=_KERAS,
        sign=Falls("loss", rf"(?m)^loss {_NUMBER}", to=0.1, least=30),
    ),
)
