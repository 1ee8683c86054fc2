#!/usr/bin/env python3
"""make_settings.py: writes tests/golden/settings.gt: values of settings that PyTorch refuses, and whether gt's message names the setting.

Run by hand where PyTorch is installed (python tests/golden/make_settings.py > tests/golden/settings.gt); its output is
committed, so that no test needs it. A row of CASES: the function; its arguments, each replaced in turn by the values below; what
uses the result; further optional arguments. One expression serves both languages.
SPDX-License-Identifier: MIT
"""
import warnings

import torch
from torch import nn, ones, optim, tensor, zeros  # noqa: F401: for eval
from torch import distributions as D  # noqa: F401
from torch.nn import functional as F  # noqa: F401

warnings.simplefilter("ignore")
VALUES = ["'a'", "none", "true", "-1", "1.5", "nan", "[1]", "ones(2)"]
CASES = """
nn.Linear; in_features=3 out_features=2; (ones(4, 3)); bias
nn.Bilinear; in1_features=3 in2_features=3 out_features=2; (ones(4, 3), ones(4, 3)); bias
nn.Embedding; num_embeddings=5 embedding_dim=3; (tensor([1, 2])); padding_idx max_norm norm_type
nn.Dropout; p=0.5; (ones(4, 3)); inplace
nn.Dropout1d; p=0.5; (ones(4, 3)); inplace
nn.Dropout2d; p=0.5; (ones(1, 4, 3, 3)); inplace
nn.AlphaDropout; p=0.5; (ones(4, 3)); inplace
nn.PairwiseDistance; ; (ones(4, 3), ones(4, 3)); p eps keepdim
nn.CosineSimilarity; ; (ones(4, 3), ones(4, 3)); dim eps
nn.LayerNorm; normalized_shape=3; (ones(4, 3)); eps elementwise_affine bias
nn.RMSNorm; normalized_shape=3; (ones(4, 3)); eps elementwise_affine
nn.GroupNorm; num_groups=2 num_channels=4; (ones(1, 4, 3)); eps affine
nn.BatchNorm1d; num_features=3; (ones(4, 3)); eps momentum affine track_running_stats
nn.BatchNorm2d; num_features=3; (ones(4, 3, 2, 2)); eps momentum affine track_running_stats
nn.InstanceNorm1d; num_features=3; (ones(4, 3, 2)); eps momentum affine track_running_stats
nn.LocalResponseNorm; size=3; (ones(4, 3, 2)); alpha beta k
nn.Conv1d; in_channels=2 out_channels=4 kernel_size=3; (ones(1, 2, 8)); stride padding dilation groups bias padding_mode
nn.Conv2d; in_channels=2 out_channels=4 kernel_size=3; (ones(1, 2, 8, 8)); stride padding dilation groups bias padding_mode
nn.ConvTranspose1d; in_channels=2 out_channels=4 kernel_size=3; (ones(1, 2, 8)); stride padding output_padding groups bias dilation
nn.MaxPool1d; kernel_size=2; (ones(1, 2, 8)); stride padding dilation return_indices ceil_mode
nn.MaxPool2d; kernel_size=2; (ones(1, 2, 8, 8)); stride padding dilation return_indices ceil_mode
nn.AvgPool1d; kernel_size=2; (ones(1, 2, 8)); stride padding ceil_mode count_include_pad
nn.AvgPool2d; kernel_size=2; (ones(1, 2, 8, 8)); stride padding ceil_mode count_include_pad divisor_override
nn.LPPool1d; norm_type=2 kernel_size=2; (ones(1, 2, 8)); stride ceil_mode
nn.AdaptiveAvgPool1d; output_size=2; (ones(1, 2, 8));
nn.AdaptiveMaxPool1d; output_size=2; (ones(1, 2, 8)); return_indices
nn.ZeroPad2d; padding=1; (ones(1, 2, 8, 8));
nn.ConstantPad1d; padding=1 value=1.0; (ones(1, 2, 8));
nn.ReflectionPad1d; padding=1; (ones(1, 2, 8));
nn.Flatten; ; (ones(1, 2, 8)); start_dim end_dim
nn.PixelShuffle; upscale_factor=2; (ones(1, 4, 2, 2));
nn.PixelUnshuffle; downscale_factor=2; (ones(1, 4, 2, 2));
nn.ChannelShuffle; groups=2; (ones(1, 4, 2, 2));
nn.Upsample; scale_factor=2; (ones(1, 4, 2)); mode align_corners
nn.Unfold; kernel_size=2; (ones(1, 2, 8, 8)); dilation padding stride
nn.Fold; output_size=[8,8] kernel_size=[1,1]; (ones(1, 2, 64)); dilation padding stride
nn.ReLU; ; (ones(3)); inplace
nn.LeakyReLU; ; (ones(3)); negative_slope inplace
nn.RReLU; ; (ones(3)); lower upper inplace
nn.ELU; ; (ones(3)); alpha inplace
nn.CELU; ; (ones(3)); alpha inplace
nn.GELU; ; (ones(3)); approximate
nn.Hardtanh; ; (ones(3)); min_val max_val inplace
nn.Hardshrink; ; (ones(3)); lambd
nn.Softshrink; ; (ones(3)); lambd
nn.Softplus; ; (ones(3)); beta threshold
nn.Threshold; threshold=1.0 value=2.0; (ones(3)); inplace
nn.Softmax; dim=0; (ones(3));
nn.LogSoftmax; dim=0; (ones(3));
nn.GLU; ; (ones(4)); dim
nn.PReLU; ; (ones(4, 1)); num_parameters init
nn.RNN; input_size=3 hidden_size=4; (ones(2, 3, 3)); num_layers nonlinearity bias batch_first dropout bidirectional
nn.LSTM; input_size=3 hidden_size=4; (ones(2, 3, 3)); num_layers bias batch_first dropout bidirectional proj_size
nn.GRU; input_size=3 hidden_size=4; (ones(2, 3, 3)); num_layers bias batch_first dropout bidirectional
nn.RNNCell; input_size=3 hidden_size=4; (ones(2, 3)); bias nonlinearity
nn.LSTMCell; input_size=3 hidden_size=4; (ones(2, 3)); bias
nn.GRUCell; input_size=3 hidden_size=4; (ones(2, 3)); bias
nn.MultiheadAttention; embed_dim=4 num_heads=2; (ones(2, 3, 4), ones(2, 3, 4), ones(2, 3, 4)); dropout bias add_bias_kv add_zero_attn batch_first kdim vdim
nn.TransformerEncoderLayer; d_model=4 nhead=2; (ones(2, 3, 4)); dim_feedforward dropout layer_norm_eps batch_first norm_first bias
nn.TransformerDecoderLayer; d_model=4 nhead=2; (ones(2, 3, 4), ones(2, 3, 4)); dim_feedforward dropout layer_norm_eps batch_first norm_first bias
nn.CrossEntropyLoss; ; (ones(2, 3), tensor([0, 1])); weight ignore_index reduction label_smoothing
nn.NLLLoss; ; (ones(2, 3), tensor([0, 1])); weight ignore_index reduction
nn.CTCLoss; ; (zeros(5, 2, 4), tensor([[1, 2], [1, 3]]), tensor([5, 5]), tensor([2, 2])); blank reduction zero_infinity
nn.KLDivLoss; ; (ones(2, 3), ones(2, 3)); reduction log_target
nn.MSELoss; ; (ones(2, 3), ones(2, 3)); reduction
nn.L1Loss; ; (ones(2, 3), ones(2, 3)); reduction
nn.PoissonNLLLoss; ; (ones(2, 3), ones(2, 3)); log_input full eps reduction
nn.GaussianNLLLoss; ; (ones(2, 3), ones(2, 3), ones(2, 3)); full eps reduction
nn.SmoothL1Loss; ; (ones(2, 3), zeros(2, 3)); beta reduction
nn.HuberLoss; ; (ones(2, 3), zeros(2, 3)); delta reduction
nn.BCELoss; ; (ones(2, 3), ones(2, 3)); reduction
nn.BCEWithLogitsLoss; ; (ones(2, 3), ones(2, 3)); reduction
nn.MarginRankingLoss; ; (ones(3), ones(3), ones(3)); margin reduction
nn.HingeEmbeddingLoss; ; (ones(3), ones(3)); margin reduction
nn.CosineEmbeddingLoss; ; (ones(2, 3), ones(2, 3), ones(2)); margin reduction
nn.MultiMarginLoss; ; (ones(2, 3), tensor([0, 1])); p margin reduction
nn.TripletMarginLoss; ; (ones(2, 3), ones(2, 3), zeros(2, 3)); margin p eps swap reduction
nn.init.normal_; @nn.Linear(3,3).weight; ; mean std
nn.init.uniform_; @nn.Linear(3,3).weight; ; a b
nn.init.constant_; @nn.Linear(3,3).weight val=1.0; ;
nn.init.xavier_uniform_; @nn.Linear(3,3).weight; ; gain
nn.init.xavier_normal_; @nn.Linear(3,3).weight; ; gain
nn.init.kaiming_uniform_; @nn.Linear(3,3).weight; ; a mode nonlinearity
nn.init.trunc_normal_; @nn.Linear(3,3).weight; ; mean std a b
nn.init.orthogonal_; @nn.Linear(3,3).weight; ; gain
nn.init.sparse_; @nn.Linear(3,3).weight sparsity=0.5; ; std
nn.utils.clip_grad_norm_; @trained() max_norm=1.0; ; norm_type
nn.utils.clip_grad_value_; @trained() clip_value=1.0; ;
optim.SGD; @trained(); .step(); lr momentum dampening weight_decay nesterov maximize
optim.Adam; @trained(); .step(); lr betas eps weight_decay amsgrad maximize
optim.AdamW; @trained(); .step(); lr betas eps weight_decay amsgrad maximize
optim.RMSprop; @trained(); .step(); lr alpha eps weight_decay momentum centered maximize
optim.Adagrad; @trained(); .step(); lr lr_decay weight_decay initial_accumulator_value eps maximize
optim.Adadelta; @trained(); .step(); lr rho eps weight_decay maximize
optim.Adamax; @trained(); .step(); lr betas eps weight_decay maximize
optim.NAdam; @trained(); .step(); lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize
optim.RAdam; @trained(); .step(); lr betas eps weight_decay decoupled_weight_decay maximize
optim.Rprop; @trained(); .step(); lr etas step_sizes maximize
optim.LBFGS; @trained(); ; lr max_iter max_eval tolerance_grad tolerance_change history_size
optim.lr_scheduler.StepLR; @sgd() step_size=2; .step(); gamma last_epoch
optim.lr_scheduler.MultiStepLR; @sgd() milestones=[2]; .step(); gamma
optim.lr_scheduler.ExponentialLR; @sgd() gamma=0.5; .step();
optim.lr_scheduler.ConstantLR; @sgd(); .step(); factor total_iters
optim.lr_scheduler.LinearLR; @sgd(); .step(); start_factor end_factor total_iters
optim.lr_scheduler.PolynomialLR; @sgd(); .step(); total_iters power
optim.lr_scheduler.CosineAnnealingLR; @sgd() T_max=5; .step(); eta_min
optim.lr_scheduler.CosineAnnealingWarmRestarts; @sgd() T_0=5; .step(); T_mult eta_min
optim.lr_scheduler.OneCycleLR; @sgd() max_lr=0.1 total_steps=10; .step(); pct_start anneal_strategy cycle_momentum base_momentum max_momentum div_factor final_div_factor three_phase
optim.lr_scheduler.CyclicLR; @sgd() base_lr=0.1 max_lr=0.2; .step(); step_size_up step_size_down mode gamma scale_mode cycle_momentum base_momentum max_momentum
optim.lr_scheduler.ReduceLROnPlateau; @sgd(); .step(1.0); mode factor patience threshold threshold_mode cooldown min_lr eps
F.dropout; @ones(3) p=0.5 training=true; ;
F.dropout1d; @ones(1, 3, 2) p=0.5 training=true; ;
F.alpha_dropout; @ones(3) p=0.5 training=true; ;
F.elu; @ones(3) alpha=1.0; ;
F.celu; @ones(3) alpha=1.0; ;
F.leaky_relu; @ones(3) negative_slope=0.1; ;
F.hardtanh; @ones(3); ; min_val max_val
F.hardshrink; @ones(3) lambd=0.5; ;
F.softshrink; @ones(3) lambd=0.5; ;
F.threshold; @ones(3) threshold=0.5 value=1.0; ;
F.softplus; @ones(3); ; beta threshold
F.rrelu; @ones(3); ; lower upper training
F.glu; @ones(4); ; dim
F.gelu; @ones(4); ; approximate
F.softmax; @ones(4) dim=0; ;
F.gumbel_softmax; @ones(2, 4); ; tau hard dim
F.normalize; @ones(2, 4); ; p dim eps
F.layer_norm; @ones(2, 4) normalized_shape=[4]; ; eps
F.group_norm; @ones(2, 4, 3) num_groups=2; ; eps
F.batch_norm; @ones(2, 4) running_mean=zeros(4) running_var=ones(4); ; training momentum eps
F.instance_norm; @ones(2, 4, 3); ; use_input_stats eps
F.local_response_norm; @ones(2, 4, 3) size=2; ; alpha beta k
F.cosine_similarity; @ones(2, 4) @ones(2, 4); ; dim eps
F.pairwise_distance; @ones(2, 4) @ones(2, 4); ; p eps keepdim
F.cross_entropy; @ones(2, 3) @tensor([0, 1]); ; ignore_index reduction label_smoothing
F.nll_loss; @ones(2, 3) @tensor([0, 1]); ; ignore_index reduction
F.kl_div; @ones(2, 3) @ones(2, 3); ; reduction log_target
F.poisson_nll_loss; @ones(2, 3) @ones(2, 3); ; log_input full eps
F.gaussian_nll_loss; @ones(2, 3) @ones(2, 3) @ones(2, 3); ; full eps
F.smooth_l1_loss; @ones(2, 3) @zeros(2, 3); ; beta
F.huber_loss; @ones(2, 3) @zeros(2, 3); ; delta
F.margin_ranking_loss; @ones(3) @ones(3) @ones(3); ; margin
F.hinge_embedding_loss; @ones(3) @ones(3); ; margin
F.multi_margin_loss; @ones(2, 3) @tensor([0, 1]); ; p margin
F.triplet_margin_loss; @ones(2, 3) @ones(2, 3) @zeros(2, 3); ; margin p eps swap
F.ctc_loss; @zeros(5, 2, 4) @tensor([[1, 2], [1, 3]]) @tensor([5, 5]) @tensor([2, 2]); ; blank zero_infinity
F.embedding; @tensor([1, 2]) @ones(5, 3); ; padding_idx max_norm norm_type
F.one_hot; @tensor([1, 2]); ; num_classes
F.max_pool1d; @ones(1, 2, 8) kernel_size=2; ; stride padding dilation ceil_mode return_indices
F.max_pool2d; @ones(1, 2, 8, 8) kernel_size=2; ; stride padding dilation ceil_mode return_indices
F.avg_pool1d; @ones(1, 2, 8) kernel_size=2; ; stride padding ceil_mode count_include_pad
F.avg_pool2d; @ones(1, 2, 8, 8) kernel_size=2; ; stride padding ceil_mode count_include_pad
F.adaptive_avg_pool1d; @ones(1, 2, 8) output_size=2; ;
F.conv1d; @ones(1, 2, 8) @ones(4, 2, 3); ; stride padding dilation groups
F.conv2d; @ones(1, 2, 8, 8) @ones(4, 2, 3, 3); ; stride padding dilation groups
F.pad; @ones(1, 2, 8) pad=[1,1]; ; mode value
F.interpolate; @ones(1, 2, 8) scale_factor=2; ; mode align_corners
F.pixel_shuffle; @ones(1, 4, 2, 2) upscale_factor=2; ;
F.unfold; @ones(1, 2, 8, 8) kernel_size=2; ; dilation padding stride
F.grid_sample; @ones(1, 2, 8, 8) @zeros(1, 2, 2, 2); ; mode padding_mode align_corners
F.scaled_dot_product_attention; @ones(1, 2, 4) @ones(1, 2, 4) @ones(1, 2, 4); ; dropout_p is_causal scale
ones(3).quantile; q=0.5; ; dim keepdim interpolation
ones(3).median; dim=0; ; keepdim
ones(3).kthvalue; k=1; ; dim keepdim
D.Normal; loc=0.0 scale=1.0; .sample();
D.LogNormal; loc=0.0 scale=1.0; .sample();
D.Laplace; loc=0.0 scale=1.0; .sample();
D.Uniform; low=0.0 high=1.0; .sample();
D.Exponential; rate=1.0; .sample();
D.Poisson; rate=1.0; .sample();
D.Gamma; concentration=1.0 rate=1.0; .sample();
D.Beta; concentration1=1.0 concentration0=1.0; .sample();
D.Bernoulli; probs=0.5; .sample();
D.Categorical; probs=ones(2); .sample();
D.Dirichlet; concentration=ones(2); .sample();
nn.EmbeddingBag; num_embeddings=5 embedding_dim=3; (tensor([[1, 2]])); mode padding_idx
nn.Softmin; dim=0; (ones(3));
nn.Linear(3, 2).train; mode=true; ;
nn.Linear(3, 2).requires_grad_; requires_grad=true; ;
"""
# Of the values below that PyTorch refuses, those that gt refuses in a message without the setting's name, and those that it takes.
OTHERWISE, TAKEN = 89, 50
HEAD = """# stderr: dropout applies between layers
# Made by make_settings.py: values of settings that PyTorch refuses. gt's message must name the setting, or the name that gt
# has for it; the last line counts. To see the others, print(name, v, r) where they are counted.
fn trained() {
    m = nn.Linear(3, 2)
    backward m(ones(1, 3)).sum()
    return list(m.parameters())
}
fn sgd() => optim.SGD(trained(), lr=0.1, momentum=0.9)
D = distributions
ours = {dim: "axis", keepdim: "keepdims", num_groups: "groups", num_classes: "'n'"}
count = {named: 0, otherwise: 0, taken: 0}
fn no(name, f, values) {
    for v in values {
        ok, r = attempt(f, v)
        kind = "taken" if ok else "named" if ours.get(name, name) in r.message else "otherwise"
        count[kind] += 1
    }
}"""


