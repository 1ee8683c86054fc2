/* rule_test.c: the conversions that common layers need, forward and backward, if only scopes shard
 * them. Each program is emitted by the interpreter. Its instructions go through rule_apply as the
 * dispatcher would send them: sources outside of scopes are replicated, and a converted operand
 * stays converted. The conversions are compared with a list. Splitting a whole tensor costs nothing
 * and is not listed; the others are listed with the bytes that ranks get from each other.
 *
 *   rule_test [NAME]    one program, with every instruction's layouts
 * SPDX-License-Identifier: MIT */
#include "dispatcher/rule/rule.h"
#include "lang/eval/run.h"
#include "lang/value/interp.h"
#include "lang/syntax/parse.h"
#include "runtime/layout/place.h"
#include "tests/unit/pulls.h"
#include "tests/unit/check.h"

enum { RANKS = 4, COPIES = 4, TENSORS = 20000, DEPTH = 8 };

/* ---- Programs ---- */

/* Scopes: s0, s1, s2: results are split along that axis; sl: along the last one. */
typedef struct Case {
    const char *name, *script, *moves; /* one line per conversion */
} Case;

#define SGD(p) #p " -= 0.1 * " #p ".grad\n"

#define ATTENTION                                                                                  \
    "fn attend(x, wq, wk, wv, wo, heads) {\n"                                                      \
    "    B, T, C = x.shape\n"                                                                      \
    "    split = fn(y) => y.reshape(B, T, heads, C // heads).permute(0, 2, 1, 3)\n"                \
    "    y = attention(split(x @ wq), split(x @ wk), split(x @ wv), causal=true)\n"                \
    "    return y.permute(0, 2, 1, 3).reshape(B, T, C) @ wo\n"                                     \
    "}\n"

