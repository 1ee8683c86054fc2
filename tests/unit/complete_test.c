/* complete_test.c: what is offered at the cursor of a text being typed, as a table of texts. Runs a
 * program first, whose variables are known; nothing may be sent to a worker while completing.
 * SPDX-License-Identifier: MIT */
#include "lang/complete/paint.h"
#include "lang/complete/path.h"
#include "lang/eval/run.h"
#include "tests/unit/check.h"
#include "tests/unit/cpu.h"
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* The session: values of all kinds. */
static const char program[] =
    "module Block(n, drop=0.1) {\n"
    "  self.fc = nn.Linear(n, n)\n"
    "  self._hidden = 1\n"
    "  fn forward(x, scale=1.0) => self.fc(x) * scale\n"
    "  fn reset_all() => none\n"
    "}\n"
    "block = Block(4)\n"
    "net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())\n"
    "opt = optim.SGD(net.parameters(), lr=0.1)\n"
    "x_train = ones(2, 3)\n"
    "x_test = ones(5)\n"
    "w = param(ones(3))\n"
    "config = {lr: 0.1, layers: [{width: 64, depth: 2}], \"odd key\": 1, name: \"run\"}\n"
    "words = [\"a\", \"b\"]\n"
    "text = \"hello\"\n"
    "count = 3\n"
    "layer_i = 0\n"
    "fn train_one(data, lr=0.1, *, verbose=false) => data * lr\n"
    "best = ones(3, 4).max(axis=1)\n"
    "failed = attempt(fn() => undefined_name)\n"
    "signal rows { }\n"
    "signal columns { }\n"
    "import linalg\n"
    "import \"module_a.gt\" as mod_a\n"
    "quoted = {plain: 1, \"a\\\"b\": 2, \"c\\nd\": 3}\n"
    "none_value = none\n";

/* The cursor is at `|`. want: names that must be offered, with what follows them ("print("); after
 * ! those that must not be; = first: exactly these, in order; "" nothing. */
