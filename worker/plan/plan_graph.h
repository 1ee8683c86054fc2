/* plan_graph.h: stretches of a plan that the engine launches as graphs.
 * SPDX-License-Identifier: MIT */
#ifndef GT_WORKER_PLAN_PLAN_GRAPH_H
#define GT_WORKER_PLAN_PLAN_GRAPH_H
#include "worker/plan/plan_state.h"

/* Before a run of p: looks for its stretches, if the engine has graphs. */
void graphs_look(Exec *x, Plan *p);
/* Allocates the results of the stretch and launches it as a graph. Returns false if there is none
 * yet: then its steps are to be executed one by one. */
bool graph_run(Run *u, Stretch *g);
void graphs_free(Plan *p);
#endif