static const Case cases[] = {
    {"data-parallel MLP",
     "signal s0 { x = randn(256, 20); y = randn(256, 3) }\n"
     "w = param(randn(20, 30)); b = param(zeros(30)); v = param(randn(30, 3))\n"
     "loss = mse_loss(relu(x @ w + b) @ v, y)\n"
     "loss.backward()\n" SGD(w) SGD(b) SGD(v) "print(loss)\n",
     "sum: all_to_all f32[256,3] 2304\n"
     "div: all_reduce f32[] 12\n"
     "mul: all_reduce f32[20,30] 28800\n"
     "mul: all_reduce f32[30] 1440\n"
     "mul: all_reduce f32[30,3] 4320\n"},
    {"data-parallel MLP, fewer rows than leaves",
     "signal s0 { x = randn(64, 20); y = randn(64, 3) }\n"
     "w = param(randn(20, 30)); b = param(zeros(30)); v = param(randn(30, 3))\n"
     "loss = mse_loss(relu(x @ w + b) @ v, y)\n"
     "loss.backward()\n" SGD(w) SGD(b) SGD(v) "print(loss)\n",
     "sum: all_to_all f32[64,3] 576\n"
     "div: all_reduce f32[] 12\n"
     "matmul: all_to_all f32[30,64] 5760\n"
     "matmul: all_gather f32[64,3] 2304\n"
     "sum: all_to_all f32[64,30] 5760\n"
     "matmul: all_gather f32[20,64] 15360\n"
     "sub: all_gather f32[20,30] 7200\n"
     "sub: all_gather f32[30] 360\n"
     "sub: all_gather f32[30,3] 1080\n"},
    {"rows move to whole leaves of several nodes",
     "signal s0 { x = randn(1500, 300); w = param(randn(1500, 50)) }\n"
     "a = x.sum(0) * 2.0\nb = (x.T @ w) * 2.0\n",
     "sum: all_to_all f32[1500,300] 64800\n"
     "mul: all_reduce f32[300] 14400\n"
     "matmul: all_to_all f32[300,1500] 64800\n"
     "matmul: all_to_all f32[1500,50] 10800\n"
     "mul: all_reduce f32[300,50] 720000\n"},
    {"rows move to larger nodes where that moves less than the nodes",
     "signal s0 { x = randn(2560, 1024); y = randn(2560, 1024); z = randn(2560, 256) }\n"
     "a = (x.T @ y) * 2.0\nb = (z.T @ z) * 2.0\n",
     "matmul: all_to_all f32[1024,2560] 3145728\n"
     "matmul: all_to_all f32[2560,1024] 3145728\n"
     "mul: all_reduce f32[1024,1024] 50331648\n"
     "mul: all_reduce f32[256,256] 3145728\n"},
    {"data-parallel linear, Adam, clipped",
     "import optim; import nn\n"
     "signal s0 { x = randn(256, 20); y = randn(256, 3) }\n"
     "w = param(randn(3, 20)); b = param(zeros(3))\n"
     "opt = optim.Adam([w, b], lr=0.01)\n"
     "loss = mse_loss(linear(x, w, b), y)\n"
     "loss.backward()\nnn.utils.clip_grad_norm_([w, b], 1.0)\nopt.step()\n",
     "sum: all_to_all f32[256,3] 2304\n"
     "div: all_reduce f32[] 12\n"
     "square: all_reduce f32[3,20] 2880\n"
     "square: all_reduce f32[3] 144\n"},
    {"gradients accumulate",
     "w = param(randn(20, 3))\n"
     "for i in range(2) {\n"
     "    signal s0 { x = randn(256, 20) }\n"
     "    loss = (x @ w).square().mean()\n    loss.backward()\n}\n" SGD(w),
     "sum: all_to_all f32[256,3] 2304\n"
     "div: all_reduce f32[] 12\n"
     "sum: all_to_all f32[256,3] 2304\n"
     "div: all_reduce f32[] 12\n"
     "add: all_reduce f32[20,3] 2880\n"
     "add: all_reduce f32[20,3] 2880\n"},
    {"tensor-parallel MLP",
     "x = randn(64, 20); y = randn(64, 3); c = param(randn(3))\n"
     "signal s1 { w = param(randn(20, 256)) }\n"
     "signal s0 { b = param(zeros(256)); v = param(randn(256, 3)) }\n"
     "h = gelu(x @ w + b)\n"
     "loss = mse_loss(h @ v + c, y)\n"
     "loss.backward()\n" SGD(w) SGD(b) SGD(v) SGD(c),
     "add: all_reduce f32[64,3] 9216\n"},
    {"data-parallel layer_norm, softmax, cross entropy",
     "signal s0 { x = randn(256, 20); y = randint(0, 10, (256,)) }\n"
     "g = param(ones(20)); b = param(zeros(20)); w = param(randn(20, 10))\n"
     "loss = cross_entropy(layer_norm(x, 20, g, b) @ w, y)\n"
     "loss.backward()\n" SGD(g) SGD(b) SGD(w),
     "sum: all_to_all f32[256] 768\n"
     "sum: all_to_all f32[256] 768\n"
     "div: all_reduce f32[] 12\n"
     "div: all_reduce f32[] 12\n"
     "mul: all_reduce f32[20] 960\n"
     "mul: all_reduce f32[20] 960\n"
     "mul: all_reduce f32[20,10] 9600\n"},
    {"layer_norm along the split axis",
     "signal sl { x = param(randn(64, 20)) }\n"
     "y = layer_norm(x)\n"
     "(y * y * y).sum().backward()\n" SGD(x),
     "sum: all_to_all f32[64,20] 3840\n"
     "sub: all_gather f32[64,1] 768\n"
     "sum: all_to_all f32[64,20] 3840\n"
     "mul: all_gather f32[64,1] 768\n"
     "sum: all_to_all f32[64,20] 3840\n"
     "sum: all_to_all f32[64,20] 3840\n"
     "mul: all_to_all f32[64,20] 3840\n"
     "add: all_to_all f32[64,20] 3840\n"
     "sum: all_to_all f32[64,20] 3840\n"
     "add: all_to_all f32[64,20] 3840\n"},
    {"classes split",
     "signal s1 { w = param(randn(20, 12)) }\n"
     "x = randn(64, 20); y = randint(0, 10, (64,))\n"
     "loss = cross_entropy(x @ w, y)\n"
     "loss.backward()\n" SGD(w),
     "sub: all_reduce f32[64,1] 3072\n"
     "sum: all_to_all f32[64,12] 2304\n"
     "gather: all_to_all f32[64,12] 2304\n"
     "sum: all_to_all f32[64] 192\n"
     "div: all_reduce f32[] 12\n"
     "matmul: all_to_all f32[64,12] 2304\n"},
    {"data-parallel attention",
     ATTENTION "signal s0 { x = randn(64, 16, 12) }\n"
               "p = [param(randn(12, 12)) for i in range(4)]\n"
               "y = attend(x, p[0], p[1], p[2], p[3], 4)\n"
               "loss = (y * y).mean()\nloss.backward()\n"
               "for q in p { q -= 0.1 * q.grad }\n",
     "sum: all_to_all f32[64,16,12] 36864\n"
     "div: all_reduce f32[] 12\n"
     "mul: all_reduce f32[12,12] 6912\n"
     "mul: all_reduce f32[12,12] 6912\n"
     "mul: all_reduce f32[12,12] 6912\n"
     "mul: all_reduce f32[12,12] 6912\n"},
    {"tensor-parallel attention",
     ATTENTION "x = randn(8, 6, 256)\n"
               "signal s1 { p = [param(randn(256, 256)) for i in range(3)] }\n"
               "signal s0 { o = param(randn(256, 256)) }\n"
               "y = x + attend(x, p[0], p[1], p[2], o, 4)\n"
               "loss = (y * y).mean()\nloss.backward()\n"
               "for q in p { q -= 0.1 * q.grad }\n" SGD(o),
     "add: all_reduce f32[8,6,256] 589824\n"},
    {"tensor-parallel attention inside a network",
     ATTENTION "x = param(randn(8, 6, 256))\n"
               "signal s1 { p = [param(randn(256, 256)) for i in range(3)] }\n"
               "signal s0 { o = param(randn(256, 256)) }\n"
               "y = x + attend(x, p[0], p[1], p[2], o, 4)\n"
               "loss = (y * y).mean()\nloss.backward()\n"
               "for q in p { q -= 0.1 * q.grad }\n" SGD(o) SGD(x),
     "add: all_reduce f32[8,6,256] 589824\n"
     "add: all_reduce f32[8,6,256] 589824\n"
     "add: all_reduce f32[8,6,256] 589824\n"
     "add: all_reduce f32[8,6,256] 589824\n"},
    {"data-parallel embedding",
     "signal s0 { t = randint(0, 50, (16, 6)) }\n"
     "w = param(randn(50, 8)); pos = param(randn(6, 8))\n"
     "y = embedding(t, w) + pos\n"
     "loss = (y * y).mean()\nloss.backward()\n" SGD(w) SGD(pos),
     "sum: all_to_all f32[16,6,8] 2304\n"
     "div: all_reduce f32[] 12\n"
     "sum: all_to_all f32[16,6,8] 2304\n"
     "index_put: all_gather i64[16,6] 2304\n"
     "sub: all_gather f32[50,8] 4800\n"
     "sub: all_gather f32[6,8] 576\n"},
    {"embedding split by features",
     "t = randint(0, 50, (16, 6))\n"
     "signal s1 { w = param(randn(50, 8)) }\n"
     "loss = embedding(t, w).square().mean()\nloss.backward()\n" SGD(w),
     "sum: all_to_all f32[16,6,8] 2304\n"
     "div: all_reduce f32[] 12\n"},
    {"data-parallel CNN",
     "signal s0 { x = randn(16, 3, 8, 8); y = randint(0, 10, (16,)) }\n"
     "k = param(randn(6, 3, 3, 3)); c = param(zeros(6)); w = param(randn(96, 10))\n"
     "h = relu(conv2d(x, k, c, padding=1))\n"
     "h = avg_pool2d(max_pool2d(h, 2), 1)\n"
     "loss = cross_entropy(h.reshape(16, 96) @ w, y)\n"
     "loss.backward()\n" SGD(k) SGD(c) SGD(w),
     "sum: all_to_all f32[16] 48\n"
     "sum: all_to_all f32[16] 48\n"
     "div: all_reduce f32[] 12\n"
     "div: all_reduce f32[] 12\n"
     "matmul: all_to_all f32[96,16] 4608\n"
     "matmul: all_gather f32[16,10] 1920\n"
     "conv_dw: all_gather f32[16,3,8,8] 36864\n"
     "conv_dw: all_gather f32[16,6,8,8] 73728\n"
     "mul: all_reduce f32[6] 288\n"
     "sub: all_gather f32[96,10] 11520\n"},
    {"channels split, float64",
     "dt = float64\n"
     "x = randn(4, 4, 8, 8, dtype=dt)\n"
     "signal s0 { k = param(randn(8, 4, 3, 3, dtype=dt)) }\n"
     "signal s0 { d = param(randn(8, 1, 3, 3, dtype=dt)) }\n"
     "signal s1 { e = param(randn(5, 8, 1, 1, dtype=dt)) }\n"
     "h = relu(conv2d(relu(conv2d(x, k)), d, groups=8))\n"
     "loss = (conv2d(h, e) * 0.5).square().mean()\n"
     "loss.backward()\n" SGD(k) SGD(d) SGD(e),
     "conv: all_gather f64[4,8,4,4] 12288\n"
     "conv: all_gather f64[5,8,1,1] 960\n"},
    {"channels split: float32 needs all of them",
     "dt = float32\n"
     "x = randn(4, 4, 8, 8, dtype=dt)\n"
     "signal s0 { k = param(randn(8, 4, 3, 3, dtype=dt)) }\n"
     "signal s0 { d = param(randn(8, 1, 3, 3, dtype=dt)) }\n"
     "signal s1 { e = param(randn(5, 8, 1, 1, dtype=dt)) }\n"
     "h = relu(conv2d(relu(conv2d(x, k)), d, groups=8))\n"
     "loss = (conv2d(h, e) * 0.5).square().mean()\n"
     "loss.backward()\n" SGD(k) SGD(d) SGD(e),
     "conv: all_gather f32[8,4,3,3] 3456\n"
     "conv: all_gather f32[8,1,3,3] 864\n"
     "conv: all_gather f32[5,8,1,1] 480\n"
     "sum: all_to_all f32[4,5,4,4] 960\n"
     "div: all_reduce f32[] 12\n"
     "conv_dw: all_gather f32[4,8,4,4] 6144\n"
     "conv_dw: all_gather f32[4,5,4,4] 3840\n"
     "conv_dw: all_gather f32[4,8,6,6] 13824\n"
     "conv_dw: all_gather f32[4,8,4,4] 6144\n"
     "conv_dw: all_gather f32[4,8,6,6] 13824\n"},
    {"data-parallel batch_norm, training",
     "signal s0 { x = randn(16, 3, 4, 4) }\n"
     "g = param(ones(3)); b = param(zeros(3)); m = buffer(zeros(3)); v = buffer(ones(3))\n"
     "y = batch_norm(x, m, v, g, b, training=true)\n"
     "loss = (y * y * y).mean()\nloss.backward()\n" SGD(g) SGD(b),
     "div: all_reduce f32[1,3,1,1] 144\n"
     "div: all_reduce f32[1,3,1,1] 144\n"
     "sum: all_to_all f32[16,3,4,4] 2304\n"
     "div: all_reduce f32[] 12\n"
     "mul: all_reduce f32[1,3,1,1] 144\n"
     "mul: all_reduce f32[3] 144\n"},
    {"dropout, mask, max",
     "signal s0 { x = param(randn(16, 6)) }\n"
     "seen = arange(6) < 4\n"
     "y = dropout(where(seen, x, -1.0), 0.5)\n"
     "loss = (max(y, axis=1) + max(y, axis=0).sum()).sum()\nloss.backward()\n" SGD(x),
     "sum: all_reduce f32[6] 288\n"
     "sum: all_to_all f32[16] 48\n"
     "eq: all_reduce i32[1,6] 288\n"},
    {"batches of a split set",
     "signal s0 { x = randn(64, 5) }\n"
     "w = param(randn(5, 2))\n"
     "for i in range(2) {\n"
     "    loss = (x[i * 16:(i + 1) * 16] @ w).square().mean()\n"
     "    loss.backward()\n}\n" SGD(w),
     "slice: all_to_all f32[64,5] 240\n"
     "sum: all_to_all f32[16,2] 96\n"
     "div: all_reduce f32[] 12\n"
     "matmul: all_to_all f32[5,16] 240\n"
     "matmul: all_gather f32[16,2] 384\n"
     "slice: all_to_all f32[64,5] 240\n"
     "sum: all_to_all f32[16,2] 96\n"
     "div: all_reduce f32[] 12\n"
     "matmul: all_to_all f32[5,16] 240\n"
     "matmul: all_gather f32[16,2] 384\n"
     "sub: all_gather f32[5,2] 120\n"},
    {"shuffled batch of a split set",
     "signal s0 { x = randn(64, 5) }\n"
     "w = param(randn(5, 2)); order = randint(0, 64, (16,))\n"
     "signal s0 { z = x[order] }\n"
     "loss = (z @ w).square().mean()\nloss.backward()\n" SGD(w),
     "index: all_gather f32[64,5] 3840\n"
     "sum: all_to_all f32[16,2] 96\n"
     "div: all_reduce f32[] 12\n"
     "matmul: all_to_all f32[5,16] 240\n"
     "matmul: all_gather f32[16,2] 384\n"
     "sub: all_gather f32[5,2] 120\n"},
    {"neighbours along the split axis",
     "signal s0 { x = param(randn(64, 5)) }\n"
     "d = x[1:] - x[:-1]\n"
     "loss = (d * d).sum() + roll(x, 1, 0).square().sum() + cat([x, 2 * x], axis=0).sum()\n"
     "loss.backward()\n" SGD(x),
     "slice: all_to_all f32[64,5] 60\n"
     "sum: all_to_all f32[63,5] 940\n"
     "slice: all_to_all f32[64,5] 20\n"
     "cat: all_to_all f32[63,5] 60\n"
     "sum: all_to_all f32[64,5] 960\n"
     "add: all_reduce f32[] 12\n"
     "add: all_reduce f32[] 12\n"
     "cat: all_to_all f32[64,5] 960\n"
     "cat: all_to_all f32[64,5] 960\n"
     "sum: all_to_all f32[128,5] 1920\n"
     "add: all_reduce f32[] 12\n"
     "slice: all_to_all f32[64,5] 60\n"
     "slice: all_to_all f32[64,5] 60\n"
     "slice: all_to_all f32[64,5] 60\n"
     "slice_put: all_to_all f32[63,5] 60\n"
     "slice: all_to_all f32[64,5] 20\n"
     "slice_put: all_to_all f32[1,5] 20\n"},
    {"data-parallel recurrence, step by step",
     "signal s0 { x = randn(16, 3, 5); h = zeros(16, 4) }\n"
     "w = param(randn(5, 4)); u = param(randn(4, 4)); hs = []\n"
     "for t in range(3) { h = tanh(x[:, t] @ w + h @ u); hs.append(h) }\n"
     "loss = stack(hs, axis=1).square().mean()\nloss.backward()\n" SGD(w) SGD(u),
     "sum: all_to_all f32[16,3,4] 576\n"
     "div: all_reduce f32[] 12\n"
     "matmul: all_to_all f32[4,16] 192\n"
     "matmul: all_gather f32[16,4] 768\n"
     "matmul: all_to_all f32[5,16] 240\n"
     "matmul: all_to_all f32[4,16] 192\n"
     "matmul: all_gather f32[16,4] 768\n"
     "matmul: all_to_all f32[5,16] 240\n"
     "matmul: all_to_all f32[4,16] 192\n"
     "matmul: all_gather f32[16,4] 768\n"
     "matmul: all_to_all f32[5,16] 240\n"
     "sub: all_gather f32[5,4] 240\n"
     "sub: all_gather f32[4,4] 192\n"},
    {"attention over split positions",
     ATTENTION "signal s1 { x = randn(2, 8, 12) }\n"
               "p = [param(randn(12, 12)) for i in range(4)]\n"
               "y = attend(x, p[0], p[1], p[2], p[3], 3)\n"
               "loss = (y * y).mean()\nloss.backward()\n"
               "for q in p { q -= 0.1 * q.grad }\n",
     "matmul: all_gather f32[2,3,4,8] 2304\n"
     "matmul: all_gather f32[2,3,8,4] 2304\n"
     "sum: all_to_all f32[2,8,12] 576\n"
     "div: all_reduce f32[] 12\n"
     "reshape: all_to_all f32[2,8,12] 576\n"
     "reshape: all_to_all f32[2,8,12] 576\n"
     "matmul: all_to_all f32[12,16] 576\n"
     "matmul: all_gather f32[16,12] 2304\n"
     "matmul: all_gather f32[2,3,4,8] 2304\n"
     "matmul: all_to_all f32[2,3,8,8] 1152\n"
     "matmul: all_gather f32[2,3,8,4] 2304\n"
     "matmul: all_gather f32[2,3,8,4] 2304\n"
     "matmul: all_gather f32[2,3,4,8] 2304\n"
     "matmul: all_to_all f32[2,3,8,8] 1152\n"
     "reshape: all_to_all f32[2,8,12] 576\n"
     "reshape: all_to_all f32[2,8,12] 576\n"
     "matmul: all_to_all f32[12,16] 576\n"
     "matmul: all_gather f32[16,12] 2304\n"
     "reshape: all_to_all f32[2,8,12] 576\n"
     "matmul: all_to_all f32[12,16] 576\n"
     "matmul: all_gather f32[16,12] 2304\n"
     "reshape: all_to_all f32[2,8,12] 576\n"
     "matmul: all_to_all f32[12,16] 576\n"
     "matmul: all_gather f32[16,12] 2304\n"
     "sub: all_gather f32[12,12] 1728\n"
     "sub: all_gather f32[12,12] 1728\n"
     "sub: all_gather f32[12,12] 1728\n"
     "sub: all_gather f32[12,12] 1728\n"},
    {"weights kept in parts",
     "signal s0 { x = randn(64, 20); w = param(randn(20, 32)) }\n"
     "loss = (x @ w).square().mean()\nloss.backward()\n" SGD(w),
     "matmul: all_gather f32[20,32] 7680\n"
     "sum: all_to_all f32[64,32] 6144\n"
     "div: all_reduce f32[] 12\n"
     "matmul: all_gather f32[20,64] 15360\n"
     "matmul: all_to_all f32[64,32] 6144\n"
     "sub: all_to_all f32[20,32] 1920\n"},
    {"a scope's layout",
     "x = randn(64, 20); w = randn(20, 32)\n"
     "signal s1 { y = x @ w }\n"
     "signal s0 { z = x @ w; v = exp(x); r = sum(x, axis=1); c = sum(x, axis=0) }\n"
     "signal s1 { b = sum(x.reshape(64, 20, 1) * w, axis=1) }\n"
     "print(y.sum(), z.sum(), v.sum(), r.sum(), c.sum(), b.sum())\n",
     "sum: all_to_all f32[64,20,32] 122880\n"
     "sum: all_to_all f32[64,32] 6144\n"
     "sum: all_to_all f32[64,32] 6144\n"
     "sum: all_to_all f32[64,20] 3840\n"
     "sum: all_to_all f32[64] 192\n"
     "sum: all_to_all f32[20] 60\n"
     "sum: all_to_all f32[64,32] 6144\n"
     "print: all_reduce f32[] 12\n"
     "print: all_reduce f32[] 12\n"
     "print: all_reduce f32[] 12\n"
     "print: all_reduce f32[] 12\n"
     "print: all_reduce f32[] 12\n"
     "print: all_reduce f32[] 12\n"},
    {"scan, sort, topk, argmax over whole lines",
     "signal s0 { x = param(randn(64, 5)) }\n"
     "v, i = topk(x, 2)\n"
     "loss = (cumsum(x, 1) * sort(x, 1)).sum() + v.sum() + argmax(x, 1).float().mean()\n"
     "loss.backward()\n" SGD(x),
     "sum: all_to_all f32[64,5] 960\n"
     "sum: all_to_all f32[64,2] 384\n"
     "add: all_reduce f32[] 12\n"
     "add: all_reduce f32[] 12\n"
     "sum: all_to_all f32[64] 192\n"
     "div: all_reduce f32[] 12\n"},
};

