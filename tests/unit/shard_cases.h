/* shard_cases.h: programs for shard_test, and the frames that four workers must get for them. Home
 * is w0; group r + 1 is worker r alone, group 5 is all workers.
 * SPDX-License-Identifier: MIT */
#ifndef GT_TESTS_UNIT_SHARD_CASES_H
#define GT_TESTS_UNIT_SHARD_CASES_H

typedef struct Program {
    const char *name, *text, *want;
} Program;

static const Program programs[] = {
    {"unsharded", "t0 = full 1 [8,2] f32\nt1 = add t0 t0\nfetch t1\nfree t0 t1\n",
     "t0 = full 1 [8,2] f32\n"
     "t1 = add t0 t0\n"
     "fetch t1\n"
     "free t0 t1\n"
     "-> w0 \n"},
    {"new tensors",
     "signal define a axis=0\nsignal define b axis=-1 workers=[2,1]\n"
     "signal define r replicated=true workers=[1,2]\n"
     "signal enter a\nt0 = rand [10,3] f32 rng=1:2\nt1 = full 1 [] f32\nt2 = arange 0 1 [1] i64\n"
     "signal enter b\nt3 = full 2 [4,5] f32\nsignal enter r\nt4 = full 3 [4] f32\n"
     "signal enter unknown\nt5 = full 4 [4] f32\nsignal exit unknown\nsignal exit r\n"
     "signal exit b\nt6 = full 5 [9] f32\nsignal exit a\nt7 = full 6 [9] f32\n",
     "t0 = rand [10,3] f32 rng=1:2 on=5 split=[0,3]\n"
     "t1 = full 1 [] f32 on=5\n"
     "t2 = arange 0 1 [1] i64 on=5\n"
     "t3 = full 2 [4,5] f32 on=6 split=[1,3]\n"
     "t4 = full 3 [4] f32 on=7\n"
     "t5 = full 4 [4] f32 on=7\n"
     "t6 = full 5 [9] f32 on=5 split=[0,3]\n"
     "t7 = full 6 [9] f32 on=1\n"
     "-> w0 w1 w2 w3 \n"},
    {"data parallel",
     "signal define a axis=0\nt0 = randn [6,4] f32 rng=1:0\nsignal enter a\n"
     "t1 = randn [256,6] f32 rng=1:1\nt2 = matmul t1 t0\nt3 = relu t2\nt4 = sum t3\n"
     "t5 = permute t1 axes=[1,0]\nt6 = matmul t5 t3\nsignal exit a\nt7 = mul t6 0.5\n"
     "t8 = sub t0 t7 keep=true\nprint \"{}\" t4\nfree t2 t3 t4\n",
     "t0 = randn [6,4] f32 rng=1:0 on=1\n"
     "t1 = randn [256,6] f32 rng=1:1 on=5 split=[0,64]\n"
     "+ t9223372036854775808 = move t0 shape=[6,4] dtype=f32 on=5 from=1\n"
     "t2 = matmul t1 t9223372036854775808 on=5 split=[0,64]\n"
     "t3 = relu t2 on=5 split=[0,64]\n"
     "+ t9223372036854775809 = all_to_all t3 shape=[256,4] dtype=f32 on=5 split=[0,1024] from=5 "
     "from_split=[0,64]\n"
     "t4 = sum t9223372036854775809 on=5 partial=\"sum 4096 4096 1024\"\n"
     "t5 = permute t1 axes=[1,0] on=5 split=[1,64]\n"
     "t6 = matmul t5 t3 on=5 partial=\"sum 64 64 256\"\n"
     "+ t9223372036854775810 = all_reduce t6 shape=[6,4] dtype=f32 on=5 from=5 from_partial=\"sum "
     "64 64 256\"\n"
     "t7 = mul t9223372036854775810 0.5 on=5\n"
     "t8 = sub t0 t7 keep=true on=1\n"
     "+ t9223372036854775811 = move t4 shape=[] dtype=f32 on=1 from=5 from_partial=\"sum 4096 "
     "4096 1024\"\n"
     "print \"{}\" t9223372036854775811 on=1\n"
     "+ free t9223372036854775811\n"
     "+ free t9223372036854775809\n"
     "free t2 t3 t4\n"
     "-> w0 w1 w2 w3 \n"},
    {"tensor parallel",
     "signal define col axis=1\nsignal define row axis=0\nt0 = randn [8,6] f32 rng=1:0\n"
     "signal enter col\nt1 = randn [6,256] f32 rng=1:1\nsignal exit col\nsignal enter row\n"
     "t2 = randn [256,6] f32 rng=1:2\nsignal exit row\nt3 = matmul t0 t1\nt4 = gelu t3\n"
     "t5 = matmul t4 t2\nt6 = add t5 t0\nt7 = exp t6\nt8 = mul t6 t7\n",
     "t0 = randn [8,6] f32 rng=1:0 on=1\n"
     "t1 = randn [6,256] f32 rng=1:1 on=5 split=[1,64]\n"
     "t2 = randn [256,6] f32 rng=1:2 on=5 split=[0,64]\n"
     "+ t9223372036854775808 = move t0 shape=[8,6] dtype=f32 on=5 from=1\n"
     "t3 = matmul t9223372036854775808 t1 on=5 split=[1,64]\n"
     "t4 = gelu t3 on=5 split=[1,64]\n"
     "t5 = matmul t4 t2 on=5 partial=\"sum 64 64 256\"\n"
     "+ t9223372036854775809 = all_reduce t5 shape=[8,6] dtype=f32 on=5 from=5 from_partial=\"sum "
     "64 64 256\"\n"
     "t6 = add t9223372036854775809 t9223372036854775808 on=5\n"
     "t7 = exp t6 on=5\n"
     "t8 = mul t6 t7 on=5\n"
     "-> w0 w1 w2 w3 \n"},
    {"constants are made where they are needed",
     "signal define a axis=0\nt0 = full 1 [] f32\nt1 = reshape t0 [1,1]\nt2 = expand t1 [8,3]\n"
     "signal enter a\nt3 = randn [8,3] f32 rng=1:0\nt4 = mul t3 t2\nt5 = add t4 t0\n"
     "t6 = sub t4 t2\nt7 = neg t0\nsignal exit a\nt8 = neg t7\nt9 = mul t3 t8\nfree t0 t2\n",
     "t0 = full 1 [] f32 on=1\n"
     "t1 = reshape t0 [1,1] on=1\n"
     "t2 = expand t1 [8,3] on=1\n"
     "t3 = randn [8,3] f32 rng=1:0 on=5 split=[0,2]\n"
     "+ t9223372036854775808 = full 1 [8,3] f32 on=5 split=[0,2]\n"
     "t4 = mul t3 t9223372036854775808 on=5 split=[0,2]\n"
     "+ t9223372036854775809 = full 1 [] f32 on=5\n"
     "t5 = add t4 t9223372036854775809 on=5 split=[0,2]\n"
     "t6 = sub t4 t9223372036854775808 on=5 split=[0,2]\n"
     "t7 = neg t9223372036854775809 on=5\n"
     "t8 = neg t7 on=5\n"
     "t9 = mul t3 t8 on=5 split=[0,2]\n"
     "+ free t9223372036854775809\n"
     "+ free t9223372036854775808\n"
     "free t0 t2\n"
     "-> w0 w1 w2 w3 \n"},
    {"a batch of offsets and a range of steps",
     "signal define a axis=0\nsignal enter a\nt0 = randint 0 99 [8,1] i64 rng=1:0\n"
     "t1 = arange 0 1 [64] i64\nt2 = add t0 t1\nt3 = add t1 t0\nsignal exit a\n",
     "t0 = randint 0 99 [8,1] i64 rng=1:0 on=5 split=[0,2]\n"
     "t1 = arange 0 1 [64] i64 on=5 split=[0,16]\n"
     "+ t9223372036854775808 = all_gather t1 shape=64 dtype=i64 on=5 from=5 from_split=[0,16]\n"
     "t2 = add t0 t9223372036854775808 on=5 split=[0,2]\n"
     "t3 = add t9223372036854775808 t0 on=5 split=[0,2]\n"
     "-> w0 w1 w2 w3 \n"},
    {"pipeline",
     "signal define s0 axis=0 workers=[0]\nsignal define s1 axis=0 workers=[1]\n"
     "signal enter s0\nt0 = randn [4,4] f32 rng=1:0\nt1 = exp t0\nsignal exit s0\n"
     "signal enter s1\nt2 = randn [4,4] f32 rng=1:1\nt3 = matmul t1 t2\nsignal exit s1\n"
     "fetch t3\n",
     "t0 = randn [4,4] f32 rng=1:0 on=1\n"
     "t1 = exp t0 on=1\n"
     "t2 = randn [4,4] f32 rng=1:1 on=2\n"
     "+ t9223372036854775808 = move t1 shape=[4,4] dtype=f32 on=2 from=1\n"
     "t3 = matmul t9223372036854775808 t2 on=2\n"
     "fetch t3 on=2\n"
     "-> w0 w1 \n"},
    {"conversions are cached, and freed with their tensor",
     "signal define a axis=0\nt0 = randn [8] f32 rng=1:0\nsignal enter a\nt1 = exp t0\n"
     "t2 = log t0\nt3 = add t0 t0\nsignal exit a\nfree t0\n",
     "t0 = randn [8] f32 rng=1:0 on=1\n"
     "+ t9223372036854775808 = move t0 shape=8 dtype=f32 on=5 split=[0,2] from=1\n"
     "t1 = exp t9223372036854775808 on=5 split=[0,2]\n"
     "t2 = log t9223372036854775808 on=5 split=[0,2]\n"
     "t3 = add t9223372036854775808 t9223372036854775808 on=5 split=[0,2]\n"
     "+ free t9223372036854775808\n"
     "free t0\n"
     "-> w0 w1 w2 w3 \n"},
    {"constants are made, not moved",
     "signal define a axis=0\nt0 = full 2 [8] f32\nt1 = full 0 [8] f32\nt2 = full 1 [4] f32\n"
     "signal enter a\nt3 = randn [256,8] f32 rng=1:0\nsignal exit a\nt4 = add t3 t0\n"
     "t5 = sum t3 axis=0\nt6 = add t5 t1\nt7 = add t5 t0\n"
     "signal enter a\nt8 = exp t0\nsignal exit a\nfree t0 t1\n",
     "t0 = full 2 [8] f32 on=1\n"
     "t1 = full 0 [8] f32 on=1\n"
     "t2 = full 1 [4] f32 on=1\n"
     "t3 = randn [256,8] f32 rng=1:0 on=5 split=[0,64]\n"
     "+ t9223372036854775808 = full 2 [8] f32 on=5\n"
     "t4 = add t3 t9223372036854775808 on=5 split=[0,64]\n"
     "t5 = sum t3 axis=0 on=5 partial=\"sum 64 64 256\"\n"
     "+ t9223372036854775809 = all_reduce t5 shape=8 dtype=f32 on=5 from=5 from_partial=\"sum 64 "
     "64 256\"\n"
     "+ t9223372036854775810 = full 0 [8] f32 on=5\n"
     "t6 = add t9223372036854775809 t9223372036854775810 on=5\n"
     "t7 = add t9223372036854775809 t9223372036854775808 on=5\n"
     "+ t9223372036854775811 = full 2 [8] f32 on=5 split=[0,2]\n"
     "t8 = exp t9223372036854775811 on=5 split=[0,2]\n"
     "+ free t9223372036854775811\n"
     "+ free t9223372036854775808\n"
     "+ free t9223372036854775810\n"
     "free t0 t1\n"
     "-> w0 w1 w2 w3 \n"},
    {"a window serves its slice and nothing else",
     "signal define a axis=0\nsignal enter a\nt0 = randn [8] f32 rng=1:0\nsignal exit a\n"
     "t1 = slice t0 [0:4]\nt2 = slice t0 [3:7]\nt3 = slice t0 [0:4]\nt4 = exp t0\n"
     "t5 = matmul t0 t0\nt6 = cat t1 t0 axis=0\nt7 = sum t0\nfree t0\n",
     "t0 = randn [8] f32 rng=1:0 on=5 split=[0,2]\n"
     "+ t9223372036854775808 = all_to_all t0 shape=8 dtype=f32 on=5 split=[0,1] from=5 "
     "from_split=[0,2]\n"
     "t1 = slice t9223372036854775808 [0:4] on=5 split=[0,1]\n"
     "+ t9223372036854775809 = all_to_all t0 shape=8 dtype=f32 on=5 split=[0,1,3] from=5 "
     "from_split=[0,2]\n"
     "t2 = slice t9223372036854775809 [3:7] on=5 split=[0,1]\n"
     "t3 = slice t9223372036854775808 [0:4] on=5 split=[0,1]\n"
     "t4 = exp t0 on=5 split=[0,2]\n"
     "+ t9223372036854775810 = all_gather t0 shape=8 dtype=f32 on=5 from=5 from_split=[0,2]\n"
     "t5 = matmul t9223372036854775810 t9223372036854775810 on=5\n"
     "+ t9223372036854775811 = all_to_all t1 shape=4 dtype=f32 on=5 split=[0,3] from=5 "
     "from_split=[0,1]\n"
     "+ t9223372036854775812 = all_to_all t0 shape=8 dtype=f32 on=5 split=[0,3,-4] from=5 "
     "from_split=[0,2]\n"
     "t6 = cat t9223372036854775811 t9223372036854775812 axis=0 on=5 split=[0,3]\n"
     "+ t9223372036854775813 = all_to_all t0 shape=8 dtype=f32 on=5 split=[0,4096] from=5 "
     "from_split=[0,2]\n"
     "t7 = sum t9223372036854775813 on=5 partial=\"sum 4096 4096 8\"\n"
     "+ free t9223372036854775813\n"
     "+ free t9223372036854775812\n"
     "+ free t9223372036854775810\n"
     "+ free t9223372036854775808\n"
     "+ free t9223372036854775809\n"
     "free t0\n"
     "-> w0 w1 w2 w3 \n"},
    {"terms in a window are not the tensor",
     "signal define a axis=0\nsignal enter a\nt0 = randn [256,8] f32 rng=1:0\n"
     "t1 = randn [6] f32 rng=1:1\nsignal exit a\nt2 = sum t0 axis=0\n"
     "t3 = cat t1 t2 axis=0\nt4 = exp t2\nt5 = log t2\n",
     "t0 = randn [256,8] f32 rng=1:0 on=5 split=[0,64]\n"
     "t1 = randn [6] f32 rng=1:1 on=5 split=[0,2]\n"
     "t2 = sum t0 axis=0 on=5 partial=\"sum 64 64 256\"\n"
     "+ t9223372036854775808 = all_to_all t1 shape=6 dtype=f32 on=5 split=[0,4] from=5 "
     "from_split=[0,2]\n"
     "+ t9223372036854775809 = reduce_scatter t2 shape=8 dtype=f32 on=5 split=[0,4,-6] from=5 "
     "from_partial=\"sum 64 64 256\"\n"
     "t3 = cat t9223372036854775808 t9223372036854775809 axis=0 on=5 split=[0,4]\n"
     "+ t9223372036854775810 = all_reduce t2 shape=8 dtype=f32 on=5 from=5 from_partial=\"sum 64 "
     "64 256\"\n"
     "t4 = exp t9223372036854775810 on=5\n"
     "t5 = log t9223372036854775810 on=5\n"
     "-> w0 w1 w2 w3 \n"},
    {"one conversion serves a reduction and its sum",
     "signal define a axis=0\nsignal enter a\nt0 = full 1 [8,2] f32\nt1 = sum t0\n"
     "t2 = exp t1\nt3 = log t1\nt4 = neg t1\n",
     "t0 = full 1 [8,2] f32 on=5 split=[0,2]\n"
     "+ t9223372036854775808 = full 1 [8,2] f32 on=5 split=[0,2048]\n"
     "t1 = sum t9223372036854775808 on=5 partial=\"sum 4096 4096 16\"\n"
     "+ t9223372036854775809 = all_reduce t1 shape=[] dtype=f32 on=5 from=5 from_partial=\"sum "
     "4096 4096 16\"\n"
     "t2 = exp t9223372036854775809 on=5\n"
     "t3 = log t9223372036854775809 on=5\n"
     "t4 = neg t9223372036854775809 on=5\n"
     "-> w0 w1 w2 w3 \n"},
    {"signal.tensor",
     "signal define a axis=0\nt0 = randn [8,2] f32 rng=1:0\nt1 = shard t0 a\nt2 = shard t1 a\n"
     "t3 = shard t0 nothing\nfetch t1\n",
     "t0 = randn [8,2] f32 rng=1:0 on=1\n"
     "t1 = move t0 shape=[8,2] dtype=f32 on=5 split=[0,2] from=1\n"
     "t2 = shard t1 a on=5 split=[0,2]\n"
     "t3 = shard t0 nothing on=1\n"
     "+ t9223372036854775808 = move t1 shape=[8,2] dtype=f32 on=1 from=5 from_split=[0,2]\n"
     "fetch t9223372036854775808 on=1\n"
     "+ free t9223372036854775808\n"
     "-> w0 w1 w2 w3 \n"},
    {"data",
     "signal define a axis=0\nsignal enter a\nt0 = data f32 [4] 1 2 3 4\nt1 = data f32 [] 1\n",
     "t0 = data f32 [4] 1 2 3 4 on=5 split=[0,1]\n"
     "t1 = data f32 [] 1 on=5\n"
     "-> w0 w1 w2 w3 \n"},
    {"a model's place",
     "signal define a axis=0\nsignal enter a\nt0 = randn [8,2] f32 rng=1:0\nsignal exit a\n"
     "t1 = rand t0 rng=1:1\nt2 = full t0 0\n",
     "t0 = randn [8,2] f32 rng=1:0 on=5 split=[0,2]\n"
     "t1 = rand t0 rng=1:1 on=5 split=[0,2]\n"
     "t2 = full t0 0 on=5 split=[0,2]\n"
     "-> w0 w1 w2 w3 \n"},
    {"operands disagree",
     "signal define a axis=0 workers=[1]\nsignal define b axis=0 workers=[2,3]\n"
     "signal enter a\nt0 = randn [8,2] f32 rng=1:0\nsignal exit a\nsignal enter b\n"
     "t1 = randn [8,2] f32 rng=1:1\nt2 = randn [2] f32 rng=1:2\nsignal exit b\n"
     "t3 = add t0 t1\nt4 = randn [2] f32 rng=1:3\nt5 = add t4 t0\n",
     "t0 = randn [8,2] f32 rng=1:0 on=2\n"
     "t1 = randn [8,2] f32 rng=1:1 on=6 split=[0,4]\n"
     "t2 = randn [2] f32 rng=1:2 on=6 split=[0,1]\n"
     "+ t9223372036854775808 = move t0 shape=[8,2] dtype=f32 on=6 split=[0,4] from=2\n"
     "t3 = add t9223372036854775808 t1 on=6 split=[0,4]\n"
     "t4 = randn [2] f32 rng=1:3 on=1\n"
     "+ t9223372036854775809 = move t4 shape=2 dtype=f32 on=2 from=1\n"
     "t5 = add t9223372036854775809 t0 on=2\n"
     "-> w0 w1 w2 w3 \n"},
    {"new tensors without a scope",
     "signal define \"*\" axis=0\nt0 = full 0 [512,512] f32\n"
     "t1 = full 0 [8] f32\nt2 = add t0 1\n",
     "t0 = full 0 [512,512] f32 on=5 split=[0,128]\n"
     "t1 = full 0 [8] f32 on=1\n"
     "t2 = add t0 1 on=5 split=[0,128]\n"
     "-> w0 w1 w2 w3 \n"},
};
#endif
