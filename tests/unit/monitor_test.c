/* monitor_test: the connection of programs that watch (monitor.h), over a real socket: finding what
 * runs, snapshots, lines, the past, the end; and the door of a program that runs alone.
 * SPDX-License-Identifier: MIT */
#include "dispatcher/dispatcher.h"
#include "dispatcher/door.h"
#include "dispatcher/watch/monitor.h"
#include "runtime/net/endpoint.h"
#include "tests/unit/check.h"
#include "tests/unit/cluster_words.h"
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

/* A dispatcher that lives in a thread, as in a program that runs alone. */
typedef struct Alone {
    pthread_t thread;
    Door *door;
    Hub *hub;
    Dispatcher *d;
    _Atomic bool must_end;
} Alone;

static void *alone_main(void *ctx) {
    Alone *a = ctx;
    while (!atomic_load(&a->must_end)) dispatcher_pump(a->d, a->hub, 10);
    if (door_look(a->door, 0)) dispatcher_bye(a->d), dispatcher_pump(a->d, a->hub, 0);
    return NULL;
}

static void alone_start(Alone *a) {
    Err err = {0};
    *a = (Alone){.door = door_open()};
    CHECK(a->door != NULL);
    a->hub = hub_open("ring://monitor-test", &err);
    DispatcherConfig config = {.door = a->door,
                               .record_bytes = 1 << 20,
                               .endpoint = door_endpoint(a->door),
                               .pid = (uint32_t)getpid()};
    a->d = dispatcher_new(&config);
    CHECK(a->hub && !pthread_create(&a->thread, NULL, alone_main, a));
}

static void alone_end(Alone *a) {
    atomic_store(&a->must_end, true);
    pthread_join(a->thread, NULL);
    hub_close(&a->hub);
    dispatcher_free(&a->d);
    door_close(&a->door);
}

static int n_sockets(void) {
    int n = 0;
    char path[100];
    snprintf(path, sizeof path, "%s/gt", dir);
    DIR *all = opendir(path);
    for (const struct dirent *e; all && (e = readdir(all));) n += !strncmp(e->d_name, "run-", 4);
    if (all) closedir(all);
    return n;
}

/* Waits for an event of this kind; false: another end. */
static bool await(Monitor *m, MonitorKind kind, MonitorEvent *e) {
    for (int i = 0; i < 100; i++) {
        MonitorKind got = monitor_next(m, 200, e);
        if (got == kind) return true;
        if (got == MONITOR_END) return false;
    }
    return false;
}

static void test_nothing(void) {
    char where[ENDPOINT_MAX];
    CHECK_FAIL(monitor_find(where, sizeof where, &err), ERR_GONE);
    CHECK_FAIL(monitor_open(NULL, &err), ERR_GONE);
    CHECK_FAIL(monitor_open("/nowhere/at/all", &err), ERR_GONE);
    CHECK_FAIL(monitor_open("bad name", &err), ERR_ARG);
}

static void test_alone(void) {
    Alone a;
    Err err = {0};
    MonitorEvent e;
    char where[ENDPOINT_MAX];
    struct stat st;
    alone_start(&a);
    CHECK(!stat(door_endpoint(a.door) + strlen("ipc://"), &st) && (st.st_mode & 077) == 0);
    CHECK(monitor_find(where, sizeof where, &err) && !strcmp(where, door_endpoint(a.door)));
    Monitor *m = monitor_open(NULL, &err);
    CHECK_MSG(m != NULL, "%s", err.text);
    if (!m) return;
    CHECK_STR(monitor_endpoint(m), where);
    CHECK(monitor_next(m, 0, &e) == MONITOR_SNAPSHOT && strstr(e.text, "dispatcher endpoint=\""));
    CHECK(e.text[e.n] == 0 && await(m, MONITOR_SNAPSHOT, &e));
    monitor_events(m, true);
    monitor_past(m, 5);
    CHECK(await(m, MONITOR_PAST_END, &e));
    Monitor *other = monitor_open(where, &err);
    CHECK_MSG(other != NULL, "%s", err.text);
    monitor_close(&other);
    CHECK(await(m, MONITOR_SNAPSHOT, &e));
    alone_end(&a);
    CHECK(!await(m, MONITOR_NOTHING, &e) && e.kind == MONITOR_END && e.why.text[0]);
    CHECK(monitor_next(m, 0, &e) == MONITOR_END); /* and again */
    monitor_close(&m);
    CHECK_INT(n_sockets(), 0);
}

/* By the door come watchers only. */
static void test_client_at_door(void) {
    Alone a;
    Err err = {0};
    alone_start(&a);
    Monitor *m = monitor_open(NULL, &err);
    Link *link = link_open(door_endpoint(a.door), &err);
    Msg hello = make_hello(ROLE_CLIENT), got = {0};
    int r = 0;
    CHECK(m && link && link_send(link, &hello));
    for (int i = 0; link && i < 100 && !(r = link_recv(link, &got)); i++) link_wait(link, 100);
    CHECK(r > 0 && wire_kind(&got) == MSG_REFUSE);
    msg_fini(&got);
    link_close(&link);
    monitor_close(&m);
    alone_end(&a);
}

/* What a crash leaves is swept; GT_WATCH=0 makes no door. */
static void test_crash(void) {
    pid_t pid = fork();
    if (pid == 0) {
        door_open();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    CHECK_INT(n_sockets(), 1);
    test_nothing();
    CHECK_INT(n_sockets(), 0);
    setenv("GT_WATCH", "0", 1);
    CHECK(door_open() == NULL);
    unsetenv("GT_WATCH");
}

/* Accepts a connection, then ends. */
static void *brief_main(void *ctx) {
    int fd = *(int *)ctx;
    close(accept(fd, NULL, NULL));
    close(fd);
    return NULL;
}

/* A process that ends between a connection and its answer is not waited for. */
static void test_end_before_answer(void) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    pthread_t thread;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s/gt/brief", dir);
    CHECK(!bind(fd, (struct sockaddr *)&at, sizeof at) && !listen(fd, 5));
    CHECK(!pthread_create(&thread, NULL, brief_main, &fd));
    CHECK_FAIL(monitor_open(at.sun_path, &err), ERR_GONE);
    pthread_join(thread, NULL);
    unlink(at.sun_path);
}

int main(void) {
    snprintf(dir, sizeof dir, "/tmp/monitor_test_XXXXXX");
    CHECK(mkdtemp(dir) != NULL);
    setenv("XDG_RUNTIME_DIR", dir, 1);
    unsetenv("GT_DISPATCHER"), unsetenv("GT_WATCH"), unsetenv("GT_TOKEN");
    test_nothing();
    test_alone();
    test_client_at_door();
    test_crash();
    test_end_before_answer();
    net_fini();
    char path[100];
    snprintf(path, sizeof path, "%s/gt/token", dir), unlink(path);
    snprintf(path, sizeof path, "%s/gt", dir), rmdir(path);
    CHECK(rmdir(dir) == 0);
    return check_report("monitor_test");
}