/* ---- The driver ---- */

typedef struct Tensor {
    TensorType type;
    Layout copy[COPIES]; /* the first is its own */
    int n_copies;
} Tensor;

typedef struct Driver {
    Tensor tensor[TENSORS];
    int scope[DEPTH], depth; /* requested axes */
    Bytes moves;
    bool is_loud;
} Driver;
static Driver driver;

static Tensor *find(const Operand *o) {
    CHECK(o->id < TENSORS);
    return &driver.tensor[o->id % TENSORS];
}

static int axis_of_scope(const Inst *inst) {
    const Attr *name = inst_attr(inst, ATTR_NAME);
    CHECK(name && name->n == 2 && name->str[0] == 's');
    return name->str[1] == 'l' ? -1 : name->str[1] - '0';
}

static void convert(const Inst *inst, Tensor *t, const Layout *need) {
    for (int c = 0; c < t->n_copies; c++)
        if (layout_equal(&t->copy[c], need)) return;
    Move m = {.type = t->type, .from = {1, t->copy[0]}, .to = {1, *need}};
    if (t->copy[0].kind == LAYOUT_PARTIAL)
        t->copy[0] = *need; /* no longer used */
    else if (t->n_copies < COPIES)
        t->copy[t->n_copies++] = *need;
    Pull pull[RANKS];
    uint64_t bytes = 0;
    for (int i = 0; i < RANKS; i++) {
        int n = layout_pulls(&m.from.layout, RANKS, need, RANKS, i, true, &t->type, pull);
        for (int k = 0; k < n; k++)
            if (pull[k].from != i) bytes += region_bytes(&pull[k].region, &t->type);
    }
    char text[256];
    if (bytes)
        bytes_printf(&driver.moves, "%s: %s %s %llu\n", op_info[inst->op].name,
                     op_info[move_op(&m)].name, type_text(&t->type, text),
                     (unsigned long long)bytes);
}