static const struct Row {
    const char *text, *want;
} rows[] = {
    /* names in scope */
    {"pri|", "=print("},
    {"prin|", "=print("},
    {"x_|", "=x_test x_train"},
    {"x_tr|", "=x_train"},
    {"y = x_t|", "=x_test x_train"},
    {"config|", "=config"},
    {"Bl|", "Block("},
    {"train_o|", "=train_one("},
    {"my_var = 1\nmy_|", "=my_var"},
    {"a_b = 1; a_|", "=a_b"},
    {"no_such_thing_at_all|", ""},
    {"rel|", "relu( !x_train"},
    {"see|", "=seed("},
    {"float3|", "=float32"},
    {"bfl|", "=bfloat16"},
    {"inf|", "inf"},
    {"opti|", "=optim"},
    {"lina|", "=linalg"},
    {"sig|", "sigmoid( signal"},
    {"y = sig|", "sigmoid("},
    {"whi|", "=while "},
    {"y = whi|", ""},
    {"ret|", "return"},
    {"tru|", "true true_divide( trunc("},
    {"y = 1 if x_test el|", "else"},
    {"imp|", "=import "},
    {"no_g|", "=no_grad "},
    {"backw|", "backward"},
    {"a, b_long = f()\nb_l|", "=b_long"},
    {"for item_k in words { it|", "=item_k"},
    {"[it_em for it_em in words]; it_|", ""},
    {"[it_| for it_em in words]", "=it_em"},
    {"fn helper_a(p) => p\nhelper_|", "=helper_a("},
    {"module Mod_a(n) { }\nMod_|", "=Mod_a("},
    {"import numbers_x as nx_y\nnx_|", "=nx_y"},
    {"print(x_tr|", "=x_train"},
    {"print(1, x_tr|", "=x_train"},
    {"[x_tr|", "=x_train"},
    {"{a: x_tr|", "=x_train"},
    {"x_train + x_te|", "=x_test"},
    {"-x_te|", "=x_test"},
    {"not x_te|", "=x_test"},
    {"if x_te|", "=x_test"},
    {"return x_te|", "=x_test"},
    {"y = (1 +\n  x_te|", "=x_test"},
    /* functions of the text: their locals and parameters */
    {"fn f(par_a, par_b=1) { par_|", "=par_a par_b"},
    {"fn f(par_a, par_b=1) {\n  loc_c = par_a\n  loc_|", "=loc_c"},
    {"fn f(par_a) { return par_a }\npar_|", ""},
    {"fn f(par_a) {\n  loc_c = 1\n}\nloc_|", ""},
    {"fn f(par_a) => par_|", "=par_a"},
    {"fn f(par_a) => par_a\npar_|", ""},
    {"g = fn(par_a) => par_|", "=par_a"},
    {"map(fn(par_a) => par_a, par_|", ""},
    {"fn f(*rest_a, **more_b) { rest_|", "=rest_a"},
    {"fn f(*rest_a, **more_b) { more_|", "=more_b"},
    {"fn f(p) { if p { inner_c = 1\n inner_|", "=inner_c"},
    {"fn f(p) { fn g(q_arg) { q_arg }\n q_|", ""},
    {"fn f(p_arg) { fn g(q) { p_|", "=p_arg"},
    {"fn f(p_arg) {\n  x = [1,\n  p_|", "=p_arg"},
    {"module M(n_in) {\n  fn forward(x) { n_i|", ""},
    {"module M(n_in) {\n  self.a = n_i|", "=n_in"},
    {"module M(n) {\n  fn forward(x) { sel|", "self"},
    {"fn f(x) { x_tr|", "=x_train"},
    /* after the cursor: definitions still count */
    {"later_|\nfn later_fn(a) => a", "=later_fn("},
    {"fn f() {\n  lat_|\n  lat_er = 1\n}", "=lat_er"},
    {"lat_|\nfn f() {\n  lat_er = 1\n}", ""},
    /* new names: nothing is offered */
    {"fn pri|", ""},
    {"module Bl|", ""},
    {"import linalg as lin|", ""},
    {"for x_|", ""},
    {"12|", ""},
    {"1.5|", ""},
    {"0x|", ""},
    {".5|", ""},
    /* comments */
    {"# pri|", ""},
    {"x = 1 # pri|", ""},
    {"# pri\npri|", "=print("},
    {"x = 1 + # why\npri|", "=print("},
    /* members: tensors */
    {"x_train.me|", "=mean( median("},
    {"x_train.sh|", "shape"},
    {"x_train.dt|", "=dtype"},
    {"x_train.gra|", "!grad"},
    {"w.gra|", "grad"},
    {"best.val|", "=values"},
    {"x_train.val|", "!values"},
    {"x_train.backw|", "=backward("},
    {"x_train.append|", ""},
    {"x_train.upper|", ""},
    {"x_train.T.me|", "mean("},
    {"x_train[0].me|", "mean("},
    {"x_train[0, 1:].me|", "mean("},
    {"x_train.relu().me|", "mean("},
    {"x_train.shape.ap|", "=append("},
    {"x_train.shape[0].me|", ""},
    {"(x_train + 1).me|", "mean("},
    {"(x_train).me|", "mean("},
    {"randn(2, 3).me|", "mean("},
    {"w.grad.me|", ""},
    {"y = x_train.me|", "mean("},
    {"print(x_train.me|", "mean("},
    {"x_train.\nme|", "mean("},
    /* members: other values */
    {"text.up|", "=upper("},
    {"text.mean|", ""},
    {"\"abc\".up|", "=upper("},
    {"'abc'.up|", "=upper("},
    {"f\"{count}\".up|", "=upper("},
    {"words.ap|", "=append("},
    {"[1, 2].ap|", "=append("},
    {"words[0].up|", "=upper("},
    {"words[-1].up|", "=upper("},
    {"words[7].up|", ""},
    {"words[layer_i].up|", "=upper("},
    {"count.|", ""},
    {"none_value.|", ""},
    {"undefined_thing.me|", ""},
    {"config.l|", "=layers lr"},
    {"config.na|", "=name"},
    {"config.od|", ""},
    {"config.ke|", "=keys("},
    {"config.name.up|", "=upper("},
    {"config.layers[0].w|", "=width"},
    {"config.layers[-1].dep|", "=depth"},
    {"config[\"layers\"][0].wid|", "=width"},
    {"config['name'].up|", "=upper("},
    {"config.layers[0].width.|", ""},
    {"config.layers.app|", "=append("},
    {"failed[1].mess|", "=message"},
    {"text.split().ap|", "=append("},
    {"text.split()[0].up|", "=upper("},
    {"text.split()[0].me|", ""},
    /* members: objects and modules */
    {"block.f|", "fc forward("},
    {"block._h|", "=_hidden"},
    {"block.|", "drop fc n forward( reset_all( parameters( !_hidden"},
    {"block.res|", "=reset_all("},
    {"block.fc.wei|", "=weight"},
    {"block.fc.weight.sh|", "shape"},
    {"block.fc.weight.gr|", "grad"},
    {"block.parame|", "=parameters("},
    {"block.train|", "train( training"},
    {"net[0].wei|", "=weight"},
    {"net[0].weight.T.me|", "mean("},
    {"opt.st|", "step("},
    {"opt.zero|", "=zero_grad("},
    {"Block(3).res|", "=reset_all("},
    {"nn.Linear(2, 2).forw|", "=forward("},
    /* members: namespaces */
    {"nn.Lin|", "=Linear("},
    {"nn.Conv|", "Conv1d( Conv2d("},
    {"nn.ini|", "=init"},
    {"nn.init.kai|", "kaiming_normal_( kaiming_uniform_("},
    {"optim.Ada|", "Adam( AdamW("},
    {"optim.lr_s|", "=lr_scheduler"},
    {"optim.lr_scheduler.Ste|", "=StepLR("},
    {"F.rel|", "relu("},
    {"F.cross|", "cross_entropy("},
    {"gt.ran|", "randn( rand("},
    {"signal.en|", "=enter("},
    {"debug.print_t|", "=print_tape("},
    {"linalg.so|", "solve("},
    {"mod_a.he|", "=helper_b("},
    {"mod_a.helper_b(1, se|", "=second="},
    {"mod_a._p|", ""},
    {"import mod_b as mb\nmb.me|", ""},
    {"import \"module_a.gt\" as mod_a; mod_a.he|", "=helper_b("},
    {"import optim as oo\noo.Ada|", "Adam( AdamW("},
    /* members of what the text defines */
    {"s = \"abc\"\ns.up|", "=upper("},
    {"xs = [1]\nxs.ap|", "=append("},
    {"m = {a: 1}\nm.ke|", "=keys("},
    {"lin = nn.Linear(2, 2)\nlin.forw|", "=forward("},
    {"b = block.fc\nb.wei|", "=weight"},
    {"t = randn(3)\nt.me|", "mean("},
    {"fn f(x) { x.me|", "mean("},
    {"a = a.b\na.me|", "mean("},
    {"s = x_train.shape\ns.ap|", "=append("},
    {"module M(n) {\n  self.lin_a = nn.Linear(n, n)\n  fn forward(x) { self.lin_|", "=lin_a"},
    {"module M(n) {\n  self.lin_a = nn.Linear(n, n)\n  fn forward(x) { self.lin_a.forw|",
     "=forward("},
    {"module M(n) {\n  self.a_f = 1\n  fn fo_o(x) => x\n}\nm = M(3)\nm.a_|", "=a_f"},
    {"module M(n) {\n  fn fo_o(x) => x\n}\nM(3).fo_|", "=fo_o("},
    {"module M(n_in) {\n  fn g(x) { self.n_|", "=n_in"},
    /* keyword arguments */
    {"x_train.sum(ax|", "=axis="},
    {"x_train.sum(axis=1, k|", "keepdims= !axis="},
    {"sum(x_train, ke|", "=keepdims="},
    {"sum(x_train, axis=0, ax|", ""},
    {"x_train.sum(0, ax|", ""},
    {"nn.Linear(4, 4, bi|", "=bias="},
    {"nn.Linear(in_f|", "=in_features="},
    {"optim.Adam(net.parameters(), l|", "lr="},
    {"optim.Adam(\n  net.parameters(),\n  l|", "lr="},
    {"train_one(x_train, l|", "lr= !layer_i="},
    {"train_one(x_train, verb|", "=verbose="},
    {"train_one(|", "data= lr= verbose= x_train"},
    {"train_one(data=x_train, d|", "!data="},
    {"train_one(x_train, lr=l|", "!lr="},
    {"Block(4, dr|", "=drop="},
    {"block(x_train, sc|", "=scale="},
    {"net[0](|", "x="},
    {"block.forward(x_train, sc|", "=scale="},
    {"fn mine(aa_a, bb_b=[1, 2]) => aa_a\nmine(1, bb|", "=bb_b="},
    {"module Mine(aa_a, bb_b=1) { }\nMine(1, bb|", "=bb_b="},
    {"fn f(ax|", ""},
    {"x_train.sum(x_test.mean(ke|", "=keepdims="},
    {"(fn(x) => x)(ax|", "!axis="},
    {"(x_tr|", "=x_train"},
    {"if (x_tr|", "=x_train"},
    {"softmax(x_train, d|", "!axis="},
    {"x_train.softmax(ax|", "=axis="},
    {"print(x_train, se|", "sep="},
    /* signals */
    {"signal ro|", "=rows"},
    {"signal |", "=columns rows"},
    {"signal rows backward co|", "=columns"},
    {"signal \"ro|", "=rows\""},
    {"signal fresh_a { }\nsignal fre|", "=fresh_a"},
    {"y = signal.e|", "=enter( exit("},
    /* keys */
    {"config[\"|", "lr\" layers\" odd key\" name\""},
    {"config[\"od|", "=odd key\""},
    {"config['lay|", "=layers'"},
    {"quoted[\"|", "=plain\""},
    {"quoted.pl|", "=plain"},
    {"config.layers[0][\"wi|", "=width\""},
    /* files */
    {"load(\"da|", "=data\" data.npy\""},
    {"load('data.|", "=data.npy'"},
    {"load(\"su|", "=sub"},
    {"load(\"sub/|", "=sub/in side.csv\" sub/x.gt\""},
    {"load(\"sub/in|", "=sub/in side.csv\""},
    {"open(\"quo|", "=quo\\\"te.txt\""},
    {"open('quo|", "=quo\"te.txt'"},
    {"import \"sub/|", "=sub/x.gt\""},
    {"import mod|", "=module_a"},
    {"import op|", "=optim"},
    {"x = [\"mod|", "=module_a.gt\""},
    {"load(\"nothing_like|", ""},
    {"load(\".hid|", "=.hidden\""},
    {"load(\"no_dir/x|", ""},
    {"\"\"\"mod|", "=module_a.gt\""},
    /* f-strings */
    {"f\"{x_tr|", "=x_train"},
    {"f\"loss {x_train.me|", "mean("},
    {"f\"{count} {text.up|", "=upper("},
    {"f\"{{x_tr|", ""},
    {"f\"{x_train:x_|", ""},
    {"f\"{config['na|", "=name'"},
    {"print(f\"a {x_train.sum(ax|", "=axis="},
    /* other spelling */
    {"nn.lin|", "=Linear("},
    {"X_tr|", "=x_train"},
    {"nn.RELU|", "ReLU("},
    {"nn.relu|", "ReLU("},
    {"pritn|", "=print("},
    /* mistakes before the cursor */
    {"a $ b\nx_tr|", "=x_train"},
    {"s = \"open\nx_tr|", "=x_train"},
    {") ] }\nx_tr|", "=x_train"},
    {"((((x_tr|", "=x_train"},
    {"x..me|", "!mean("},
    {".me|", ""},
    {"|", "x_train"},
};