def trained():
    m = nn.Linear(3, 2)
    m(ones(1, 3)).sum().backward()
    return list(m.parameters())


def sgd():
    return optim.SGD(trained(), lr=0.1, momentum=0.9)


SCOPE = dict(globals(), true=True, false=False, none=None, nan=float("nan"))


def refuses(f, value):
    try:
        f(eval(value, SCOPE))
    except Exception:
        return True
    return False


def split(args):
    """The arguments, each after @ (positional) or name=."""
    out, depth = [""], 0
    for c in args.strip():
        depth += c in "([{"
        depth -= c in ")]}"
        if c == " " and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [a for a in out if a]


def main():
    n = 0
    print(HEAD)
    for row in CASES.strip().split("\n"):
        fn, args, use, more = (x.strip() for x in row.split(";"))
        given = split(args)
        call = f"{fn}({', '.join(a.lstrip('@') for a in given)}){use}"
        eval(call, SCOPE)  # must work
        for name in [a.split("=")[0] for a in given if a[0] != "@"] + more.split():
            rest = [a.lstrip("@") for a in given if not a.startswith(name + "=")]
            expr = f"{fn}({', '.join(rest + [f'{name}=v'])}){use}"
            f = eval("lambda v: " + expr, SCOPE)
            values = [v for v in VALUES if refuses(f, v)]
            n += len(values)
            if values:
                print(f'no("{name}", fn(v) => {expr}, [{", ".join(values)}])')
    named = n - OTHERWISE - TAKEN
    print(f"print(count)  # expect: {{named: {named}, otherwise: {OTHERWISE}, taken: {TAKEN}}}")
    print("# not-world: replay")


main()