static void show(const InstLine *line, const Rule *r) {
    Bytes text = {0};
    InstPrint how = {.out = r->out};
    char lay[48];
    inst_print(&line->inst, &how, &text);
    printf("%.*s  |", (int)text.n, text.data);
    for (int i = 0; i < line->inst.n_in; i++)
        if (rule_is_tensor(r, i)) printf(" %s,", layout_text(&r->need[i], lay));
    printf(" -> %s\n", layout_text(&r->give[0], lay));
    bytes_fini(&text);
}

static void step(const InstLine *line) {
    const Inst *inst = &line->inst;
    TensorType in[MAX_IN];
    Layout have[MAX_IN], need[MAX_IN];
    if (inst->op == OP_SIGNAL_ENTER) driver.scope[driver.depth++] = axis_of_scope(inst);
    if (inst->op == OP_SIGNAL_EXIT) driver.depth--;
    if (op_info[inst->op].class_ == CLASS_CONTROL) {
        Layout whole = layout_replicate();
        for (int i = 0; i < inst->n_in && inst->op == OP_PRINT; i++)
            convert(inst, find(&inst->in[i]), &whole);
        return;
    }
    for (int i = 0; i < inst->n_in; i++) {
        if (inst->in[i].kind != IN_TENSOR) continue;
        const Tensor *t = find(&inst->in[i]);
        in[i] = t->type, have[i] = t->copy[0];
    }
    Rule r = {.inst = inst,
              .in = in,
              .out = line->types,
              .n_out = inst->n_out,
              .n = RANKS,
              .have = have,
              .need = need,
              .want_axis = driver.depth ? driver.scope[driver.depth - 1] : -1};
    if (driver.depth && r.want_axis < 0) r.want_axis += line->types[0].rank;
    rule_apply(&r);
    for (int i = 0; i < inst->n_in; i++)
        if (inst->in[i].kind == IN_TENSOR) convert(inst, find(&inst->in[i]), &need[i]);
    for (int k = 0; k < inst->n_out; k++)
        driver.tensor[inst->out[k] % TENSORS] =
            (Tensor){.type = line->types[k], .copy = {r.give[k]}, .n_copies = 1};
    if (driver.is_loud) show(line, &r);
}