static void put_candidate(const Candidate *c, Bytes *out) {
    bytes_printf(out, "%s%s", c->text, c->kind == CANDIDATE_DIRECTORY ? "" : c->after);
    while (out->n && out->data[out->n - 1] == ' ') out->data[--out->n] = '\0';
}

static bool is_offered(const Completion *c, const char *name, size_t n) {
    bool is = false;
    for (size_t i = 0; i < c->n && !is; i++) {
        Bytes b = {0};
        put_candidate(&c->item[i], &b);
        size_t n_text = strlen(c->item[i].text);
        is = (b.n == n && !memcmp(b.data, name, n)) ||
             (n_text == n && !memcmp(c->item[i].text, name, n));
        bytes_fini(&b);
    }
    return is;
}

static void check_row(Interp *in, const struct Row *row) {
    const char *cursor = strrchr(row->text, '|');
    size_t at = (size_t)(cursor - row->text);
    Bytes text = {0}, got = {0};
    Completion c;
    bytes_add(&text, row->text, at);
    bytes_puts(&text, cursor + 1);
    complete_code(in, text.data, text.n, at, &c);
    for (size_t i = 0; i < c.n; i++) {
        if (i) bytes_putc(&got, ' ');
        put_candidate(&c.item[i], &got);
        CHECK(c.item[i].hint && !strchr(c.item[i].hint, '\n'));
    }
    const char *all = got.n ? got.data : "";
    if (!*row->want)
        CHECK_MSG(c.n == 0, "%s\n  offers %.300s", row->text, all);
    else if (*row->want == '=') {
        size_t n = strlen(row->want + 1);
        while (n && row->want[n] == ' ') n--;
        CHECK_MSG(got.n == n && !memcmp(all, row->want + 1, n), "%s\n  offers %.300s\n  not %s",
                  row->text, all, row->want + 1);
    } else
        for (const char *w = row->want; *w;) {
            size_t n = strcspn(w, " ");
            bool is_not = *w == '!';
            if (!strncmp(w, "odd key\"", 8)) n = 8;
            CHECK_MSG(is_offered(&c, w + is_not, n - is_not) != is_not, "%s\n  '%.*s' in\n  %.400s",
                      row->text, (int)n, w, all);
            w += n + (w[n] == ' ');
        }
    CHECK(c.start <= at);
    completion_fini(&c);
    bytes_fini(&got);
    bytes_fini(&text);
}