/* The instructions that a script emits, as text; the caller frees it. */
static char *emitted(const Case *c) {
    LangError e = {0};
    char *text = NULL, open;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    InterpConfig config = {.width = 80,
                           .stream = {.mode = STREAM_EMIT, .emit_to = to, .workers = 1}};
    Interp *in = interp_new(&config, &e);
    Source *src = interp_source(in, c->name, c->script, strlen(c->script), 1, false);
    Program *p = parse_program(src, NULL, NULL, &open, &e);
    bool ok = p && interp_run(in, p, false, &e);
    CHECK_MSG(ok, "%s: %s (line %u)", c->name, e.what, e.at.line);
    interp_free(&in);
    fclose(to);
    return text;
}

static void test_program(const Case *c, bool is_loud) {
    char *text = emitted(c), *rest = NULL;
    memset(&driver, 0, sizeof driver);
    driver.is_loud = is_loud;
    for (char *s = strtok_r(text, "\n", &rest); s; s = strtok_r(NULL, "\n", &rest)) {
        Arena arena = {0};
        InstLine line;
        Err err = {0};
        bool ok = inst_parse(s, strlen(s), &arena, &line, &err);
        CHECK_MSG(ok, "%s: %s: %s", c->name, s, err.text);
        if (ok && !line.is_empty) step(&line);
        arena_fini(&arena);
    }
    bytes_putc(&driver.moves, 0);
    CHECK_MSG(!strcmp(driver.moves.data, c->moves), "%s moves\n%snot\n%s", c->name,
              driver.moves.data, c->moves);
    bytes_fini(&driver.moves);
    free(text);
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc < 2 || strstr(cases[i].name, argv[1])) test_program(&cases[i], argc > 1);
    return check_report("rule");
}