static void touch(const char *path) {
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    if (f) fclose(f);
}

static void make_files(char *dir) {
    CHECK(mkdtemp(dir) && !chdir(dir) && !mkdir("sub", 0700));
    static const char *const files[] = {"data",     "data.npy", "module_a.gt", "quo\"te.txt",
                                        "sub/x.gt", ".hidden",  "data\tx",     "sub/in side.csv"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) touch(files[i]);
    FILE *f = fopen("module_a.gt", "w");
    fputs("fn helper_b(first, second=2) => first\nfn _private() => 1\n", f);
    fclose(f);
    CHECK(!mkfifo("pipe.gt", 0600));
    f = fopen("train.gt", "w");
    fputs("lr = arg(\"lr\", 0.1, \"learning rate\")\nbatch = arg(\"batch_size\", 32)\n"
          "v = arg(\"verbose\", false)\n",
          f);
    fclose(f);
}

static void run(Interp *in, const char *code) {
    LangError e = {0};
    Source *src = interp_source(in, "test", code, strlen(code), 1, false);
    src->is_prompt = true;
    Program *p = parse_program(src, NULL, NULL, NULL, &e);
    bool ok = p && interp_run(in, p, false, &e);
    CHECK_MSG(ok, "%s (line %u)", e.what, e.at.line);
}

static const char *first(Interp *in, const char *text, Completion *c) {
    complete_code(in, text, strlen(text), strlen(text), c);
    return c->n ? c->item[0].hint : "";
}

static void hints(Interp *in) {
    static const struct {
        const char *text, *hint;
    } all[] = {{"x_tr", "tensor f32[2,3]"},
               {"count", "3"},
               {"config.na", "\"run\""},
               {"config.lay", "list of 1"},
               {"train_o", "train_one(data, lr=0.1, *, verbose=false)"},
               {"x_train.sum(ke", "keepdims=false"},
               {"nn.Linea", "Linear(in_features, out_features, bias=true)"},
               {"fn mine(a,\n  b=2) => a\nmin", "mine(a, b=2)"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        Completion c;
        CHECK_STR(first(in, all[i].text, &c), all[i].hint);
        completion_fini(&c);
    }
}

static void signatures(Interp *in) {
    Completion c;
    first(in, "train_one(", &c);
    CHECK_STR(c.signature, "train_one(data, lr=0.1, *, verbose=false)");
    completion_fini(&c);
    first(in, "x_tr", &c);
    CHECK(c.signature == NULL);
    completion_fini(&c);
}

static void topics(Interp *in) {
    static const struct {
        const char *text, *want;
    } all[] = {{"?x_train.medi", "median"}, {"??nn.Linea", "Linear"}, {"?whil", "while"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        Completion c;
        complete_topic(in, all[i].text, strlen(all[i].text), &c);
        CHECK_INT(c.n, 1);
        CHECK_STR(c.n ? c.item[0].text : "", all[i].want);
        CHECK_STR(c.n ? c.item[0].after : "", "");
        completion_fini(&c);
    }
}

static void options(void) {
    Completion c = {0};
    complete_option("train.gt", "--", 2, &c);
    CHECK_INT(c.n, 3);
    CHECK_STR(c.n ? c.item[0].text : "", "--batch-size");
    CHECK_STR(c.n ? c.item[0].after : "", "=");
    CHECK_STR(c.n > 1 ? c.item[1].hint : "", "learning rate  (0.1)");
    CHECK_STR(c.n > 2 ? c.item[2].text : "", "--verbose");
    CHECK_STR(c.n > 2 ? c.item[2].after : "", " ");
    completion_fini(&c);
    complete_option("train.gt", "--l", 3, &c);
    CHECK_INT(c.n, 1);
    completion_fini(&c);
    complete_option("nothing.gt", "--", 2, &c);
    CHECK_INT(c.n, 0);
    complete_option("pipe.gt", "--", 2, &c);
    CHECK_INT(c.n, 0);
    completion_fini(&c);
}

static void common(Interp *in) {
    Completion c;
    first(in, "x_", &c);
    CHECK_INT(completion_common(&c), 3); /* x_t of x_test, x_train */
    completion_fini(&c);
    first(in, "nn.lin", &c);
    CHECK(c.is_near);
    completion_fini(&c);
}

/* A text cut anywhere, and bytes of any value, neither crash nor run anything. */
static void any_text(Interp *in) {
    char noise[200];
    uint64_t seed = 1;
    for (size_t i = 0; i <= sizeof program - 1; i++) {
        Completion c;
        complete_code(in, program, sizeof program - 1, i, &c);
        CHECK(c.start <= i);
        completion_fini(&c);
    }
    static const char letters[] = "a.b(c[{\"'f#}])=,: \n\\x_1fn module self for in\xc3\xa9";
    for (int round = 0; round < 3000; round++) {
        size_t n = (size_t)round % sizeof noise;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            noise[i] = letters[(seed >> 33) % (sizeof letters - 1)];
        }
        Completion c;
        size_t at = n ? (size_t)(seed >> 40) % (n + 1) : 0, a = 0, b = 0;
        uint8_t class[sizeof noise];
        complete_code(in, noise, n, at, &c);
        completion_fini(&c);
        paint_text(in, &(PaintText){noise, n, 0, at, false}, class);
        for (size_t i = 0; i < n; i++) CHECK(class[i] < PAINT_COUNT);
        CHECK(!paint_match(noise, n, at, &a, &b) || (a < n && b < n));
        CHECK(paint_indent(noise, n) <= n + PAINT_INDENT);
    }
}

/* A thousand names in the session: all are listed. */
static void many_names(Interp *in) {
    Bytes code = {0};
    for (int i = 0; i < 1000; i++) bytes_printf(&code, "name_%d = %d\n", i, i);
    run(in, code.data);
    for (int i = 0; i < 2; i++) {
        Completion c;
        const char *text = i % 2 ? "y = name_" : "";
        complete_code(in, text, strlen(text), strlen(text), &c);
        CHECK_MSG(c.n >= 1000, "%zu candidates", c.n);
        completion_fini(&c);
    }
    bytes_fini(&code);
}

/* The least CPU time of three completions in a text of n lines, of which each defines one name by
 * that of the line before. */
static double chain_s(Interp *in, int n, bool is_one_name) {
    Bytes text = {0};
    for (int i = 1; i <= n; i++)
        bytes_printf(&text, "v%d = v%d + 1\n", is_one_name ? 1 : i, is_one_name ? 1 : i - 1);
    double least = INFINITY;
    for (int k = 0; k < 3; k++) {
        double begin = cpu_s();
        Completion c;
        complete_code(in, text.data, text.n, text.n, &c);
        least = fmin(least, cpu_s() - begin);
        CHECK(c.n >= (size_t)(is_one_name ? 1 : n));
        completion_fini(&c);
    }
    bytes_fini(&text);
    return least;
}

/* The time grows with the text, not with its square: 16 times the lines, far less than 256 times.
 */
static void long_texts(Interp *in) {
    for (int one = 0; one < 2; one++) {
        double few = chain_s(in, 1000, one), many = chain_s(in, 16000, one);
        CHECK_MSG(many < 100 * few, "1000 lines %.3f s, 16000 lines %.3f s", few, many);
    }
}

int main(void) {
    char dir[] = "/tmp/gt-complete-XXXXXX", *sent = NULL;
    size_t n_sent = 0;
    LangError e = {0};
    make_files(dir);
    FILE *to = open_memstream(&sent, &n_sent);
    InterpConfig config = {.width = 80,
                           .stream = {.mode = STREAM_EMIT, .emit_to = to, .workers = 1}};
    Interp *in = interp_new(&config, &e);
    run(in, program);
    stream_flush(in->stream);
    fflush(to);
    size_t before = n_sent;
    uint64_t emitted = stream_count(in->stream);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(in, &rows[i]);
    hints(in);
    signatures(in);
    topics(in);
    options();
    common(in);
    any_text(in);
    CHECK_INT(stream_count(in->stream), emitted); /* nothing was computed */
    many_names(in);
    long_texts(in);
    fflush(to);
    CHECK(n_sent == before || stream_count(in->stream) == emitted);
    interp_free(&in);
    fclose(to);
    free(sent);
    if (chdir("/") || system("rm -rf /tmp/gt-complete-??????")) return 1;
    return check_report("completions");
}
